"""A small OfficeQA for tests: a synthetic sample of both releases, made and prepared once in each process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from chase.benchmarks.officeqa.benchmark import OfficeQA, open_officeqa
from chase.benchmarks.officeqa.sample.shape import Shape
from chase.benchmarks.officeqa.sample.writing import write_sample


def _quietly(step: str) -> None:
    """No progress."""


@cache
def _place() -> TemporaryDirectory[str]:
    """A folder of this process alone, which is gone when it ends."""
    return TemporaryDirectory(prefix="officeqa-sample-")


@cache
def sample() -> Path:
    """A data folder: two dozen bulletins with 48 questions, and eight parsed documents with four."""
    folder = Path(_place().name) / "data"
    full = Shape(release="full", documents=24, questions=48, seed=7, kilobytes=12)
    pro = Shape(release="pro-v2", documents=8, questions=4, seed=7, kilobytes=6)
    for shape in (full, pro):
        write_sample(shape, folder, _quietly, workers=1)
    return folder


@cache
def office() -> OfficeQA:
    return open_officeqa("officeqa", sample())
