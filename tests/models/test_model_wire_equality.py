"""What our aiohttp path sends is what pydantic-ai's own OpenAI model sends for the same history."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from chase.core.values import ToolSpec
from chase.models.chat import request_parameters
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.testing.openai_server import Completion, OpenAIServer, text_reply, token_usage, tool_reply

SETTINGS: dict[str, Any] = {
    "temperature": 0.25,
    "seed": 7,
    "max_tokens": 64,
    "stop_sequences": ["END"],
    "top_p": 0.9,
    "extra_body": {"min_p": 0.1},
}


def peer(url: str) -> OpenAIChatModel:
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
    return OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="unused"), profile=profile)


def comparable(request: dict[str, Any]) -> dict[str, Any]:
    """A request without what says nothing: our peer names defaults and marks schemas as strict."""
    kept = {key: value for key, value in request.items() if key not in ("stream", "tool_choice")}
    for tool in kept.get("tools", ()):
        tool["function"].pop("strict", None)
    for message in kept["messages"]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return kept


@pytest.mark.parametrize("turns", range(1, 8))
async def test_both_send_the_same(turns: int, history: list[ModelMessage], tools: list[ToolSpec]) -> None:
    messages = history[:turns]
    async with OpenAIServer(lambda request, attempt: text_reply("ok")) as server:
        config = ModelConfig(name="openai-compatible:m", base_url=server.url, settings=SETTINGS)
        async with connect(config) as chat:
            await chat.request(messages, tools)
        await model_request(
            peer(server.url),
            messages,
            model_settings=cast(ModelSettings, SETTINGS),
            model_request_parameters=request_parameters(tools),
        )
    ours, theirs = (comparable(logged.json) for logged in server.requests)
    assert ours == theirs


async def test_both_read_the_same(question: list[ModelMessage], tools: list[ToolSpec]) -> None:
    answers = [
        tool_reply(("search", {"query": "ä"}), ("open", {"path": "p"}), usage=token_usage(50, 9, cached=20)),
        text_reply("7", usage=token_usage(80, 1, cached=48)),
    ]

    def script(request: dict[str, Any], attempt: int) -> Completion:
        return answers[any(message["role"] == "assistant" for message in request["messages"])]

    messages = list(question)
    async with (
        OpenAIServer(script) as server,
        connect(ModelConfig(name="openai-compatible:m", base_url=server.url)) as chat,
    ):
        for _ in range(2):
            ours = (await chat.request(messages, tools)).response
            theirs = await model_request(peer(server.url), messages, model_request_parameters=request_parameters(tools))
            assert ours.parts == theirs.parts
            assert ours.finish_reason == theirs.finish_reason
            assert ours.model_name == theirs.model_name
            assert ours.usage.input_tokens == theirs.usage.input_tokens
            assert ours.usage.cache_read_tokens == theirs.usage.cache_read_tokens
            assert ours.usage.output_tokens == theirs.usage.output_tokens
            results = [ToolReturnPart(call.tool_name, "r", call.tool_call_id) for call in ours.tool_calls]
            messages += [ours, ModelRequest(parts=results)]
