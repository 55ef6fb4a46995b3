from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, TextPart, ToolCallPart, ToolReturnPart

from chase.core.errors import UserError
from chase.core.values import Json, ToolSpec
from chase.models.chat import request_parameters
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.models.json_tools import call_text, read_reply, response_format
from chase.testing.openai_server import Completion, OpenAIServer, schema_reply, text_reply


def config(url: str) -> ModelConfig:
    return ModelConfig(name="openai-compatible:small", base_url=url, tool_mode="json-schema")


async def test_a_model_without_tool_calls_uses_tools_and_answers(
    question: list[ModelMessage], tools: list[ToolSpec]
) -> None:
    def script(request: dict[str, Any], attempt: int) -> Completion:
        turn = sum(message["role"] == "assistant" for message in request["messages"])
        if turn < 2:
            return schema_reply("search", {"query": f"q{turn}"})
        return schema_reply("final_answer", {"answer": "42"})

    messages = list(question)
    async with OpenAIServer(script) as server, connect(config(server.url)) as chat:
        for turn in range(2):
            response = (await chat.request(messages, tools)).response
            call = response.tool_calls[0]
            assert (call.tool_name, call.args_as_dict()) == ("search", {"query": f"q{turn}"})
            messages += [response, ModelRequest(parts=[ToolReturnPart("search", "x.md", call.tool_call_id)])]
        last = (await chat.request(messages, tools)).response
    assert last.parts == [TextPart("42")]
    ids = [part.tool_call_id for message in messages for part in message.parts if isinstance(part, ToolCallPart)]
    assert len(set(ids)) == 2

    sent = server.requests[-1].json
    assert "tools" not in sent
    assert [message["role"] for message in sent["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert sent["messages"][0]["content"].startswith("Be careful.")
    assert "Search the documents." in sent["messages"][0]["content"]
    assert json.loads(sent["messages"][2]["content"]) == {"name": "search", "arguments": {"query": "q0"}}
    assert sent["messages"][3]["content"] == "Result of search:\nx.md"


def test_the_schema_takes_each_tool_and_the_answer_and_nothing_else(tools: list[ToolSpec]) -> None:
    schema = response_format(request_parameters(tools).function_tools)["json_schema"]["schema"]
    good = [
        {"name": "search", "arguments": {"query": "x"}},
        {"name": "open", "arguments": {"path": "x"}},
        {"name": "final_answer", "arguments": {"answer": "x"}},
        {"name": "final_answer", "arguments": {"answer": 5}},
    ]
    bad = [
        {"name": "search", "arguments": {"path": "x"}},
        {"name": "delete", "arguments": {}},
        {"name": "final_answer", "arguments": {"answer": [5]}},
        {"name": "search"},
        "x",
    ]
    validator = jsonschema.Draft202012Validator(schema)
    assert all(validator.is_valid(reply) for reply in good)
    assert not any(validator.is_valid(reply) for reply in bad)


@pytest.mark.parametrize(
    "text", ["42", "no JSON", '{"name": "sea', '{"arguments": {}}', '{"name": "final_answer", "arguments": {}}', "[]"]
)
def test_a_reply_that_is_no_call_stays_text(text: str) -> None:
    assert read_reply(text, call_id="c") == TextPart(text)


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        (68, "68"),
        (call_text("final_answer", {"answer": 68}), "68"),
        (call_text("search", {"query": "x"}), call_text("search", {"query": "x"})),
        ('{"name": 1}', '{"name": 1}'),
    ],
)
def test_an_answer_that_is_a_number_or_once_more_a_reply_is_read(written: Json, answer: str) -> None:
    """Small models write both; a call inside an answer stays what the model answered."""
    assert read_reply(call_text("final_answer", {"answer": written}), call_id="c") == TextPart(answer)


def test_arguments_that_are_no_object_are_left_to_the_tool() -> None:
    call = read_reply('{"name": "search", "arguments": [1]}', call_id="c")
    assert isinstance(call, ToolCallPart)
    assert call.args == "[1]"


async def test_a_history_with_native_calls_can_go_on_by_schema(
    history: list[ModelMessage], tools: list[ToolSpec]
) -> None:
    async with (
        OpenAIServer(lambda request, attempt: schema_reply("final_answer", {"answer": "7"})) as server,
        connect(config(server.url)) as chat,
    ):
        await chat.request(history, tools)
    roles = [message["role"] for message in server.requests[0].json["messages"]]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant", "user"]
    assert json.loads(server.requests[0].json["messages"][6]["content"])["arguments"] == {"answer": "7"}


async def test_without_tools_nothing_is_constrained(question: list[ModelMessage]) -> None:
    async with (
        OpenAIServer(lambda request, attempt: text_reply("hello")) as server,
        connect(config(server.url)) as chat,
    ):
        reply = await chat.request(question, [])
    assert reply.response.parts == [TextPart("hello")]
    assert "response_format" not in server.requests[0].json
    assert server.requests[0].json["messages"][0]["content"] == "Be careful."


async def test_a_tool_called_final_answer_is_refused(question: list[ModelMessage]) -> None:
    taken = ToolSpec(name="final_answer", description="", parameters={"type": "object"})
    async with (
        OpenAIServer(lambda request, attempt: text_reply("")) as server,
        connect(config(server.url)) as chat,
    ):
        with pytest.raises(UserError, match="rename the tool"):
            await chat.request(question, [taken])
