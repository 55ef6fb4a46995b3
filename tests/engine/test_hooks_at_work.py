"""Hooks of `control.py` in a rollout: each acts, and one that fails leaves the rollout going."""

from __future__ import annotations

import pytest
from pydantic_ai.messages import ToolReturnPart, UserPromptPart

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.values import Rollout
from chase.engine.control import SandboxLimits
from chase.engine.hooks import HOOKS
from chase.engine.trace import result_text
from chase.testing.scripted import ScriptedModel, Step, call, scripted
from tests.engine.rollouts import events, follow, make_harness, make_job, roll, tool_events

QUICK = SandboxLimits(call_steps=1000)


async def with_hooks(ledger: SynLedger, source: str, script: list[Step]) -> tuple[Rollout, ScriptedModel]:
    return await follow(make_job(ledger, make_harness(source=source)), script)


def returns(model: ScriptedModel) -> list[str]:
    parts = [part for message in model.requests[-1].messages for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]


def prompts(model: ScriptedModel) -> list[str]:
    parts = [part for message in model.requests[-1].messages for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart)]


async def test_plan_issues_counted_searches_and_a_note(ledger: SynLedger) -> None:
    source = (
        "def plan(task):\n"
        "    assert task['tools'] == ['list_files', 'search', 'open_file', 'calculator']\n"
        "    queries = [task['slots']['entity'][0] + ' ' + period for period in task['slots']['periods']]\n"
        "    return {'queries': queries, 'note': f\"{task['calls_left']['search']} searches\"}\n"
    )
    rollout, model = await with_hooks(ledger, source, ["1"])
    slots = ledger.slots(ledger.task(ledger.tasks("evo")[0]).question)
    searched = [event["arguments"]["query"] for event in tool_events(rollout, "search", "harness")]
    assert searched == [f"{slots['entity'][0]} {period}" for period in slots["periods"]]
    assert returns(model) == [result_text(event) for event in tool_events(rollout)]
    assert prompts(model)[1:] == ["4 searches"]
    assert [event["text"] for event in events(rollout, "note")] == ["4 searches"]


async def test_rewrite_query_changes_every_search(ledger: SynLedger) -> None:
    source = "def rewrite_query(query, state):\n    return f\"{query} {state['slots']['period'][0]} {state['step']}\"\n"
    script: list[Step] = [call("list_files"), call("search", query="approved"), "1"]
    rollout, _ = await with_hooks(ledger, source, script)
    period = ledger.slots(ledger.task(ledger.tasks("evo")[0]).question)["period"][0]
    [event] = tool_events(rollout, "search")
    assert event["arguments"]["query"] == f"approved {period} 1"
    assert event["asked"] == {"query": "approved"}


async def test_rerank_orders_all_hits_by_what_was_shown_of_them(ledger: SynLedger) -> None:
    source = (
        "def rerank(hits, state):\n"
        "    return sorted(range(len(hits)), key=lambda i: -hits[i]['observables']['hit-position'])\n"
    )
    rollout, model = await with_hooks(ledger, source, [call("search", query="approved", limit=3), "1"])
    [event] = tool_events(rollout)
    head, *lines = result_text(event).splitlines()
    assert len(lines) == 12
    assert returns(model)[0].splitlines() == [head, *lines[::-1][:3]]
    assert events(rollout, "given")[0]["text"] == returns(model)[0]


async def test_after_tool_adds_to_what_the_model_reads(ledger: SynLedger) -> None:
    source = (
        "def after_tool(tool, result, state):\n    return f'{tool}: {len(result)}' if tool == 'list_files' else None\n"
    )
    calls = [call("list_files"), call("calculator", expression="1 + 1")]
    rollout, model = await with_hooks(ledger, source, [calls, "1"])
    listing, sum_ = tool_events(rollout)
    assert returns(model) == [f"{result_text(listing)}\nlist_files: {len(result_text(listing))}", result_text(sum_)]
    assert [event["text"] for event in events(rollout, "given")] == returns(model)[:1]


async def test_should_stop_asks_for_the_answer_once(ledger: SynLedger) -> None:
    source = "def should_stop(state):\n    return state['calls_left']['search'] <= 2\n"
    rollout, model = await with_hooks(ledger, source, [call("list_files")] * 3 + ["1"])
    assert prompts(model)[1:] == ["10 calls are left. Answer now with what you have."]
    assert [event["value"] for event in events(rollout, "hook")] == [False, True, True]


