"""No harness changes a benchmark's limits, and whatever one does is in the trace: random harnesses, random agents."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ToolReturnPart, UserPromptPart

from chase.benchmarks.syn_ledger.tools import LIMITS
from chase.core.errors import UserError
from chase.core.values import Rollout
from chase.engine.rollout import Job
from chase.engine.trace import result_text
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness, Structure
from chase.testing.scripted import Call, Request, ScriptedModel, Step, scripted
from tests.conftest import open_once
from tests.engine.rollouts import events, make_harness, make_job, roll, tool_events
from tests.harness import samples

FROZEN = json.dumps(asdict(LIMITS), sort_keys=True)

structures = st.builds(
    Structure,
    benchmark=st.just("syn-ledger"),
    answer=st.just("integer"),
    retrieval=samples.retrievals,
    tools=samples.tools,
    control=samples.controls,
)
harnesses = st.builds(
    Harness, structure=structures, prompt=st.just("Answer."), memory=samples.texts, guidance=samples.guidance
)

queries = st.sampled_from(["approved", "appropriation FY2045", "", "no such words at all", "the of"])
calls = st.one_of(
    st.builds(lambda query: Call("search", {"query": query}), queries),
    st.builds(lambda query, limit: Call("search", {"query": query, "limit": limit}), queries, st.integers(-2, 14)),
    st.builds(lambda place: Call("open_file", {"file": str(place)}), st.integers(0, 11)),
    st.just(Call("list_files")),
    st.just(Call("calculator", {"expression": "1 + 1"})),
    st.just(Call("nonsense", "{")),
)
turns = st.lists(st.one_of(st.lists(calls, min_size=1, max_size=5), st.sampled_from(["", "7", "so"])), max_size=20)

PLANNING = (
    "def plan(task):\n    return {'queries': ['a b', 'c', 'd', 'e'], 'note': 'x'}\n"
    "def rewrite_query(query, state):\n    state['calls_left']['search'] = 99\n    return query + ' approved'\n"
    "def rerank(hits, state):\n    return list(range(len(hits)))[::-1]\n"
    "def after_tool(tool, result, state):\n    return 'more'\n"
    "def should_stop(state):\n    return False\n"
    "def check_answer(answer, state):\n    return 'again'\n"
)


def agent(script: list[Any]) -> Any:
    """Follows the script, then answers. A number for a file means the place in the task's list of documents."""

    def step(request: Request) -> Step:
        if request.turn >= len(script):
            return "7"
        turn = script[request.turn]
        return turn if isinstance(turn, str) else [real_file(each) for each in turn]

    return step


def real_file(call: Call) -> Call:
    if call.tool != "open_file" or not isinstance(call.arguments, dict):
        return call
    ledger = open_once("syn-ledger@7")
    documents = ledger.task(ledger.tasks("evo")[0]).documents
    return Call("open_file", {"file": documents[int(call.arguments["file"])].id})


def run(harness: Harness, script: list[Any]) -> tuple[Job, Rollout, ScriptedModel]:
    job = make_job(open_once("syn-ledger@7"), harness)
    model = scripted(agent(script))
    return job, asyncio.run(roll(job, model)), model


def assert_within_limits(rollout: Rollout, model: ScriptedModel) -> None:
    done = Counter(LIMITS.tool_groups[event["tool"]] for event in tool_events(rollout) if event["ok"])
    for group, count in done.items():
        assert count <= LIMITS.group_calls[group], (group, count)
    assert done.total() <= LIMITS.total_calls
    assert len(model.requests) <= LIMITS.steps
    assert json.dumps(asdict(LIMITS), sort_keys=True) == FROZEN


def assert_trace_is_complete(rollout: Rollout, model: ScriptedModel) -> None:
    """Everything that the model read is in the trace, in the order in which it read it."""
    if not model.requests:
        return
    parts = [part for message in model.requests[-1].messages for part in message.parts]
    read = [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]
    told = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
    recorded = [text for event in rollout.trace["events"] for text in results(event)]
    places = iter(recorded)
    assert all(text in places for text in read)
    spoken = [str(event["text"]) for kind in ("note", "objection") for event in events(rollout, kind)]
    assert Counter(told[1:]) <= Counter(spoken)
    assert told[0] == rollout.trace["question"]


def results(event: Mapping[str, Any]) -> list[str]:
    return [result_text(event)] if event["event"] == "tool" else [event["text"]] if event["event"] == "given" else []


@settings(max_examples=120)
@given(harness=harnesses, script=turns)
def test_no_harness_gets_more_calls_or_turns_than_the_benchmark_allows(harness: Harness, script: list[Any]) -> None:
    try:
        check_for_benchmark(harness, open_once("syn-ledger@7"))
    except UserError:
        assume(False)
    _, rollout, model = run(harness, script)
    assert rollout.outcome.status == "scored"
    assert_within_limits(rollout, model)
    assert_trace_is_complete(rollout, model)
    assert json.loads(json.dumps(rollout.trace, allow_nan=False)) == rollout.trace


@settings(max_examples=15)
@given(script=turns)
def test_no_hook_gets_more_calls_either(script: list[Any]) -> None:
    harness = make_harness(
        source=PLANNING,
        retrieval={"templates": ["{periods}"], "relax_below": 12},
        tools={"open_first": 6, "read_on": {"when": "always"}},
    )
    _, rollout, model = run(harness, script)
    assert rollout.outcome.status == "scored"
    assert_within_limits(rollout, model)
    assert_trace_is_complete(rollout, model)
    assert all(event["failure"] is None for event in events(rollout, "hook"))


def test_the_same_rollout_twice_is_the_same_trace() -> None:
    harness = make_harness(source=PLANNING, retrieval={"templates": ["{entity} {periods}"], "merge": "round-robin"})
    script: list[Any] = [[Call("search", {"query": "approved"}), Call("open_file", {"file": "3"})], "so", "7"]
    first, second = run(harness, script)[1], run(harness, script)[1]
    assert first.trace == second.trace
