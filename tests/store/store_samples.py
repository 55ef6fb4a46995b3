"""Rollouts and ledger rows for the tests of the store."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from chase.core.values import Outcome, Rollout, RolloutKey, Status, Usage
from chase.store.digests import rollout_digest
from chase.store.records import LedgerRow, Use
from chase.store.store import Store
from chase.store.workspace import Workspace

WORDS = [f"w{random.Random(number).getrandbits(24):06x}" for number in range(400)]


def sample_key(task: str = "task-0", **changes: Any) -> RolloutKey:
    """A key; tasks tell samples apart."""
    fields: dict[str, Any] = {
        "model": "m" * 64,
        "harness": "h" * 64,
        "transformation": "t" * 64,
        "benchmark": "b" * 64,
        "versions": "v" * 64,
        "role": "evo",
        "index": 0,
        "run_seed": 0,
    }
    return RolloutKey(task=task, **{**fields, **changes})


def sample_trace(number: int) -> dict[str, Any]:
    """A four-turn trace of about 3 KB that no other number has."""
    draw = random.Random(number)

    def text(words: int) -> str:
        return " ".join(draw.choices(WORDS, k=words))

    def turn() -> dict[str, Any]:
        items = [{"id": text(1), "path": f"a/{place}.md", "text": text(6)} for place in range(3)]
        call = {"tool": "search", "arguments": {"query": text(4)}, "result": {"head": "3 hits", "items": items}}
        usage = {"input_tokens": 100, "output_tokens": 20}
        return {"request": [{"role": "user", "content": text(40)}], "calls": [call], "usage": usage}

    return {"turns": [turn() for _ in range(4)]}


def sample_rollout(
    number: int = 0,
    *,
    status: Status = "scored",
    score: float | None = 1.0,
    reason: str = "answered",
    answer: str | None = "42",
    key: RolloutKey | None = None,
    trace: dict[str, Any] | None = None,
    cost_usd: float | None = None,
) -> Rollout:
    """A rollout of task `number`."""
    return Rollout(
        key=key or sample_key(f"task-{number}"),
        outcome=Outcome(status=status, score=score if status == "scored" else None, reason=reason),
        answer=answer,
        usage=Usage(requests=4, input_tokens=400, output_tokens=80, wall_seconds=0.25, cost_usd=cost_usd),
        served_models=("served-1",),
        trace=sample_trace(number) if trace is None else trace,
    )


def failed_rollout(number: int = 0) -> Rollout:
    """The rollout of task `number` when its provider failed."""
    trace = {"events": [f"provider-error while on {number}"]}
    return sample_rollout(number, status="failed", reason="provider-error", answer=None, trace=trace)


def sample_ledger(rollout: Rollout, *costs: float | None, run: str = "run-1", method: str = "chase") -> list[LedgerRow]:
    """One request for each cost."""
    return [
        LedgerRow(
            run=run,
            method=method,
            role=rollout.key.role,
            episode=rollout_digest(rollout.key),
            purpose="rollout",
            input_tokens=100,
            cached_tokens=10,
            output_tokens=20,
            cost_usd=cost,
            wall_seconds=0.25,
            served_model="served-1",
        )
        for cost in costs
    ]


def fill(workspace: Workspace, rollouts: Iterable[Rollout], *costs: float | None) -> Workspace:
    """A closed store with one of everything: a run with a seal, its rollouts at these costs, one that failed."""
    with Store.open(workspace, write=True) as store:
        store.create_run("run-1", {"seed": 1})
        store.record_seal("run-1", {"final": "abc"})
        for rollout in rollouts:
            store.record_sync(rollout, sample_ledger(rollout, *costs), use=Use(run="run-1", method="chase"))
        store.record_sync(failed_rollout(9))
    return workspace
