"""A rollout that an agent of one's own plays: the task is posed, tool calls are watched, the answer is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chase.core.interfaces import Environment, OwnAgent
from chase.core.own_agents import Posed
from chase.core.values import Json, Limits, Rollout, RolloutKey, ToolInterface, ToolResult, ToolSpec
from chase.engine.judging import outcome_of
from chase.engine.trace import Trace

if TYPE_CHECKING:
    from chase.engine.rollout import Job


@dataclass(frozen=True, slots=True)
class WatchedEnvironment:
    """An environment whose calls are in a trace."""

    environment: Environment
    trace: Trace

    @property
    def question(self) -> str:
        return self.environment.question

    @property
    def tools(self) -> Sequence[ToolSpec]:
        return self.environment.tools

    @property
    def interface(self) -> ToolInterface:
        return self.environment.interface

    @property
    def limits(self) -> Limits:
        return self.environment.limits

    def call(self, tool: str, arguments: Mapping[str, Json]) -> ToolResult:
        result = self.environment.call(tool, arguments)
        self.trace.add_tool("agent", tool, arguments, result)
        return result

    def calls_left(self) -> Mapping[str, int]:
        return self.environment.calls_left()

    def refusal(self, message: str) -> ToolResult:
        return self.environment.refusal(message)


async def play(job: Job, agent: OwnAgent, key: RolloutKey) -> Rollout:
    """One rollout of an agent that plays by itself. What it causes is scored; a `RolloutError` is the machine's."""
    benchmark: Any = job.benchmark
    environment = benchmark.environment(job.task, job.transformation)
    trace = Trace(job.task, environment.question)
    posed = Posed(
        view=benchmark.view(job.task, job.transformation),
        environment=WatchedEnvironment(environment, trace),
        answer_form=benchmark.answer_form,
        seed=job.seed,
        note=trace.add,
    )
    played = await agent.play(posed)
    outcome = outcome_of(benchmark, job.task, played.answer, played.reason)
    return Rollout(
        key=key,
        outcome=outcome,
        answer=played.answer,
        usage=played.usage,
        served_models=(played.served_model,) if played.served_model else (),
        trace=trace.finish(played.answer, played.reason, outcome.score),
    )
