"""The engine on a benchmark unlike Syn-Ledger: it knows tools by purpose, and results by what they show."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic_ai.messages import ToolReturnPart, UserPromptPart

from chase.core.values import Rollout
from chase.engine.trace import read_item, result_text
from chase.harness.spec import Activation, Control, Guidance, Preference, ReadOn, Retrieval, Tools
from chase.testing.scripted import Script, ScriptedModel, call
from tests.engine.pages import RENAMED, YEARS, Names, Pages, page_harness, page_job
from tests.engine.rollouts import events, follow, tool_events

ANSWER = "It says so."


def returns(model: ScriptedModel) -> list[str]:
    """What the model read of tools in its last turn."""
    parts = [part for message in model.requests[-1].messages for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, ToolReturnPart)]


def told(model: ScriptedModel) -> list[str]:
    parts = [part for message in model.requests[-1].messages for part in message.parts]
    return [str(part.content) for part in parts if isinstance(part, UserPromptPart)][1:]


def hits(text: str, page: str = "page") -> list[str]:
    return [hit[page] for hit in json.loads(text)["hits"]]


async def rolled(script: Script, pages: Any = None, **fields: Any) -> tuple[Rollout, ScriptedModel]:
    return await follow(page_job(page_harness(**fields), pages), script)


@pytest.mark.parametrize("names", [Names(), RENAMED], ids=["released", "renamed"])
async def test_policies_act_through_whatever_the_tools_are_called(names: Names) -> None:
    rollout, model = await rolled(
        [ANSWER],
        Pages(names),
        retrieval=Retrieval(templates=("{subject} {years}",), merge="round-robin"),
        tools=Tools(open_first=2, read_on=ReadOn(when="always")),
    )
    assert [(event["tool"], event["arguments"], event["by"]) for event in tool_events(rollout)] == [
        (names.find, {names.words: "tax report 2019"}, "harness"),
        (names.find, {names.words: "tax report 2020"}, "harness"),
        (names.read, {names.page: "p1"}, "harness"),
        (names.read, {names.page: "p1", "part": 1}, "harness"),
        (names.read, {names.page: "p2"}, "harness"),
        (names.read, {names.page: "p2", "part": 1}, "harness"),
    ]
    _, merged, first, second = (json.loads(text) for text in returns(model))
    assert merged["message"] == "All results, merged:"
    assert [hit[names.page] for hit in merged["hits"]] == list(YEARS)
    assert [hit[names.body] for hit in first["hits"]] == ["part 0 of p1", "part 1 of p1"]
    assert [hit[names.body] for hit in second["hits"]] == ["part 0 of p2", "part 1 of p2"]


async def test_a_json_result_reaches_the_model_and_the_trace_as_it_came() -> None:
    rollout, model = await rolled([call("find", words="tax"), call("read", page="p3", part=2), ANSWER])
    found, read = tool_events(rollout)
    assert returns(model) == [result_text(found), result_text(read)]
    assert json.loads(result_text(read)) == {"hits": [{"page": "p3", "part": 2, "body": "part 2 of p3"}]}
    assert read["items"][0]["text_field"] == "body"
    assert read_item(read["items"][0]).text == "part 2 of p3"
    assert [read_item(item).fields["year"] for item in found["items"]] == list(YEARS.values())
    assert not events(rollout, "given")
    assert json.loads(json.dumps(rollout.trace, allow_nan=False)) == rollout.trace


@pytest.mark.parametrize("rank", [(), (Preference(observable="year", prefer="high", weight=100),)])
async def test_results_are_cut_where_the_tool_has_no_limit(rank: tuple[Preference, ...]) -> None:
    rollout, model = await rolled([call("find", words="tax"), ANSWER], retrieval=Retrieval(results=2, rank=rank))
    [event] = tool_events(rollout)
    assert event["arguments"] == {"words": "tax"}
    assert hits(result_text(event)) == list(YEARS)
    assert hits(returns(model)[0]) == (["p2", "p3"] if rank else ["p1", "p2"])
    assert [given["text"] for given in events(rollout, "given")] == returns(model)
    _, free = await rolled([call("find", words="tax"), ANSWER])
    assert hits(returns(free)[0]) == list(YEARS)


async def test_a_hook_gets_the_fields_and_the_benchmarks_observables() -> None:
    source = (
        "def rerank(hits, state):\n"
        "    assert all(hit['fields']['year'] == hit['observables']['year'] for hit in hits)\n"
        "    assert all(hit['path'] == '' and hit['text'].startswith('{') for hit in hits)\n"
        "    return sorted(range(len(hits)), key=lambda place: hits[place]['fields']['year'])\n"
    )
    rollout, model = await rolled([call("find", words="tax"), ANSWER], control_source=source)
    assert [event["failure"] for event in events(rollout, "hook")] == [None]
    assert hits(returns(model)[0]) == ["p4", "p1", "p3", "p2"]


async def test_a_refusal_by_the_harness_has_the_form_and_the_words_of_the_benchmark() -> None:
    script = [call("read", page="p1"), call("read", page="p2"), call("read", page="p1", part=1), ANSWER]
    rollout, model = await rolled(script, tools=Tools(opened_files=1))
    assert [(event["ok"], event["by"]) for event in tool_events(rollout)] == [
        (True, "model"),
        (False, "harness"),
        (True, "model"),
    ]
    assert json.loads(returns(model)[1]) == {"message": "4 page-opening calls are left and may open no further page."}
    held, model = await rolled([call("read", page=page) for page in YEARS] + [ANSWER], tools=Tools(reserved_reads=2))
    assert [event["ok"] for event in tool_events(held)] == [True, True, True, False]
    assert "2 page-opening calls are left and are kept for reading on in pages already opened." in returns(model)[-1]


async def test_reading_on_ends_with_the_document_and_with_the_calls() -> None:
    rule = Tools(read_on=ReadOn(when="always"))
    rollout, _ = await rolled([call("read", page="p1", part=2), call("read", page="p2"), ANSWER], tools=rule)
    assert [event["arguments"].get("part", 0) for event in tool_events(rollout)] == [2, 0, 1]
    spent, _ = await rolled([call("read", page=page) for page in ("p1", "p2", "p3")] + [ANSWER], tools=rule)
    assert len(tool_events(spent)) == 5


async def test_policies_without_their_tool_do_nothing() -> None:
    fields: dict[str, Any] = {"retrieval": Retrieval(templates=("{subject}",)), "tools": Tools(open_first=2)}
    neither, _ = await rolled([ANSWER], Pages(searches=False, opens=False), **fields)
    assert tool_events(neither) == []
    unopened, _ = await rolled([ANSWER], Pages(opens=False), **fields)
    assert [event["tool"] for event in tool_events(unopened)] == ["find"]
    passed_on, model = await rolled([call("find", words="tax"), ANSWER], Pages(searches=False), **fields)
    assert returns(model) == [result_text(event) for event in tool_events(passed_on)]


async def test_the_answer_form_is_the_benchmarks() -> None:
    rollout, model = await rolled(["so it is", ANSWER], control=Control(repairs=1))
    assert rollout.answer == ANSWER
    assert "Answer in one sentence." in model.requests[0].texts()[0]
    assert told(model) == ["Write a sentence."]


async def test_guidance_counts_the_benchmarks_values_and_looks_at_no_word_that_tells_tasks_apart() -> None:
    def module(name: str, **when: Any) -> Guidance:
        return Guidance(name=name, when=Activation(**when), text=f"{name}.")

    modules = (
        module("two", values_at_least={"years": 2}),
        module("three", values_at_least={"years": 3}),
        module("say", question_has_any=("say",)),
        module("tax", question_has_any=("tax",)),
    )
    rollout, _ = await rolled([ANSWER], guidance=modules)
    assert events(rollout, "prompt")[0]["guidance"] == ["say", "two"]
