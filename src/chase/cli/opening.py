"""Opening a benchmark for a command: a large one takes a while to build, and says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chase.cli.output import steps
from chase.core.interfaces import Benchmark
from chase.runs import opening


def open_benchmark(name: str, data: Path | None = None) -> Benchmark[Any]:
    """The benchmark of a name; what takes longer than two seconds is told on stderr every two seconds."""
    with steps(f"building {name}") as progress:
        return opening.open_benchmark(name, data, tell=progress)
