"""Almanac's entry, as an entry point of another package would name it."""

from __future__ import annotations

from chase.benchmarks.registry import BenchmarkEntry
from chase.testing.almanac.benchmark import open_almanac

ENTRY = BenchmarkEntry(
    name="almanac",
    summary="a small corpus of invented reports, for tests of the contract",
    pattern="almanac@SEED, or almanac with a data folder",
    open=open_almanac,
)
