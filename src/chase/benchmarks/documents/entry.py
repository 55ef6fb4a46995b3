"""The entry of benchmarks of documents in the registry."""

from __future__ import annotations

from chase.benchmarks.documents.benchmark import open_documents
from chase.benchmarks.registry import BenchmarkEntry

ENTRY = BenchmarkEntry(
    name="documents",
    summary="a benchmark of your own: a folder of documents and a file of questions (docs/bring-your-own-benchmark.md)",
    pattern="documents, with --data DIR",
    open=open_documents,
)
