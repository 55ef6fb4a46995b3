"""How a candidate reference trajectory is made: by the foundation model, which is told the answer, or by a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from chase.core.interfaces import Benchmark
from chase.core.values import Rollout, RolloutKey, Usage
from chase.engine.judging import outcome_of
from chase.engine.rollout import Job
from chase.engine.sandbox import Sandbox
from chase.engine.trace import Trace
from chase.harness.spec import Harness, Structure
from chase.methods.references.program import PROGRAM, show_the_way
from chase.models.chat import ChatModel, Reply

REFERENCE = "reference"
"""The role of a reference trajectory in the store and in the ledger: no method's evaluator holds it."""
PROMPT = """You write a reference trajectory: a way to find the answer of a question that others can follow.

The correct answer is: {answer}

Find it with the tools as someone would who does not know it.
- Search with words of the question, or with words that a tool has shown you. Never search for the answer itself.
- Open only documents that a search or a listing has shown you, and read on where what you need has not come yet.
- Calculate only with numbers that a tool has shown you.
- Do not write the answer, and do not mention that you know it, before your last reply. That reply is the answer alone.
"""


def maker_harness(benchmark: Benchmark[Any], answer: str) -> Harness:
    """What carries the maker's prompt through the rollout loop: no policy, no memory, no guidance of any harness."""
    return Harness(structure=Structure(benchmark=benchmark.base), prompt=PROMPT.format(answer=answer))


@dataclass(frozen=True, kw_only=True)
class ModelReference(Job):
    """The foundation model at work, with the answer in its prompt. The trace that is kept is without that prompt."""

    @property
    def role(self) -> str:
        return REFERENCE

    async def run(
        self, model: ChatModel, sandbox: Sandbox, *, deadline: float | None = None, replies: list[Reply] | None = None
    ) -> Rollout:
        rollout = await super().run(model, sandbox, deadline=deadline, replies=replies)
        events = [_without_thoughts(event) for event in rollout.trace["events"] if event["event"] != "prompt"]
        return replace(rollout, trace={**rollout.trace, "events": events})


@dataclass(frozen=True, kw_only=True)
class ProgramReference(Job):
    """A program at work, which is given answer and evidence and acts through the tools. It asks no model."""

    answer: str
    evidence: Mapping[str, int]

    @property
    def role(self) -> str:
        return REFERENCE

    def key(self, model: ChatModel) -> RolloutKey:
        return replace(super().key(model), model=PROGRAM)

    async def run(
        self, model: ChatModel, sandbox: Sandbox, *, deadline: float | None = None, replies: list[Reply] | None = None
    ) -> Rollout:
        environment = self.benchmark.environment(self.task, self.transformation)
        trace = Trace(self.task, environment.question)
        show_the_way(environment, self.benchmark, self.evidence, trace, listing_first=self.index > 0)
        trace.add("model", text=self.answer, calls=[])
        outcome = outcome_of(self.benchmark, self.task, self.answer, "answered")
        return Rollout(
            key=self.key(model),
            outcome=outcome,
            answer=self.answer,
            usage=Usage(),
            trace=trace.finish(self.answer, "answered", outcome.score),
        )


def _without_thoughts(event: Mapping[str, Any]) -> dict[str, Any]:
    """A model's thoughts are no part of a trajectory: nobody acts on them but itself."""
    return {key: value for key, value in event.items() if key != "thinking"}
