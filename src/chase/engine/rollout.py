"""The rollout loop: one (model, harness, variant, task, index) from first prompt to score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from chase.core.interfaces import Benchmark, Judge, OwnAgent, ShowsExamples, Transformation
from chase.core.keyed import digest, key_bits
from chase.core.outside import NotPlain, parse_json
from chase.core.values import Json, Rollout, RolloutKey, Usage
from chase.engine import own_agent, prompting, trace
from chase.engine.episode import Episode, Terms
from chase.engine.judging import judge_of, outcome_of
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Harness
from chase.models.chat import ChatModel, Reply
from chase.models.errors import ContextTooLong
from chase.models.replies import MOST_CALLS

VERSION = 4
CHARACTERS_PER_TOKEN = 4
TOO_MANY_CALLS = f"Only the first {MOST_CALLS} calls of a reply are looked at: the others were refused."


Contestant = Harness | OwnAgent
"""What is evaluated: a harness around the run's model, or an agent that plays by itself."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be rolled out. Host-side: role and transformation never reach the agent."""

    benchmark: Benchmark[Any]
    transformation: Transformation[Any]
    harness: Contestant
    task: str
    index: int
    run_seed: int

    def key(self, model: ChatModel) -> RolloutKey:
        return RolloutKey(
            model=model.fingerprint,
            harness=self.harness.hash,
            transformation=self.transformation.hash,
            benchmark=self.benchmark.content_hash,
            versions=self._versions(),
            task=self.task,
            role=self.role,
            index=self.index,
            run_seed=self.run_seed,
        )

    def _versions(self) -> str:
        judge = judge_of(self.benchmark)
        return _versions(**self.benchmark.versions) if judge is None else _judged_versions(self.benchmark, judge)

    @property
    def role(self) -> str:
        """Under which it is kept and paid for."""
        return self.benchmark.role_of(self.task)

    @property
    def seed(self) -> int:
        """Decided by run, task and index alone: under every variant and harness the same draws are made."""
        return key_bits("rollout", self.run_seed, self.task, self.index) & 0x7FFFFFFF

    async def run(
        self, model: ChatModel, sandbox: Sandbox, *, deadline: float | None = None, replies: list[Reply] | None = None
    ) -> Rollout:
        """The rollout itself: the model's, as `run_rollout` makes it, or that of an agent that plays by itself."""
        if not isinstance(self.harness, Harness):
            rollout = await own_agent.play(self, self.harness, self.key(model))
            if model.meter is not None:
                model.meter.charge(rollout.usage)
            return rollout
        rollout, _ = await run_rollout(self, model, sandbox, deadline=deadline, replies=replies)
        return rollout


@cache
def _versions(**benchmark: int) -> str:
    return digest({**benchmark, "engine": VERSION, "trace": trace.VERSION})


def _judged_versions(benchmark: Benchmark[Any], judge: Judge) -> str:
    """With the judge as it is connected: its address and settings may come from a config, beside the benchmark."""
    return digest([_versions(**benchmark.versions), judge.fingerprint])


@dataclass
class _Progress:
    """What a rollout used so far."""

    usage: Usage = field(default_factory=Usage)
    requests: list[Reply] = field(default_factory=list)

    def add(self, reply: Reply) -> None:
        self.usage = self.usage + reply.usage if self.requests else reply.usage
        self.requests.append(reply)


async def run_rollout(
    job: Job,
    model: ChatModel,
    sandbox: Sandbox,
    *,
    deadline: float | None = None,
    replies: list[Reply] | None = None,
) -> tuple[Rollout, list[Reply]]:
    """One rollout, with its model replies. What the agent causes is scored; a `RolloutError` is infrastructure. What a
    judge has to see is played here and scored by the runner.

    `replies` is filled as they come, so that a caller knows what was paid for when the rollout fails.
    """
    harness, environment = job.harness, job.benchmark.environment(job.task, job.transformation)
    assert isinstance(harness, Harness)  # what plays by itself has no prompt
    record = trace.Trace(job.task, environment.question)
    progress = _Progress(requests=[] if replies is None else replies)
    async with sandbox.session(harness.control_source, seed=job.seed) as hooks:
        for failure in hooks.failures:
            record.add_failure(failure)
        episode = Episode(
            environment=environment,
            harness=harness,
            terms=_terms(job.benchmark, environment.question),
            hooks=hooks,
            trace=record,
        )
        answer, reason = await _converse(episode, model, progress, seed=job.seed, deadline=deadline)
    outcome = outcome_of(job.benchmark, job.task, answer, reason)
    rollout = Rollout(
        key=job.key(model),
        outcome=outcome,
        answer=answer,
        usage=progress.usage,
        served_models=tuple(sorted({reply.served_model for reply in progress.requests})),
        trace=record.finish(answer, reason, outcome.score),
    )
    return rollout, progress.requests


