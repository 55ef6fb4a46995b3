"""Building and validating Syn-Ledger: 320 tasks under 12 variants on one core.

The peer is a JSON round trip of the same rendered volume (question, paths and texts of every task under every
variant): the least that any check which goes through text has to do.
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import time
from collections.abc import Sequence

from benchmarks_perf import Measurement, Row
from chase.benchmarks.syn_ledger.benchmark import SynLedger, open_syn_ledger

NAME = "syn-ledger@7"
REPETITIONS = 3
RENDERINGS = "answer-from-renderings"
"""The first check of the step that renders every task under every variant and parses the texts back."""

PEER = "JSON round trip"
PEER_WALL = "JSON round trip, wall"
ROUND_TRIPS = 5
BUILD, READ, REST, TOTAL, WALL = "build", "render and parse", "rest of validation", "build and validate", "wall"


class _Clock:
    """CPU seconds by validation step, told apart by what `validate` says through its progress."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._step: str | None = None
        self._since = 0.0

    def __call__(self, step: str | None) -> None:
        now = time.process_time()
        if self._step is not None:
            self.seconds[self._step] = now - self._since
        self._step, self._since = step, now


def once() -> dict[str, float]:
    """One repetition: seconds by part, the peer's included."""
    wall, cpu = time.perf_counter(), time.process_time()
    benchmark = open_syn_ledger(NAME, cache=None)
    built, clock = time.process_time() - cpu, _Clock()
    results = benchmark.validate(clock)
    clock(None)
    total, wall = time.process_time() - cpu, time.perf_counter() - wall
    if not all(result.passed for result in results):
        raise RuntimeError(f"{NAME} does not validate; its speed means nothing")
    read = clock.seconds[RENDERINGS]
    parts = {BUILD: built, READ: read, REST: total - built - read, TOTAL: total, WALL: wall}
    return {**parts, **_peer(benchmark)}


def _peer(benchmark: SynLedger) -> dict[str, float]:
    volume = [
        {"question": view.question, "files": [[file.path, file.text] for file in view.files]}
        for variant in map(benchmark.variant, benchmark.variants())
        for view in (benchmark.view(task, variant) for task in benchmark.tasks())
    ]
    seconds: dict[str, list[float]] = {PEER: [], PEER_WALL: []}
    for _ in range(ROUND_TRIPS):
        wall, cpu = time.perf_counter(), time.process_time()
        json.loads(json.dumps(volume))
        seconds[PEER].append(time.process_time() - cpu)
        seconds[PEER_WALL].append(time.perf_counter() - wall)
    return {clock: statistics.median(taken) for clock, taken in seconds.items()}


def build_and_validate() -> Sequence[Row]:
    """Each repetition in a fresh process, so that nothing is cached from the one before."""
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        runs = [pool.apply(once) for _ in range(REPETITIONS)]
    medians = {part: statistics.median(run[part] for run in runs) for part in runs[0]}
    notes = {TOTAL: "aim: under 10", WALL: "wall clock; depends on what else runs"}
    return [
        Row(
            name=f"{NAME}: {part}",
            value=medians[part],
            unit="s" if part == WALL else "CPU s",
            repetitions=REPETITIONS,
            peer=PEER,
            peer_value=medians[PEER_WALL if part == WALL else PEER],
            note=notes.get(part, ""),
        )
        for part in (BUILD, READ, REST, TOTAL, WALL)
    ]


MEASUREMENTS: list[Measurement] = [build_and_validate]
