"""A rollout's trace is a function of its key: the same on idle and on loaded cores, alone and among many."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.engine.control import SandboxLimits
from chase.engine.runner import Pace, Runner
from chase.engine.sandbox import Sandbox
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.engine.rollouts import make_harness, make_job

ROLLOUTS = 8
BUSY_A_CORE = 4

# What it does grows with what it reads: some calls are just within their steps, some just beyond.
SLOW = """
def rerank(hits, state):
    for _ in range(sum(len(hit["text"]) for hit in hits) * 50):
        pass
    words = state["question"].lower().split()
    return sorted(range(len(hits)), key=lambda i: -sum(word in hits[i]["text"].lower() for word in words))
"""
LIMITS = SandboxLimits(call_steps=33_100)


@contextmanager
def busy_cores() -> Iterator[None]:
    command = [sys.executable, "-c", "while True: pass"]
    spinning = [subprocess.Popen(command) for _ in range(BUSY_A_CORE * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


async def traces(ledger: SynLedger, folder: Path, *, concurrency: int) -> list[Any]:
    jobs = [make_job(ledger, make_harness(source=SLOW), task=task) for task in ledger.tasks("evo")[:ROLLOUTS]]
    with Store.open(Workspace(folder), write=True) as store:
        store.create_run("run-1", {})
        async with connect(ModelConfig(name="sim:reader")) as model, Sandbox(limits=LIMITS) as sandbox:
            use, pace = Use(run="run-1", method="rollout"), Pace(concurrency=concurrency)
            scored = await Runner(model=model, store=store, sandbox=sandbox, use=use, pace=pace).evaluate(jobs)
        stored = store.get_many([each.digest for each in scored])
        return [store.trace(stored[each.digest].trace_digest) for each in scored]


async def test_a_trace_is_the_same_alone_and_among_many_on_loaded_cores(ledger: SynLedger, tmp_path: Path) -> None:
    alone = await traces(ledger, tmp_path / "alone", concurrency=1)
    with busy_cores():
        loaded = await traces(ledger, tmp_path / "loaded", concurrency=ROLLOUTS)
    assert loaded == alone
    calls = [event for trace in alone for event in trace["events"] if event["event"] == "hook"]
    assert {event["failure"] for event in calls} == {None, "work-limit"}
