"""The trace of a rollout: what a person, a Proposer or a Challenger reads of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.values import JsonLayout, ResultItem, Sighting, ToolResult
from chase.engine import trace
from chase.engine.trace import Trace, read_item, result_text
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


# Items, written and read

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "chase.trace.show.json").read_text())

places = st.none() | st.integers(0, 3)
names = st.sampled_from(["doc", "text", "é"])
texts = st.sampled_from(["", "one", "one\ntwo", "\u2028", "é"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts, lambda v: st.lists(v, max_size=2), max_leaves=3
)
shown_items = st.builds(
    Sighting,
    id=st.sampled_from(["a", "b"]),
    path=st.sampled_from(["", "a/b.md"]),
    listing=places,
    hit=places,
    window=places,
    text=st.none() | texts,
    fields=st.dictionaries(names, values, max_size=3),
)
items = st.builds(ResultItem, shown=shown_items, line=st.none() | texts)
layouts = st.none() | st.builds(JsonLayout, items=st.sampled_from(["results", "hits"]), message=st.just("message"))
tool_results = st.builds(
    ToolResult, head=texts, items=st.lists(items, max_size=3).map(tuple), ok=st.booleans(), layout=layouts
)


def written(result: ToolResult) -> dict[str, object]:
    """The result's event, as it comes back from a store."""
    record = Trace("task", "question")
    record.add_tool("model", "search", {}, result)
    [event] = json.loads(json.dumps(record.events, allow_nan=False))
    return dict(event)


@given(tool_results)
def test_a_result_reads_the_same_from_its_trace(result: ToolResult) -> None:
    event = written(result)
    assert result_text(event) == result.text
    assert [read_item(item) for item in event["items"]] == [item.shown for item in result.items]  # type: ignore[attr-defined]


@given(tool_results)
def test_every_result_fits_the_published_schema(result: ToolResult) -> None:
    events = SCHEMA["properties"]["trace"]["oneOf"][1]["properties"]["events"]
    Draft202012Validator(events).validate([written(result)])


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (
            ResultItem(shown=Sighting(id="a", path="a.md", listing=0, listing_of=2), line="a.md [a]"),
            {"id": "a", "path": "a.md", "listing": 0, "line": "a.md [a]"},
        ),
        (
            ResultItem(shown=Sighting(id="a", path="a.md", window=0, text="whole"), line="whole"),
            {"id": "a", "path": "a.md", "window": 0, "line": "whole"},
        ),
        (
            ResultItem(shown=Sighting(id="a", path="a.md", window=0, text="whole"), line="1: whole"),
            {"id": "a", "path": "a.md", "window": 0, "line": "1: whole", "text": "whole"},
        ),
        (
            ResultItem(shown=Sighting(id="a", path="a", window=0, text="whole", fields={"doc": "a", "body": "whole"})),
            {"id": "a", "path": "a", "window": 0, "fields": {"doc": "a", "body": "whole"}, "text_field": "body"},
        ),
        (
            ResultItem(shown=Sighting(id="a", path="a", hit=0, text="part", fields={"snippet": "a part of"})),
            {"id": "a", "path": "a", "hit": 0, "fields": {"snippet": "a part of"}, "text": "part"},
        ),
    ],
)
def test_a_text_is_in_a_trace_once(item: ResultItem, expected: dict[str, object]) -> None:
    [found] = written(ToolResult(head="", items=(item,)))["items"]  # type: ignore[misc]
    assert found == expected


def test_a_layout_is_in_the_event_of_a_result_that_has_one() -> None:
    item = ResultItem(shown=Sighting(id="a", path="a", hit=0, fields={"doc": "a"}))
    event = written(ToolResult(head="1 found", items=(item,), layout=JsonLayout(items="hits")))
    assert event["layout"] == {"items": "hits", "message": "message"}
    assert result_text(event) == '{"message": "1 found", "hits": [{"doc": "a"}]}'
