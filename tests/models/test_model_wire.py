from __future__ import annotations

import gc
import json

import pytest
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from chase.core.errors import UserError
from chase.core.values import Json, ToolSpec
from chase.models.chat import request_parameters
from chase.models.wire_requests import Encoder
from chase.models.wire_responses import Decoder, NotACompletion, read_usage
from chase.testing.openai_server import completion, text_reply, token_usage, tool_reply

DECODER = Decoder(model="asked", base_url="http://x/v1")


def encoder(tools: list[ToolSpec], *, by_schema: bool = False) -> Encoder:
    return Encoder(request_parameters(tools).function_tools, "json-schema" if by_schema else "native")


def decoded(answer: Json) -> ModelResponse:
    return DECODER.decode(json.dumps(answer).encode(), turn=3)


def test_a_history_becomes_roles_contents_calls_and_results(tools: list[ToolSpec], history: list[ModelMessage]) -> None:
    body = json.loads(encoder(tools).encode("m", {"seed": 7}, history))
    assert body["model"] == "m"
    assert body["seed"] == 7
    assert [tool["function"]["name"] for tool in body["tools"]] == ["search", "open"]
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "tool", "assistant", "user"]
    assert body["messages"][1]["content"] == "How much was it in Mai – „total“?"
    assert body["messages"][4] == {
        "role": "assistant",
        "content": "Both look right.",
        "tool_calls": [
            {"id": "b1", "type": "function", "function": {"name": "open", "arguments": '{"path":"x.md"}'}},
            {"id": "b2", "type": "function", "function": {"name": "open", "arguments": '{"path":"y.md"}'}},
        ],
    }
    assert body["messages"][6] == {"role": "tool", "tool_call_id": "b2", "content": "no such file"}


def test_a_grown_history_is_encoded_as_if_it_were_new(tools: list[ToolSpec], history: list[ModelMessage]) -> None:
    grown = encoder(tools)
    for length in range(1, len(history) + 1):
        assert grown.encode("m", {}, history[:length]) == encoder(tools).encode("m", {}, history[:length])


def test_a_message_is_serialised_once_and_forgotten_when_it_is_gone(tools: list[ToolSpec]) -> None:
    used = encoder(tools)
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("a")]) for _ in range(5)]
    used.encode("m", {}, messages)
    assert len(used._later._made) == 4
    fragment = used._later(messages[1])
    assert used._later(messages[1]) is fragment
    messages.clear()
    gc.collect()
    assert not used._later._made
    assert not used._first._made


def test_a_part_that_is_added_to_a_message_is_sent(tools: list[ToolSpec]) -> None:
    used = encoder(tools)
    parts = [UserPromptPart("a")]
    messages: list[ModelMessage] = [ModelRequest(parts=parts)]
    used.encode("m", {}, messages)
    parts.append(UserPromptPart("b"))
    assert len(json.loads(used.encode("m", {}, messages))["messages"]) == 2


def test_what_a_model_said_goes_back_as_it_came() -> None:
    call = decoded(tool_reply(("search", {"query": "ä"}), ("open", {"path": "p"})))
    again = json.loads(encoder([]).encode("m", {}, [call]))["messages"]
    sent = [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in again[0]["tool_calls"]]
    assert sent == [("call_0", "search", {"query": "ä"}), ("call_1", "open", {"path": "p"})]
    text = decoded(text_reply("7"))
    assert json.loads(encoder([]).encode("m", {}, [text]))["messages"] == [{"role": "assistant", "content": "7"}]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_goes_back_in_the_field_that_it_came_in(field: str) -> None:
    response = decoded(completion({"content": "7", field: "3 and 4"}, usage=token_usage()))
    assert isinstance(response.parts[0], ThinkingPart)
    assert response.text == "7"
    sent = json.loads(encoder([]).encode("m", {}, [response]))["messages"]
    assert sent == [{"role": "assistant", "content": "7", field: "3 and 4"}]


def test_an_empty_response_is_not_sent_back(question: list[ModelMessage]) -> None:
    body = json.loads(encoder([]).encode("m", {}, [*question, ModelResponse(parts=[])]))
    assert [message["role"] for message in body["messages"]] == ["system", "user"]


def test_half_a_surrogate_pair_does_not_stop_a_request() -> None:
    body = encoder([]).encode("m", {}, [ModelRequest(parts=[UserPromptPart("a\ud800b")])])
    assert json.loads(body)["messages"][0]["content"] == "a?b"


