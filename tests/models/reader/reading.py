"""Rollouts of the simulated reader, and what it did in them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.values import Rollout
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Harness
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.testing.ledger import H0


def told(*directives: str) -> Harness:
    """H_0 with directives in its memory."""
    return Harness(structure=H0.structure, prompt=H0.prompt, memory=" ".join(directives))


@dataclass(frozen=True, kw_only=True, slots=True)
class Deed:
    """What the reader did in one rollout."""

    task: str
    calls: tuple[tuple[str, str], ...]
    """Each call's tool and arguments."""
    answer: str | None
    score: float
    rollout: Rollout

    @property
    def opened(self) -> list[str]:
        """The documents of its file-opening calls, in order."""
        return [call["arguments"]["file"] for call in self.made("open_file")]

    @property
    def queries(self) -> list[str]:
        return [call["arguments"]["query"] for call in self.made("search")]

    def made(self, tool: str) -> list[Mapping[str, Any]]:
        events = self.rollout.trace["events"]
        return [
            call for event in events if event["event"] == "model" for call in event["calls"] if call["tool"] == tool
        ]

    @property
    def reread(self) -> set[str]:
        """Documents in which it read on."""
        return {document for document in self.opened if self.opened.count(document) > 1}


def read(
    ledger: SynLedger,
    tasks: Sequence[str],
    harness: Harness = H0,
    *,
    variant: str = "released",
    indices: Sequence[int] = (0,),
    **settings: float,
) -> list[Deed]:
    """What the reader, with parameters changed, does on the tasks."""
    transformation = ledger.variant(variant)
    model = connect(ModelConfig(name="sim:reader", settings=settings))

    async def run() -> list[Rollout]:
        jobs = [
            Job(benchmark=ledger, transformation=transformation, harness=harness, task=task, index=index, run_seed=0)
            for task in tasks
            for index in indices
        ]
        return [(await run_rollout(job, model, Sandbox()))[0] for job in jobs]

    return [deed(rollout) for rollout in asyncio.run(run())]


def deed(rollout: Rollout) -> Deed:
    events = rollout.trace["events"]
    calls = [call for event in events if event["event"] == "model" for call in event["calls"]]
    return Deed(
        task=rollout.key.task,
        calls=tuple((call["tool"], str(sorted(call["arguments"].items()))) for call in calls),
        answer=rollout.answer,
        score=rollout.outcome.score or 0.0,
        rollout=rollout,
    )


def mean_score(deeds: Sequence[Deed]) -> float:
    return sum(each.score for each in deeds) / len(deeds)
