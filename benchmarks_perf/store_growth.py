"""Whether a store that grows slows a run down: the last 1,000 of 20,000 rollouts against the first 1,000.

One run through the engine with the trivial model of `rollouts_in_process`, four requests a rollout, so that the
last rollouts meet a store with 19,000 rollouts and 76,000 ledger rows. The memory that the process has in use at
both ends shows whether a long run holds on to what it has stored.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks_perf import Measurement, Row
from benchmarks_perf.rollouts_in_process import CONCURRENCY, NAME, evaluate, jobs_of, trivial_model
from chase.benchmarks.syn_ledger.benchmark import open_syn_ledger
from chase.engine.rollout import Job
from chase.engine.runner import ScoredRollout
from chase.store.store import Store
from chase.store.workspace import Workspace

ROLLOUTS = 20_000
PART = 1_000
REPETITIONS = 5


class _Milestones:
    """Wall and CPU seconds and memory in use at the beginning and after every 1,000 rollouts."""

    def __init__(self) -> None:
        self.done = 0
        self.marks: list[tuple[float, float, float]] = []

    def started(self, *, total: int, reused: int) -> None:
        self._mark()

    def finished(self, scored: ScoredRollout) -> None:
        self.done += 1
        if self.done % PART == 0:
            self._mark()

    def failed(self, job: Job, reason: str, *, again: bool) -> None:
        raise RuntimeError(f"a rollout failed ({reason}); the store's speed means nothing")

    def _mark(self) -> None:
        self.marks.append((time.perf_counter(), time.process_time(), _memory_mb()))

    def of_part(self, number: int) -> dict[str, float]:
        """Rollouts a second in the part with this number, and the memory in use at its end."""
        before, after = self.marks[number], self.marks[number + 1]
        return {"wall": PART / (after[0] - before[0]), "cpu": PART / (after[1] - before[1]), "memory": after[2]}


def once() -> tuple[dict[str, float], dict[str, float]]:
    """The figures of the first and of the last 1,000 rollouts of one run into a new store."""
    benchmark = open_syn_ledger(NAME, cache=None)
    tasks = len(benchmark.tasks())
    jobs = jobs_of(benchmark, ROLLOUTS, per_task=-(-ROLLOUTS // tasks))
    milestones = _Milestones()
    with tempfile.TemporaryDirectory() as folder, Store.open(Workspace(Path(folder)), write=True) as store:
        asyncio.run(evaluate(trivial_model(), store, jobs, CONCURRENCY, milestones))
    return milestones.of_part(0), milestones.of_part(ROLLOUTS // PART - 1)


def last_against_first() -> Sequence[Row]:
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        runs = [pool.apply(once) for _ in range(REPETITIONS)]
    names = {
        "wall": ("throughput (wall time)", "rollouts/s", "aim: 0.8 and more"),
        "cpu": ("throughput (CPU time)", "rollouts/s", "aim: 0.8 and more"),
        "memory": ("memory in use", "MB", "held: results, the store's page cache"),
    }
    return [
        Row(
            name=f"last {PART:,} of {ROLLOUTS:,} rollouts in one store: {name}",
            value=statistics.median(last[what] for _, last in runs),
            unit=unit,
            repetitions=REPETITIONS,
            peer=f"first {PART:,}",
            peer_value=statistics.median(first[what] for first, _ in runs),
            note=note,
        )
        for what, (name, unit, note) in names.items()
    ]


def _memory_mb() -> float:
    resident_pages = int(Path("/proc/self/statm").read_text().split()[1])
    return resident_pages * os.sysconf("SC_PAGE_SIZE") / 2**20


MEASUREMENTS: list[Measurement] = [last_against_first]