@pytest.mark.parametrize(
    "message",
    [
        ModelRequest(parts=[UserPromptPart([ImageUrl("http://x/y.png")])]),
        ModelRequest(parts=[UserPromptPart("a")], instructions="b"),
        ModelRequest(parts=[ToolReturnPart("t", [ImageUrl("http://x/y.png")], "c")]),
    ],
)
def test_what_cannot_be_sent_is_refused_and_not_dropped(message: ModelRequest) -> None:
    with pytest.raises(UserError):
        encoder([]).encode("m", {}, [message])


def test_usage_counts_cached_tokens_within_the_input() -> None:
    usage = decoded(text_reply("x", usage=token_usage(100, 7, cached=60))).usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (100, 60, 7)
    assert not usage.unmeasured_requests


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        "none",
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": -5},
        {"prompt_tokens": True},
    ],
)
def test_usage_that_was_not_reported_is_unmeasured(usage: Json) -> None:
    assert read_usage(usage).unmeasured_requests == 1


def test_usage_with_odd_details_keeps_what_is_readable() -> None:
    usage = read_usage({"prompt_tokens": 5, "completion_tokens": None, "prompt_tokens_details": None})
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (5, 0, 0)
    assert read_usage({"prompt_tokens": 5, "prompt_cache_hit_tokens": 4}).cache_read_tokens == 4
    absurd = read_usage({"prompt_tokens": 5, "prompt_cache_hit_tokens": 10**12, "completion_tokens": -3})
    assert (absurd.cache_read_tokens, absurd.output_tokens) == (5, 0)


def test_half_a_surrogate_pair_in_a_reply_is_a_question_mark_and_no_fault() -> None:
    body = json.dumps(text_reply("half \ud800 a pair")).encode()
    assert b"\\ud800" in body
    [part] = DECODER.decode(body, turn=1).parts
    assert part.content == "half ? a pair"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("stop", "stop"), ("length", "length"), ("tool_calls", "tool_call"), ("content_filter", "content_filter")],
)
def test_finish_reasons_are_kept(reason: str, expected: str) -> None:
    assert decoded(completion({"content": "x"}, finish_reason=reason)).finish_reason == expected


def test_the_served_model_is_the_one_that_the_server_names() -> None:
    assert decoded(text_reply("x", model="m-2026")).model_name == "m-2026"
    assert decoded({**text_reply("x"), "model": None}).model_name == "asked"


def test_calls_without_an_id_get_one_that_the_turn_decides() -> None:
    answer = completion(
        {"tool_calls": [{"function": {"name": "a", "arguments": "{}"}}, {"function": {"name": "b", "arguments": {}}}]}
    )
    calls = [part for part in decoded(answer).parts if isinstance(part, ToolCallPart)]
    assert [call.tool_call_id for call in calls] == ["call_3_1", "call_3_2"]


def test_malformed_arguments_are_left_to_the_tool() -> None:
    answer = completion({"tool_calls": [{"id": "i", "function": {"name": "a", "arguments": "{broken"}}]})
    call = decoded(answer).parts[0]
    assert isinstance(call, ToolCallPart)
    assert call.args == "{broken"


def test_a_refusal_has_no_parts_and_says_so() -> None:
    response = decoded(completion({"content": None, "refusal": "no"}))
    assert not response.parts
    assert response.finish_reason == "content_filter"
    assert response.provider_details == {"refusal": "no"}


def test_content_in_pieces_is_joined() -> None:
    answer = completion({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})
    assert decoded(answer).parts == [TextPart("ab")]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b'{"choices": [{"mess',
        b"[]",
        b"null",
        b"{}",
        b'{"choices": []}',
        b'{"choices": [1]}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"tool_calls": [{"function": null}]}}]}',
        b'{"choices": [{"message": {"tool_calls": ["x"]}}]}',
        b'{"choices": [{"message": {"tool_calls": 5}}]}',
        b'{"error": {"message": "no"}}',
    ],
)
def test_what_is_no_completion_is_never_an_answer(body: bytes) -> None:
    with pytest.raises(NotACompletion):
        DECODER.decode(body, turn=1)


@pytest.mark.parametrize("function", [b"{}", b'{"name": null}', b'{"name": 5, "arguments": "{}"}'])
def test_a_call_of_nothing_is_the_models_mistake_and_not_the_servers(function: bytes) -> None:
    body = b'{"choices": [{"message": {"tool_calls": [{"function": ' + function + b"}]}}]}"
    [call] = DECODER.decode(body, turn=1).tool_calls
    assert call.tool_name == ""
