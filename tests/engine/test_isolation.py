"""Nothing tells a model, a hook or a trace which role, which variant, which answer, which evidence.

A benchmark is given unmistakable strings for all that the host alone may know, and rollouts are searched for them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from pydantic_ai.messages import ModelMessagesTypeAdapter

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.generator import GeneratedTask
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.core.interfaces import Environment, Transformation
from chase.core.values import Json
from chase.engine.hooks import HOOKS
from chase.engine.rollout import Job
from chase.engine.runner import Runner
from chase.engine.sandbox import HookResult, HookSession, Sandbox
from chase.harness.spec import Activation, Guidance, Harness
from chase.models.reader.model import _respond, load_parameters
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.scripted import Request, ScriptedModel, Step, call, scripted
from tests.benchmarks.syn_ledger.faults import rebuilt
from tests.engine.rollouts import make_harness

ANSWER = 918_273_645_546
MARK = "canary"


class MarkedLedger(SynLedger):
    """A Syn-Ledger whose roles, variants, kinds of documents and families are marked, and whose answers are one."""

    def mark(self) -> None:
        self._role_of = {task: f"{MARK}-role-{role}" for task, role in self._role_of.items()}
        self._variants = {f"{MARK}-variant-{name}": made for name, made in self._variants.items()}
        self.roles = tuple(sorted(set(self._role_of.values())))


class LeakyLedger(MarkedLedger):
    """Says the role in the question: what the search must find."""

    def environment(self, task: str, transformation: Transformation[Manifest]) -> Environment:
        environment = super().environment(task, transformation)
        environment.question += f" ({self.role_of(task)})"  # type: ignore[misc]
        return environment


def marked(ledger: SynLedger, kind: type[MarkedLedger] = MarkedLedger) -> MarkedLedger:
    copy = rebuilt(ledger, mark_task, kind)
    assert isinstance(copy, MarkedLedger)
    copy.mark()
    return copy


def mark_task(made: GeneratedTask) -> GeneratedTask:
    task = made.task
    documents = tuple(replace(d, kind=f"{MARK}-kind-{d.kind}") for d in task.documents)  # type: ignore[arg-type]
    family = replace(task.family, name=f"{MARK}-family")
    query = replace(task.query, family=family)
    return replace(made, task=replace(task, documents=documents, answer=ANSWER, query=query))


def secrets(job: Job) -> list[str]:
    """What no agent may see of a job."""
    transformation = job.transformation
    operators = [operator.name for operator in transformation.operators]
    return [MARK, str(ANSWER), f"{ANSWER:,}", transformation.hash, job.benchmark.content_hash, *operators]


class Wiretap:
    """Everything that left the host: messages and tools to the model, arguments to hooks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hook_arguments: list[str] = []
        self.hooks: set[str] = set()
        real = HookSession.call

        async def overheard(session: HookSession, hook: str, *arguments: Json) -> HookResult:
            if session.defines(hook):
                self.hooks.add(hook)
                self.hook_arguments.append(json.dumps(arguments))
            return await real(session, hook, *arguments)

        monkeypatch.setattr(HookSession, "call", overheard)


def texts_to(model: ScriptedModel) -> Iterator[str]:
    for request in model.requests:
        yield ModelMessagesTypeAdapter.dump_json(list(request.messages)).decode()
        yield " ".join(request.texts())


def stored_traces(workspace: Workspace) -> list[str]:
    connection = sqlite3.connect(workspace.database)
    try:
        blobs = [row[0] for row in connection.execute("SELECT content FROM traces")]
    finally:
        connection.close()
    return [zstandard.ZstdDecompressor().decompress(blob).decode() for blob in blobs]


