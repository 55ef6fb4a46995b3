"""How many rollouts a second are recorded, at the beginning and at the end of a growing store.

Run it with `python tests/store/measure_throughput.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from store_samples import sample_ledger, sample_rollout

from chase.core.values import Rollout
from chase.store.records import LedgerRow, Use
from chase.store.store import Store
from chase.store.workspace import Workspace

Work = tuple[Rollout, list[LedgerRow]]


async def record_all(store: Store, work: list[Work], concurrency: int, busy_seconds: float) -> None:
    """Record from `concurrency` coroutines that each keep the event loop busy before recording."""
    remaining = iter(work)

    async def worker() -> None:
        for rollout, ledger in remaining:
            end = time.perf_counter() + busy_seconds
            while time.perf_counter() < end:
                pass
            await store.record(rollout, ledger, use=Use(run="run-1", method="chase"))

    await asyncio.gather(*(worker() for _ in range(concurrency)))


def main() -> None:
    """Print wall and CPU time by thousand: on a machine that others use, CPU time is the steadier one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rollouts", type=int, default=20_000)
    parser.add_argument("--concurrency", type=int, default=256)
    parser.add_argument("--requests", type=int, default=4, help="ledger rows a rollout")
    parser.add_argument("--busy-us", type=float, default=0.0, help="CPU that the event loop burns a rollout")
    options = parser.parse_args()
    wall, cpu = [], []
    with tempfile.TemporaryDirectory() as folder, Store.open(Workspace(Path(folder)), write=True) as store:
        for start in range(0, options.rollouts, 1000):
            rollouts = [sample_rollout(number) for number in range(start, start + 1000)]
            work = [(rollout, sample_ledger(rollout, *[None] * options.requests)) for rollout in rollouts]
            gc.collect()
            at, used = time.perf_counter(), time.process_time()
            asyncio.run(record_all(store, work, options.concurrency, options.busy_us / 1e6))
            wall.append(time.perf_counter() - at)
            cpu.append(time.process_time() - used)
    for name, seconds in (("wall", wall), ("CPU", cpu)):
        rates = [1000 / second for second in seconds]
        sys.stdout.write(
            f"rollouts a second of {name} time: median {median(rates):.0f}, best {max(rates):.0f}, "
            f"first 3,000 {median(rates[:3]):.0f}, last 3,000 {median(rates[-3:]):.0f}\n"
        )


if __name__ == "__main__":
    main()
