"""OfficeQA's entry in the registry of benchmarks."""

from __future__ import annotations

from chase.benchmarks.officeqa.benchmark import open_officeqa
from chase.benchmarks.registry import BenchmarkEntry

ENTRY = BenchmarkEntry(
    name="officeqa",
    summary="questions over 697 Treasury bulletins (OfficeQA Full and Pro V2), from your own copy of the data",
    pattern="officeqa, with --data DIR",
    open=open_officeqa,
)
