"""Starting the command line: `chase --version` and `chase --help`, against a Python that imports Typer and pydantic.

CPU seconds of the process and its children, so that a busy machine counts little. The aim is under 0.5 s.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence

from benchmarks_perf import Measurement, Row

REPETITIONS = 7
PEER = "import rich.console, pydantic, typer"


def cpu_seconds(*arguments: str) -> float:
    """What one process uses."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def starting() -> Sequence[Row]:
    """Each in turn with its peer."""
    rows = []
    for flag in ("--version", "--help"):
        pairs = [(cpu_seconds("-m", "chase", flag), cpu_seconds("-c", PEER)) for _ in range(REPETITIONS)]
        ours, peer = (statistics.median(side) for side in zip(*pairs, strict=True))
        rows.append(
            Row(
                name=f"chase {flag}",
                value=ours,
                unit="CPU s",
                repetitions=REPETITIONS,
                peer="import Typer, rich, pydantic",
                peer_value=peer,
                note="aim: under 0.5",
            )
        )
    return rows


MEASUREMENTS: list[Measurement] = [starting]
