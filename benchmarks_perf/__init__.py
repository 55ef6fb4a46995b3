"""Performance, always as a ratio against a peer in the same run. `make perf` runs everything.

To add a measurement, add a file here with a list `MEASUREMENTS` of functions that take no argument and return
rows. Measure the peer between the repetitions of the thing itself, so that both meet the same machine. What
measurements need besides (a peer's own program, say) goes into a folder.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One measured figure. Values are medians. What could not be measured is None, and the note says why."""

    name: str
    value: float | None
    unit: str
    repetitions: int
    peer: str
    """What it is compared with."""
    peer_value: float | None
    """The peer's figure in the same unit, from the same run."""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.peer_value if self.value is not None and self.peer_value else None


Measurement = Callable[[], Sequence[Row]]


@contextmanager
def loopback_server(latency: float, turns: int, *options: str) -> Iterator[str]:
    """The address of the loopback server, in a process of its own."""
    command = [sys.executable, "-m", "chase.testing.openai_server", "--latency", str(latency), "--turns", str(turns)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
