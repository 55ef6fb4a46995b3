"""Rollouts for tests: a harness from the fields that matter, a job, and what its trace says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.values import Rollout
from chase.engine.control import SandboxLimits
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Guidance, Harness, Structure
from chase.models.chat import ChatModel
from chase.testing.ledger import H0
from chase.testing.scripted import Script, ScriptedModel, scripted

Event = Mapping[str, Any]


def make_harness(
    *,
    retrieval: Mapping[str, Any] | None = None,
    tools: Mapping[str, Any] | None = None,
    control: Mapping[str, Any] | None = None,
    guidance: tuple[Guidance, ...] = (),
    memory: str = "",
    source: str | None = None,
) -> Harness:
    """H_0 but for what is given."""
    fields = H0.structure.model_dump(by_alias=True)
    for table, given in (("retrieval", retrieval), ("tools", tools), ("control", control)):
        fields[table] |= given or {}
    return Harness(
        structure=Structure.model_validate(fields),
        prompt="Answer the question.",
        memory=memory,
        guidance=guidance,
        control_source=source,
    )


def make_job(
    benchmark: SynLedger,
    harness: Harness | None = None,
    *,
    task: str | None = None,
    variant: str = "released",
    index: int = 0,
    run_seed: int = 0,
) -> Job:
    """A rollout of the first task of evo, unless another is named."""
    return Job(
        benchmark=benchmark,
        transformation=benchmark.variant(variant),
        harness=harness or make_harness(),
        task=task or benchmark.tasks("evo")[0],
        index=index,
        run_seed=run_seed,
    )


async def roll(job: Job, model: ChatModel, *, limits: SandboxLimits | None = None) -> Rollout:
    """The rollout, in a sandbox of its own."""
    if job.harness.control_source is None:
        return (await run_rollout(job, model, Sandbox()))[0]  # without hooks it need not be opened
    async with Sandbox(limits=limits, max_sessions=1) as sandbox:
        rollout, _ = await run_rollout(job, model, sandbox)
    return rollout


async def follow(job: Job, script: Script) -> tuple[Rollout, ScriptedModel]:
    """The rollout of a script, and the model that was asked."""
    model = scripted(script)
    return await roll(job, model), model


def events(rollout: Rollout, kind: str) -> list[Event]:
    """The trace's events of a kind, in order."""
    return [event for event in rollout.trace["events"] if event["event"] == kind]


def tool_events(rollout: Rollout, tool: str | None = None, by: str | None = None) -> list[Event]:
    """The tool calls in the trace (of a tool, by model or harness)."""
    found = events(rollout, "tool")
    return [event for event in found if tool in (None, event["tool"]) and by in (None, event["by"])]


def two_period_task(benchmark: SynLedger) -> str:
    """A task whose question names two periods."""
    return next(
        task for task in benchmark.tasks("evo") if len(benchmark.slots(benchmark.task(task).question)["periods"]) == 2
    )
