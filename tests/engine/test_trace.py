"""The trace of a rollout: what a person, a Proposer or a Challenger reads of it."""

from __future__ import annotations

import json

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.engine import trace
from chase.testing.scripted import call
from tests.engine.rollouts import events, follow, make_harness, make_job, tool_events


async def test_a_trace_tells_the_whole_story_in_order(ledger: SynLedger) -> None:
    source = "def after_tool(tool, result, state):\n    return 'noted' if tool == 'calculator' else None\n"
    harness = make_harness(
        source=source,
        retrieval={"templates": ["{entity}"]},
        tools={"open_first": 1},
        control={"repairs": 1, "answer_when_calls_left": 9},
    )
    script = [call("calculator", expression="2 + 2"), "four", "4"]
    rollout, _ = await follow(make_job(ledger, harness), script)
    story = [(event["event"], event.get("tool") or event.get("hook")) for event in rollout.trace["events"]]
    assert story == [
        ("prompt", None),
        ("tool", "search"),
        ("tool", "open_file"),
        ("model", None),
        ("tool", "calculator"),
        ("hook", "after_tool"),
        ("given", "calculator"),
        ("note", None),
        ("model", None),
        ("objection", None),
        ("model", None),
    ]
    assert rollout.trace["question"] == ledger.task(rollout.key.task).question
    assert (rollout.trace["answer"], rollout.trace["reason"], rollout.trace["score"]) == ("4", "answered", 0.0)


async def test_a_trace_holds_nothing_but_what_is_named_here(ledger: SynLedger) -> None:
    """What is added to it has to be thought about: role and variant must stay out."""
    rollout, _ = await follow(make_job(ledger), [call("search", query="approved"), "1"])
    assert set(rollout.trace) == {"version", "task", "question", "events", "answer", "reason", "score"}
    keys = {event["event"]: set(event) - {"event"} for event in rollout.trace["events"]}
    assert keys == {
        "prompt": {"system", "user", "guidance"},
        "model": {"text", "calls"},
        "tool": {"by", "tool", "arguments", "ok", "coverage", "head", "items"},
    }
    assert rollout.trace["version"] == trace.VERSION


async def test_documents_in_a_trace_can_be_lined_up_by_id_and_place(ledger: SynLedger) -> None:
    document = ledger.task(ledger.tasks("evo")[0]).documents[4].id
    script = [call("list_files"), call("search", query="approved", limit=2), call("open_file", file=document), "1"]
    rollout, _ = await follow(make_job(ledger), script)
    listing, search, opened = (event["items"] for event in tool_events(rollout))
    assert [item["listing"] for item in listing] == list(range(12))
    assert [item["hit"] for item in search] == [0, 1]
    assert [(item["id"], item["window"]) for item in opened] == [(document, 0)]
    neutral, _ = await follow(make_job(ledger, variant="neutral"), script)
    assert {item["id"] for item in tool_events(neutral)[0]["items"]} == {item["id"] for item in listing}


async def test_what_the_model_wrote_is_kept_where_the_harness_changed_it(ledger: SynLedger) -> None:
    harness = make_harness(retrieval={"results": 1})
    rollout, _ = await follow(make_job(ledger, harness), [call("search", query="approved", limit=4), "1"])
    [event] = tool_events(rollout)
    assert event["asked"] == {"query": "approved", "limit": 4}
    assert event["arguments"] == {"query": "approved", "limit": 1}
    assert events(rollout, "model")[0]["calls"] == [{"tool": "search", "arguments": event["asked"]}]


async def test_a_trace_is_plain_json(ledger: SynLedger) -> None:
    rollout, _ = await follow(make_job(ledger), [call("search", query="approved"), "1"])
    assert json.loads(json.dumps(rollout.trace, allow_nan=False)) == rollout.trace
