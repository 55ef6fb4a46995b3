"""Opening a benchmark for a command: a large one takes a while to build, and says so."""

from __future__ import annotations

import threading

from chase.benchmarks import catalogue
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.cli.output import steps

PATIENCE_SECONDS = 2.0


def open_benchmark(name: str) -> SynLedger:
    """The benchmark of a name; what takes longer than two seconds is told on stderr every two seconds."""
    built = threading.Event()
    with steps(f"building {name}") as progress:

        def tell() -> None:
            while not built.wait(PATIENCE_SECONDS):
                progress("please wait")

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            return catalogue.open_benchmark(name)
        finally:
            built.set()
            teller.join()
