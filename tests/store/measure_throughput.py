"""How many rollouts a second are recorded, at the beginning and at the end of a growing store.

Run it with `python tests/store/measure_throughput.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from store_samples import sample_ledger, sample_rollout

from chase.core.values import Rollout
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace

REQUESTS = (None, None, None, None)
"""Four turns, at an unknown price."""


async def record_all(store: Store, rollouts: list[Rollout], concurrency: int, work_seconds: float) -> float:
    """Seconds to record them from `concurrency` coroutines that each burn CPU before recording."""
    remaining = iter(rollouts)

    async def worker() -> None:
        for rollout in remaining:
            end = time.perf_counter() + work_seconds
            while time.perf_counter() < end:
                pass
            await store.record(rollout, sample_ledger(rollout, *REQUESTS), use=Use(run="r", method="m"))

    started = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rollouts", type=int, default=20_000)
    parser.add_argument("--concurrency", type=int, default=256)
    parser.add_argument("--work-us", type=float, default=0.0, help="CPU that the event loop burns a rollout")
    options = parser.parse_args()
    rates = []
    cpu_seconds = 0.0
    with tempfile.TemporaryDirectory() as folder, Store.open(Workspace(Path(folder)), write=True) as store:
        for start in range(0, options.rollouts, 1000):
            rollouts = [sample_rollout(number) for number in range(start, start + 1000)]
            cpu = time.process_time()
            seconds = asyncio.run(record_all(store, rollouts, options.concurrency, options.work_us / 1e6))
            cpu_seconds += time.process_time() - cpu
            rates.append(1000 / seconds)
    ordered = sorted(rates)
    sys.stdout.write(
        f"rollouts a second: median {ordered[len(ordered) // 2]:.0f}, first 1,000 {rates[0]:.0f}, "
        f"last 1,000 {rates[-1]:.0f}, slowest 1,000 {ordered[0]:.0f}; "
        f"CPU a rollout: {cpu_seconds / options.rollouts * 1e6:.0f} us\n"
    )


if __name__ == "__main__":
    main()
