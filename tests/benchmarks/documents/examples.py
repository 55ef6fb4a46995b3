"""The example of `chase bench init`, written and opened once in each process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from chase.benchmarks.documents.benchmark import Documents, open_documents
from chase.benchmarks.documents.example import write_example


@cache
def _place() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="documents-example-")


@cache
def folder() -> Path:
    made = Path(_place().name) / "data"
    made.mkdir()
    write_example(made)
    return made


@cache
def example() -> Documents:
    return open_documents("documents", folder())
