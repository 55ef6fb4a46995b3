"""Each hook of a harness once, on an example: what `chase harness check` says of a hook that breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo

from chase.core.interfaces import Benchmark
from chase.core.values import Json
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.folder import CONTROL
from chase.harness.spec import Harness
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.local import Heard, LocalModel
from chase.runs.loops import run_to_end
from chase.runs.notices import blank_lines, failed_hooks

NAME = "sim:trial"
ANSWER = "0"


@dataclass(frozen=True, kw_only=True)
class HookTrial:
    """How a hook did on the example."""

    hook: str
    """Its name, or 'control.py' where the file itself failed."""
    status: Literal["ran", "failed", "not called"]
    reason: str | None = None
    line: int | None = None
    detail: str = ""

    @property
    def text(self) -> str:
        """In a few words."""
        if self.status != "failed":
            return {"ran": "ran on an example", "not called": "not called on the example"}[self.status]
        line = f" at {CONTROL} line {self.line}" if self.line is not None else ""
        return f"failed on an example: {self.reason}{f': {self.detail}' if self.detail else ''}{line}"


def trials_of(harness: Harness, benchmark: Benchmark[Any], hooks: Sequence[str], folder: Path) -> list[HookTrial]:
    """Each of the hooks once, on a task that is not sealed. Lines are those of the file in the folder."""
    trace = run_to_end(lambda: _rolled_out(harness, benchmark))
    return _told(trace, hooks, blank_lines(folder))


async def _rolled_out(harness: Harness, benchmark: Benchmark[Any]) -> Mapping[str, Any]:
    """The trace of a rollout in which the model searches once and answers: the engine itself calls every hook."""
    role = next(role for role in benchmark.roles if role not in benchmark.sealed)
    job = Job(
        benchmark=benchmark,
        transformation=benchmark.variant("released"),
        harness=harness,
        task=benchmark.tasks(role)[0],
        index=0,
        run_seed=0,
    )
    async with _model(benchmark) as model, Sandbox(max_sessions=1) as sandbox:
        rollout, _ = await run_rollout(job, model, sandbox)
    trace: Mapping[str, Any] = rollout.trace
    return trace


def _told(trace: Mapping[str, Any], hooks: Sequence[str], lines_above: int) -> list[HookTrial]:
    called = {event["hook"] for event in trace["events"] if event["event"] == "hook"}
    failed = failed_hooks(trace)
    found: list[HookTrial] = []
    for hook in [*hooks, *(name for name in failed if name not in hooks)]:
        if hook in failed:
            first = failed[hook][0]
            line = None if first.line is None else first.line + lines_above
            found.append(HookTrial(hook=hook, status="failed", reason=first.reason, line=line, detail=first.detail))
        else:
            found.append(HookTrial(hook=hook, status="ran" if hook in called else "not called"))
    return found


def _model(benchmark: Benchmark[Any]) -> ChatModel:
    """A program that makes one tool call, a search where there is one, and then answers."""

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if any(isinstance(message, ModelResponse) and message.model_name is not None for message in messages):
            return ModelResponse(parts=[TextPart(ANSWER)])
        tool, arguments = _first_call(benchmark, Heard.of(messages).question, info)
        return ModelResponse(parts=[ToolCallPart(tool, arguments, "call-0")])

    return ChatModel(ModelConfig(name=NAME), LocalModel(respond, name=NAME, version="1"))


def _first_call(benchmark: Benchmark[Any], question: str, info: AgentInfo) -> tuple[str, dict[str, Json]]:
    search = benchmark.interface.search
    if search is None:
        return info.function_tools[0].name, {}
    values = [value for several in benchmark.slots(question).values() for value in several]
    return search.tool, {search.query: values[0] if values else question}
