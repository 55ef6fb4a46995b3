"""Opening a benchmark for a command: a large one takes a while to build, and says so."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from chase.benchmarks import registry
from chase.cli.output import steps
from chase.core.interfaces import Benchmark

PATIENCE_SECONDS = 2.0


def open_benchmark(name: str, data: Path | None = None) -> Benchmark[Any]:
    """The benchmark of a name; what takes longer than two seconds is told on stderr every two seconds."""
    built = threading.Event()
    with steps(f"building {name}") as progress:

        def tell() -> None:
            while not built.wait(PATIENCE_SECONDS):
                progress("please wait")

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            return registry.open_benchmark(name, data)
        finally:
            built.set()
            teller.join()
