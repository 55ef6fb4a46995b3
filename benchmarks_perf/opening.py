"""Opening a Syn-Ledger that was built before, with its content hash, against building it.

Opened is the benchmark as a run needs it: its tasks by role, its content hash, and one task of every role under
`released` and `neutral` with its environment and a score. The peer does the same without a cache.
"""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks_perf import Measurement, Row
from chase.benchmarks.cache import BuiltCache
from chase.benchmarks.syn_ledger.benchmark import open_syn_ledger

NAMES = ("syn-ledger@7", "syn-ledger@7x60")
REPETITIONS = 5


def once(name: str, folder: str | None) -> tuple[float, str]:
    """Wall seconds of one opening, and the content hash."""
    cache = None if folder is None else BuiltCache(folder=Path(folder))
    start = time.perf_counter()
    benchmark = open_syn_ledger(name, cache=cache)
    found = benchmark.content_hash
    for task in (benchmark.tasks(role)[0] for role in benchmark.roles):
        for variant in ("released", "neutral"):
            benchmark.environment(task, benchmark.variant(variant))
        benchmark.score(task, "1")
    return time.perf_counter() - start, found


def opening() -> Sequence[Row]:
    """Each repetition in a fresh process, in turn with its peer."""
    rows = []
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, context.Pool(1, maxtasksperchild=1) as pool:
        for name in NAMES:
            first, expected = pool.apply(once, (name, folder))
            pairs = [[pool.apply(once, (name, kept)) for kept in (folder, None)] for _ in range(REPETITIONS)]
            if {found for pair in pairs for _, found in pair} != {expected}:
                raise RuntimeError(f"{name} from the cache has another content hash; its speed means nothing")
            opened, built = (statistics.median(seconds for seconds, _ in side) for side in zip(*pairs, strict=True))
            rows.append(
                Row(
                    name=f"{name}: open from the cache",
                    value=opened,
                    unit="s",
                    repetitions=REPETITIONS,
                    peer="build",
                    peer_value=built,
                    note=f"aim: under 1; the first opening, which builds and stores, {first:.1f} s",
                )
            )
    return rows


MEASUREMENTS: list[Measurement] = [opening]
