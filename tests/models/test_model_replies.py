"""Replies of any provider, as they are kept: few calls, valid texts, believable counts, no key."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from chase.models.replies import sound, sound_usage
from chase.models.secrets import Redactor

KEY = "sk-canary-7f3a9d51"


def kept(*parts: Any, **fields: Any) -> tuple[ModelResponse, int]:
    redact = Redactor.only([KEY])
    return sound(ModelResponse(parts=list(parts), **fields), redact=redact, redact_names=redact)


def test_calls_beyond_sixty_four_are_dropped_and_counted() -> None:
    calls = [ToolCallPart("search", {}, f"call-{number}") for number in range(1000)]
    response, dropped = kept(TextPart("so"), *calls)
    assert response.parts == [TextPart("so"), *calls[:64]]
    assert dropped == 1000 - 64
    assert kept(*calls[:64])[1] == 0


def test_texts_are_valid_and_hold_no_key() -> None:
    arguments = {"query": ["\ud800", KEY], KEY: 1}
    call = ToolCallPart(f"open {KEY}", arguments, "\udfff")
    response, _ = kept(TextPart(f"a \ud800 {KEY}"), ThinkingPart(KEY.upper()), call)
    text, thinking, made = response.parts
    assert text == TextPart("a ? ***")
    assert isinstance(thinking, ThinkingPart)
    assert thinking.content == "***"
    assert made == ToolCallPart("open ***", {"query": ["?", "***"], "***": 1}, "?")


def test_names_that_an_endpoint_gives_are_short_and_hold_no_key() -> None:
    response, _ = kept(
        model_name=f"model {KEY} " + "x" * 500, provider_response_id=KEY, provider_details={"refusal": [KEY]}
    )
    assert response.model_name == "model *** " + "x" * 190
    assert response.provider_response_id == "***"
    assert response.provider_details == {"refusal": ["***"]}


def test_arguments_that_are_no_plain_json_become_a_text() -> None:
    deep: Any = {}
    for _ in range(65):
        deep = {"a": deep}
    parts = kept(ToolCallPart("a", deep, "1"), ToolCallPart("a", {"x": float("nan")}, "2"))[0].parts
    assert [part.args for part in parts if isinstance(part, ToolCallPart)] == [
        "(nested deeper than 64 levels)",
        "(no JSON: it holds a number that is not finite)",
    ]


def test_a_good_reply_stays_as_it_is() -> None:
    parts = [TextPart("naïve"), ThinkingPart("so"), ToolCallPart("search", {"query": "x"}, "1")]
    response, _ = kept(*parts)
    assert all(before is after for before, after in zip(parts, response.parts, strict=True))


@pytest.mark.parametrize(
    "usage",
    [
        RequestUsage(input_tokens=10**12 + 1),
        RequestUsage(output_tokens=2**62),
        RequestUsage(input_tokens=1, cache_read_tokens=10**30),
        RequestUsage(input_tokens=-1),
        RequestUsage(input_tokens=1, details={"reasoning": 10**30}),
        RequestUsage(input_tokens=1, cost=Decimal("inf")),
        RequestUsage(input_tokens=1, cost=Decimal(-1)),
    ],
)
def test_a_count_that_cannot_be_is_no_report(usage: RequestUsage) -> None:
    assert sound_usage(usage) == RequestUsage(unmeasured_requests=1)


def test_a_count_that_can_be_is_believed() -> None:
    usage = RequestUsage(input_tokens=10**12, output_tokens=5, cost=Decimal("0.25"))
    assert sound_usage(usage) is usage
