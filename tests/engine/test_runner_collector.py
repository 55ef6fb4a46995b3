"""The garbage collector during an evaluation: it is spared what was there before, and left as it was found."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.engine.runner import Runner
from chase.engine.sandbox import Sandbox
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.scripted import Request, Step, scripted
from tests.engine.rollouts import make_job


@pytest.fixture(autouse=True)
def unfrozen() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


async def frozen_during_and_after(ledger: SynLedger, folder: Path) -> tuple[int, int]:
    """How many objects the collector passes over while a rollout runs, and afterwards."""
    during: list[int] = []

    def script(request: Request) -> Step:
        during.append(gc.get_freeze_count())
        return "1"

    with Store.open(Workspace(folder), write=True) as store:
        runner = Runner(model=scripted(script), store=store, sandbox=Sandbox(), use=Use(run="run-1", method="rollout"))
        await runner.evaluate([make_job(ledger, task=ledger.tasks("evo")[0])])
    return during[0], gc.get_freeze_count()


async def test_the_collector_is_spared_the_benchmark_while_rollouts_run(ledger: SynLedger, tmp_path: Path) -> None:
    during, after = await frozen_during_and_after(ledger, tmp_path)
    assert during > 10_000
    assert after == 0


async def test_what_an_embedding_program_has_frozen_stays_frozen(ledger: SynLedger, tmp_path: Path) -> None:
    gc.freeze()
    _, after = await frozen_during_and_after(ledger, tmp_path)
    assert after > 10_000