def _terms(benchmark: Benchmark[Any], question: str) -> Terms:
    return Terms(
        observables={observable.name: observable for observable in benchmark.observables},
        placeholders=benchmark.placeholders,
        answer_form=benchmark.answer_form,
        slots=benchmark.slots(question),
    )


async def _converse(
    episode: Episode, model: ChatModel, progress: _Progress, *, seed: int, deadline: float | None
) -> tuple[str | None, str]:
    """Ask, run tools, tell, until an answer or a limit. Returns the answer and why it ended."""
    limits, environment = episode.environment.limits, episode.environment
    messages = await _first_messages(episode)
    repairs = episode.harness.structure.control.repairs
    for episode.step in range(limits.steps):
        if _characters(messages) > limits.context_tokens * CHARACTERS_PER_TOKEN:
            return None, "context-limit"
        if progress.usage.wall_seconds > limits.wall_seconds:
            return None, "time-limit"
        try:
            reply = await model.request(messages, environment.tools, seed=seed, deadline=deadline)
        except ContextTooLong:
            return None, "context-limit"
        progress.add(reply)
        text, calls = _said(episode, reply)
        messages.append(reply.response)
        if calls:
            messages.append(await _run_tools(episode, calls, dropped=reply.dropped_calls))
            continue
        objection = await _objection(episode, text, repairs)
        if objection is None:
            return (text, "answered") if text.strip() else (None, "no-answer")
        repairs -= 1
        episode.trace.add("objection", text=objection)
        messages.append(ModelRequest(parts=[UserPromptPart(objection)]))
    return None, "step-limit"


async def _first_messages(episode: Episode) -> list[ModelMessage]:
    active = episode.newly_active()
    system = prompting.system_prompt(episode.harness, episode.terms.answer_form, active)
    if isinstance(episode.environment, ShowsExamples) and episode.environment.examples:
        system = f"{system}\n\n{episode.environment.examples}"
    question = episode.environment.question
    episode.trace.add("prompt", system=system, user=question, guidance=[guidance.name for guidance in active])
    first = ModelRequest(parts=[SystemPromptPart(system), UserPromptPart(question)])
    messages = [first, *await episode.opening()]
    if episode.plan_note:
        episode.trace.add("note", text=episode.plan_note)
        messages.append(ModelRequest(parts=[UserPromptPart(episode.plan_note)]))
    return messages


def _said(episode: Episode, reply: Reply) -> tuple[str, list[ToolCallPart]]:
    """The reply's text and tool calls, as they stand in the trace."""
    parts = reply.response.parts
    text = "".join(part.content for part in parts if isinstance(part, TextPart))
    thinking = "".join(part.content for part in parts if isinstance(part, ThinkingPart))
    calls = [part for part in parts if isinstance(part, ToolCallPart)]
    written = [{"tool": call.tool_name, "arguments": call.args} for call in calls]
    episode.trace.add("model", **({"thinking": thinking} if thinking else {}), text=text, calls=written)
    return text, calls


async def _run_tools(episode: Episode, calls: list[ToolCallPart], *, dropped: int) -> ModelRequest:
    """The results of a turn's calls, with what the host and the harness have to say after them."""
    parts: list[ToolReturnPart | UserPromptPart] = []
    for call in calls:
        content = await episode.call(call.tool_name, _arguments(call))
        parts.append(ToolReturnPart(call.tool_name, content, call.tool_call_id))
    notes = [TOO_MANY_CALLS] if dropped else []
    for note in [*notes, *await episode.notes()]:
        episode.trace.add("note", text=note)
        parts.append(UserPromptPart(note))
    return ModelRequest(parts=parts)


def _arguments(call: ToolCallPart) -> Mapping[str, Json]:
    """The call's arguments; what is no JSON object is passed on as such, to be refused and counted."""
    try:
        arguments = parse_json(call.args or "{}") if not isinstance(call.args, dict) else call.args
    except NotPlain:
        return {"(not valid JSON)": None}
    return arguments if isinstance(arguments, dict) else {"(not an object)": None}


async def _objection(episode: Episode, text: str, repairs: int) -> str | None:
    """What the answer is sent back with, or None to accept it."""
    form = episode.terms.answer_form
    if repairs > 0 and not prompting.fits(text, form):
        return form.repair
    return await episode.check_answer(text)


def _characters(messages: list[ModelMessage]) -> int:
    return sum(len(str(getattr(part, "content", "") or "")) for message in messages for part in message.parts)