def full_harness() -> Harness:
    """One that uses everything: policies, guidance, memory and all hooks."""
    source = (
        "def plan(task):\n    return {'queries': [task['slots']['entity'][0]], 'note': str(sorted(task))}\n"
        "def rewrite_query(query, state):\n    return query\n"
        "def rerank(hits, state):\n    return list(range(len(hits)))\n"
        "def after_tool(tool, result, state):\n    return str(sorted(state.items()))[:2000]\n"
        "def should_stop(state):\n    return False\n"
        "def check_answer(answer, state):\n    return str(sorted(state.items()))[:2000]\n"
    )
    guidance = (Guidance(name="late", when=Activation(calls_left_at_most=9), text="Hurry."),)
    return make_harness(
        source=source,
        guidance=guidance,
        memory="Be careful.",
        retrieval={"templates": ["{entity} {periods}"], "merge": "round-robin", "relax_below": 12},
        tools={"open_first": 1, "read_on": {"when": "always"}},
        control={"repairs": 2, "answer_when_calls_left": 3},
    )


def explorer(request: Request) -> Step:
    """Uses every tool, wrongly too, and answers what is not the answer."""
    steps: list[Step] = [
        [call("list_files"), call("calculator", expression="1 + 1"), call("nonsense")],
        [call("search", query="approved", limit=12), call("open_file", file="nowhere")],
        [call("open_file", file=f"{name}.md") for name in ("a", "b")],
        "no number",
        "12",
        "13",
    ]
    return steps[min(request.turn, len(steps) - 1)]


def reader(request: Request) -> Step:
    parameters = load_parameters()
    return _respond(list(request.messages), list(request.tools), parameters, request.seed or 0)


async def rollouts(
    ledger: MarkedLedger, harness: Harness, model: ScriptedModel, workspace: Workspace, variants: list[str]
) -> list[Job]:
    """A few tasks of every role under the variants, run and stored."""
    jobs = [
        Job(benchmark=ledger, transformation=ledger.variant(variant), harness=harness, task=task, index=0, run_seed=0)
        for variant in variants
        for role in ledger.roles
        for task in ledger.tasks(role)[:2]
    ]
    with Store.open(workspace, write=True) as store:
        async with Sandbox(max_sessions=4) as sandbox:
            use = Use(run=f"{MARK}-run", method=f"{MARK}-method")
            scored = await Runner(model=model, store=store, sandbox=sandbox, use=use).evaluate(jobs)
    assert [result.outcome.score for result in scored] == [0.0] * len(jobs)
    return jobs


def found(jobs: list[Job], texts: list[str]) -> set[str]:
    """The secrets that stand in a text."""
    everything = "\n".join(texts).lower()
    return {secret for job in jobs for secret in secrets(job) if secret.lower() in everything}


@pytest.mark.parametrize("agent", [explorer, reader])
async def test_nothing_of_the_host_reaches_model_hooks_or_traces(
    ledger: SynLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: Any
) -> None:
    benchmark, workspace, tap = marked(ledger), Workspace(tmp_path), Wiretap(monkeypatch)
    model = scripted(agent)
    variants = [f"{MARK}-variant-{name}" for name in ("released", "neutral", "placebo-line-endings")]
    jobs = await rollouts(benchmark, full_harness(), model, workspace, variants)
    told, traces = list(texts_to(model)), stored_traces(workspace)
    assert len(traces) > len(jobs) // 2
    assert tap.hooks == set(HOOKS)
    assert found(jobs, told) == set()
    assert found(jobs, tap.hook_arguments) == set()
    assert found(jobs, traces) == set()


async def test_the_search_finds_a_leak_where_there_is_one(
    ledger: SynLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark, workspace, tap = marked(ledger, LeakyLedger), Workspace(tmp_path), Wiretap(monkeypatch)
    model = scripted(explorer)
    jobs = await rollouts(benchmark, full_harness(), model, workspace, [f"{MARK}-variant-released"])
    assert found(jobs, list(texts_to(model))) == {MARK}
    assert found(jobs, tap.hook_arguments) == {MARK}
    assert found(jobs, stored_traces(workspace)) == {MARK}


def test_the_marks_are_really_where_the_host_could_read_them(ledger: SynLedger) -> None:
    benchmark = marked(ledger)
    task = benchmark.tasks()[0]
    assert MARK in benchmark.role_of(task)
    assert all(MARK in name for name in benchmark.variants())
    assert benchmark.task(task).answer == ANSWER
    assert all(MARK in document.kind for document in benchmark.task(task).documents)
    assert benchmark.score(task, str(ANSWER)) == 1.0
