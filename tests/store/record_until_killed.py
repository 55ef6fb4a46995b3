"""Records rollouts into the workspace argv[1] from number argv[2] on, saying each digest once it is recorded."""

from __future__ import annotations

import asyncio
import os
import sys
from itertools import count
from pathlib import Path

from store_samples import sample_ledger, sample_rollout

from chase.store.digests import rollout_digest
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace


async def record_for_ever(store: Store, first: int) -> None:
    numbers = count(first)

    async def worker() -> None:
        for number in numbers:
            rollout = sample_rollout(number)
            ledger = sample_ledger(rollout, 0.01, None)
            await store.record(rollout, ledger, use=Use(run="run-1", method="chase"))
            os.write(1, f"{rollout_digest(rollout.key)}\n".encode())

    await asyncio.gather(*(worker() for _ in range(8)))


if __name__ == "__main__":
    with Store.open(Workspace(Path(sys.argv[1])), write=True) as opened:
        asyncio.run(record_for_ever(opened, int(sys.argv[2])))
