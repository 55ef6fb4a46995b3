"""Opening a benchmark for a command: a large one takes a while to build, and says so."""

from __future__ import annotations

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.cli.output import steps
from chase.runs import opening


def open_benchmark(name: str) -> SynLedger:
    """The benchmark of a name; what takes longer than two seconds is told on stderr every two seconds."""
    with steps(f"building {name}") as progress:
        return opening.open_benchmark(name, tell=progress)