async def test_check_answer_sends_the_first_answer_back_and_no_other(ledger: SynLedger) -> None:
    source = "def check_answer(answer, state):\n    return 'Really ' + answer + '?'\n"
    rollout, model = await with_hooks(ledger, source, ["1", "2"])
    assert prompts(model)[1:] == ["Really 1?"]
    assert rollout.answer == "2"
    assert len(events(rollout, "hook")) == 1
    accepting = "def check_answer(answer, state):\n    return None\n"
    rollout, model = await with_hooks(ledger, accepting, ["1"])
    assert rollout.answer == "1"


async def test_state_says_what_was_opened_and_globals_last_one_rollout(ledger: SynLedger) -> None:
    document = ledger.task(ledger.tasks("evo")[0]).documents[0].id
    source = (
        "calls = []\n"
        "def after_tool(tool, result, state):\n"
        "    calls.append(tool)\n"
        "    return f\"{len(calls)} {sorted(state['opened'].items())}\"\n"
    )
    harness = make_harness(source=source)
    script: list[Step] = [call("open_file", file=document), call("open_file", file=document), "1"]
    for _ in range(2):
        _, model = await follow(make_job(ledger, harness), script)
        assert [text.rsplit("\n", 1)[1] for text in returns(model)] == [
            f"1 [('{document}', 1)]",
            f"2 [('{document}', 2)]",
        ]


BODIES = {
    "raises": ("raise ValueError('no')", "error: ValueError"),
    "loops": ("\n    while True:\n        pass", "work-limit"),
    "wrong shape": ("return {'a': {'b': 1}}", "wrong-shape"),
}
ARGUMENTS = {name: ", ".join(hook.parameters) for name, hook in HOOKS.items()}


@pytest.mark.parametrize("fault", BODIES)
@pytest.mark.parametrize("hook", HOOKS)
async def test_a_failing_hook_leaves_the_rollout_going_with_the_failure_in_its_trace(
    ledger: SynLedger, hook: str, fault: str
) -> None:
    body, reason = BODIES[fault]
    right = str(ledger.task(ledger.tasks("evo")[0]).answer)
    script: list[Step] = [call("search", query="approved"), call("list_files"), right]
    job = make_job(ledger, make_harness(source=f"def {hook}({ARGUMENTS[hook]}):\n    {body}\n"))
    model = scripted(script)
    rollout = await roll(job, model, limits=QUICK)
    plain, plain_model = await follow(make_job(ledger), script)
    assert (rollout.outcome.score, rollout.outcome.reason) == (1.0, "answered")
    # Below the head, which counts what the search found before the harness cut it.
    bodies = [[text.splitlines()[1:] for text in returns(each)] for each in (model, plain_model)]
    assert bodies[0] == bodies[1]
    failures = events(rollout, "hook")
    assert failures
    assert all(event["hook"] == hook and event["value"] is None for event in failures)
    assert all(str(event["failure"]).startswith(reason) for event in failures)
    assert len(failures) == 1 if fault == "loops" else len(failures) >= 1
    if fault == "raises":
        assert failures[0]["detail"] == "line 2: no"
    assert plain.outcome.score == 1.0


async def test_a_control_file_that_fails_when_it_is_loaded_is_in_the_trace(ledger: SynLedger) -> None:
    source = "def plan(task):\n    return {'note': 'x'}\n\nraise RuntimeError('at load')\n"
    rollout, model = await with_hooks(ledger, source, ["1"])
    assert rollout.outcome.reason == "answered"
    [event] = events(rollout, "hook")
    assert (event["hook"], event["failure"]) == ("control.py", "error: RuntimeError")
    assert "at load" in event["detail"]
    assert prompts(model)[1:] == []


async def test_a_hook_draws_the_same_under_every_variant_and_another_in_another_rollout(ledger: SynLedger) -> None:
    source = "import random\ndef plan(task):\n    return {'note': str(random.random())}\n"
    harness = make_harness(source=source)

    async def note(**changes: object) -> str:
        rollout, _ = await follow(make_job(ledger, harness, **changes), ["1"])  # type: ignore[arg-type]
        return str(events(rollout, "note")[0]["text"])

    first = await note()
    assert await note() == first
    assert await note(variant="neutral") == first
    assert await note(index=1) != first
