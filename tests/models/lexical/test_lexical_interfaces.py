"""Tools under any names, results in any form, messages of any kind."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from tests.models.lexical.documents import DOCUMENTS
from tests.models.lexical.library import Form, Library, ask

from chase.core.values import Json, ToolSpec
from chase.models.config import ModelConfig
from chase.models.connect import connect

QUESTION = "What were customs duties in fiscal year 1981, in millions of dollars?"
RENAMES = {"search": "zu", "read": "qua", "calculator": "mip", "query": "a1", "match": "a2", "limit": "a3"}
RENAMES |= {"document": "b1", "start": "b2", "end": "b3", "expression": "c1"}


def _wrapped(items: list[dict[str, Json]]) -> str:
    """Each text in an object of its own with a word beside it; all names changed."""
    shown = [
        {"k1": i["document"], "k2": i["name"], "k3": i["lines"], "k4": {"placement": "before", "k5": i["text"]}}
        for i in items
    ]
    return json.dumps({"k0": {"deeper": shown}})


def _by_lines(items: list[dict[str, Json]]) -> str:
    """A bare list; first and last line as numbers, the text as a list of lines."""
    shown: list[Json] = []
    for item in items:
        start, end = map(int, item["lines"].split("-"))
        shown.append({"n": 3, "from": start, "to": end, "id": item["document"], "body": item["text"].split("\n")})
    return json.dumps(shown)


def _plain(items: list[dict[str, Json]]) -> str:
    return "\n".join(f"{item['name']} [{item['document']}] matches\n{item['text']}" for item in items)


@pytest.mark.parametrize("form", [_wrapped, _by_lines, _plain])
def test_fields_are_recognised_by_what_they_hold(form: Form) -> None:
    assert ask(Library(documents=DOCUMENTS, form=form), QUESTION).answer == "8083"


@pytest.mark.parametrize("form", [_wrapped, _by_lines])
def test_a_table_that_a_passage_cuts_is_read_on_and_back_under_any_names(form: Form) -> None:
    library = Library(documents=DOCUMENTS, form=form, length=9, names=RENAMES)
    told = ask(library, QUESTION)
    assert told.answer == "8083"
    assert [call["b1"] for call in told.made("qua")] == ["bcdfghjk"]


def test_what_a_hook_adds_after_a_json_result_is_no_part_of_it() -> None:
    library = Library(documents=DOCUMENTS, form=lambda items: json.dumps({"r": items}) + "\nRemember the unit.")
    assert ask(library, QUESTION).answer == "8083"


def test_a_taste_of_a_passage_is_opened() -> None:
    def shortened(items: list[dict[str, Json]]) -> str:
        read = bool(items) and "of" in items[0]
        return json.dumps({"r": items if read else [{**i, "text": i["text"].split("\n")[0][:40]} for i in items]})

    told = ask(Library(documents=DOCUMENTS, form=shortened), QUESTION)
    assert told.answer == "8083"
    assert told.made("read")


def test_a_tool_that_says_that_no_calls_are_left_is_left_alone() -> None:
    told = ask(Library(documents=DOCUMENTS, form=lambda _: '{"message": "No search calls are left."}'), QUESTION)
    assert len(told.made("search")) == 1


def test_the_same_messages_give_the_same_calls() -> None:
    library = Library(documents=DOCUMENTS, length=9)
    assert ask(library, QUESTION) == ask(library, QUESTION)


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_PIECES = st.lists(
    st.sampled_from(
        ["| a | 1980 |", "| --- | --- |", "| total | 1,2 |", "(In millions)", "", "what was total in 1980?", "q4 1980",
         "Read on.", "between 1700 and 2199", "the sum of a and b", "[", "{", "may", "0-0", "percent of", "| | |"]
    ) | st.text(max_size=20),
    max_size=8,
).map("\n".join)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(question=_PIECES, told=_PIECES, results=st.lists(_PIECES | _ANY.map(json.dumps), max_size=3), tools=_ANY)
def test_it_never_fails_whatever_it_is_told(question: str, told: str, results: list[str], tools: Json) -> None:
    messages: list[ModelMessage] = [ModelRequest(parts=[SystemPromptPart(told), UserPromptPart(question)])]
    for place, result in enumerate(results):
        call = ToolCallPart(("search", "read", "calculator")[place], {"document": "x", "start": 1}, f"c{place}")
        returned = ToolReturnPart(call.tool_name, result, f"c{place}")
        messages += [ModelResponse(parts=[call]), ModelRequest(parts=[returned])]
    odd = ToolSpec(
        name="odd", description="Find lists.", parameters={"type": "object", "properties": {"a": {"enum": tools}}}
    )

    async def reply() -> ModelResponse:
        return (
            await connect(ModelConfig(name="lexical")).request(messages, [*Library(documents={}).tools(), odd])
        ).response

    part = asyncio.run(reply()).parts[0]
    assert isinstance(part, ToolCallPart) or "\n" not in part.content  # type: ignore[union-attr]
