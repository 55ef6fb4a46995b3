"""Rollouts in worker processes: the same as here, and what they cannot do is done here."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.registry import open_benchmark
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.engine.processes import CHUNK, Processes, chunks, processes
from chase.engine.rollout import Job
from chase.engine.runner import Pace, Runner, ScoredRollout
from chase.engine.sandbox import Sandbox
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.protocol.kit import ProtocolKit
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.ledger import H0

pytestmark = pytest.mark.slow
READER = ModelConfig(name="sim:reader")


def jobs_of(ledger: SynLedger, count: int = 3) -> list[Job]:
    """Under the released benchmark, a construction, and a transformation from the allowlist."""
    form = {"benchmark": "syn-ledger", "operators": [{"name": "reverse", "arguments": {"aspect": "rank"}}]}
    reverse = ProtocolKit(ledger).parse(form).transformation
    variants = [ledger.variant("released"), ledger.variant("neutral"), reverse]
    harness = replace(H0, control_source="def rerank(state, hits):\n    return [hit.id for hit in hits][::-1]\n")
    return [
        Job(benchmark=ledger, transformation=variant, harness=each, task=task, index=0, run_seed=3)
        for each, variant in ((H0, variants[0]), (harness, variants[1]), (H0, variants[2]))
        for task in ledger.tasks("evo")[:count]
    ]


async def rolled(jobs: list[Job], folder: Path, pool: Processes | None) -> tuple[list[ScoredRollout], list[Any], int]:
    with Store.open(Workspace(folder), write=True) as store:
        store.create_run("run", {})
        async with connect(READER) as model, Sandbox() as sandbox:
            runner = Runner(
                model=model, store=store, sandbox=sandbox, use=Use(run="run", method="m"), pace=Pace(processes=pool)
            )
            found = await runner.evaluate(jobs)
        traces = [store.trace(store.get(each.digest).trace_digest) for each in found]  # type: ignore[union-attr]
        return found, traces, sum(spend.usage.requests for spend in store.spend("run"))


def test_a_rollout_is_the_same_wherever_it_is_computed(ledger: SynLedger, tmp_path: Path) -> None:
    jobs = jobs_of(ledger)
    here = asyncio.run(rolled(jobs, tmp_path / "here", None))
    with processes(2, opens=partial(open_benchmark, ledger.name), benchmark=ledger, config=READER) as pool:
        asked: list[int] = []
        run = pool.run

        async def counted(portion: Any) -> Any:
            asked.append(len(portion))
            return await run(portion)

        pool.run = counted  # type: ignore[method-assign]
        there = asyncio.run(rolled(jobs, tmp_path / "there", pool))
        assert sum(asked) == len(jobs)  # all of them were sent
        assert [replace(each, usage=here[0][n].usage) for n, each in enumerate(there[0])] == here[0]
        assert there[1:] == here[1:]
        # Workers that die leave the rest to this process.
        for process in pool._pool._processes.values():
            os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.1)
        alone = asyncio.run(rolled(jobs[:2], tmp_path / "alone", pool))
        assert alone[1] == here[1][:2]


def test_what_cannot_be_sent_is_left_to_this_process(ledger: SynLedger) -> None:
    pool = Processes(1, None, ledger)  # type: ignore[arg-type]
    job = jobs_of(ledger, 1)[0]
    assert pool.takes(job)

    class Here:
        hash = "here"
        apply = staticmethod(lambda state: state)

        def __reduce__(self) -> Any:
            raise TypeError("stays here")

    assert not pool.takes(replace(job, transformation=Here()))  # type: ignore[arg-type]


def test_a_portion_is_of_one_cell_and_not_too_large(ledger: SynLedger) -> None:
    jobs = [(str(n), job) for n, job in enumerate(jobs_of(ledger, CHUNK + 1))]
    portions = list(chunks(jobs))
    assert [len(portion) for portion in portions] == [CHUNK, 1] * 3
    assert [name for portion in portions for name, _ in portion] == [name for name, _ in jobs]
