"""A model of this process behind the wire: `OpenAIServer(served(make_local(ModelConfig(name="sim:reader"))))`.

Each request is decoded to messages and tools, the model is asked, and its response goes back as a chat completion: a
run over HTTP with it is the run in this process, but for the way that the words took.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from chase.core.keyed import digest
from chase.core.values import Json, ToolSpec
from chase.models.chat import request_parameters
from chase.testing.openai_server import Completion, completion, token_usage

HARNESS_CALLS = "opening-"
"""How the ids of calls begin that a harness made for the model. A response of such calls has no model's name."""


def served(model: Model) -> Callable[[dict[str, Json], int], Awaitable[Completion]]:
    """A script that asks a model."""
    tool_sets: dict[str, ModelRequestParameters] = {}

    async def script(request: dict[str, Json], attempt: int) -> Completion:
        tools: Sequence[Json] = request.get("tools") or ()
        parameters = tool_sets.setdefault(digest(tools), request_parameters(read_tools(tools)))
        settings = cast(ModelSettings, {key: request[key] for key in ("seed", "temperature") if key in request})
        messages = read_messages(request["messages"], model.model_name)
        return write_response(await model.request(messages, settings, parameters), model.model_name)

    return script


def read_tools(tools: Sequence[Json]) -> list[ToolSpec]:
    """Tools as a request describes them."""
    functions = [tool["function"] for tool in tools]
    return [ToolSpec(name=f["name"], description=f["description"], parameters=f["parameters"]) for f in functions]


def read_messages(items: Sequence[Mapping[str, Any]], model_name: str) -> list[ModelMessage]:
    """The history in a request. What stands between two responses is one message."""
    messages: list[ModelMessage] = []
    parts: list[ModelRequestPart] = []
    tools: dict[str, str] = {}
    for item in items:
        if item["role"] != "assistant":
            parts.append(_request_part(item, tools))
            continue
        if parts:
            messages.append(ModelRequest(parts=parts))
            parts = []
        response = _response(item, model_name)
        tools |= {call.tool_call_id: call.tool_name for call in response.tool_calls}
        messages.append(response)
    return [*messages, ModelRequest(parts=parts)] if parts else messages


def _request_part(item: Mapping[str, Any], tools: Mapping[str, str]) -> ModelRequestPart:
    if item["role"] == "tool":
        call = item["tool_call_id"]
        return ToolReturnPart(tools.get(call, ""), item["content"], call)
    return SystemPromptPart(item["content"]) if item["role"] == "system" else UserPromptPart(item["content"])


def _response(item: Mapping[str, Any], model_name: str) -> ModelResponse:
    parts: list[ModelResponsePart] = [TextPart(item["content"])] if item.get("content") else []
    calls = item.get("tool_calls") or []
    parts += [ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"]) for call in calls]
    ours = bool(calls) and all(call["id"].startswith(HARNESS_CALLS) for call in calls)
    return ModelResponse(parts=parts, model_name=None if ours else model_name)


def write_response(response: ModelResponse, model_name: str) -> Completion:
    """A response as a chat completion."""
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": _arguments(part)},
        }
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    message: dict[str, Json] = {"content": text, **({"tool_calls": calls} if calls else {})}
    used = response.usage
    usage = token_usage(used.input_tokens, used.output_tokens, cached=used.cache_read_tokens)
    return completion(message, usage=usage, finish_reason="tool_calls" if calls else "stop", model=model_name)


def _arguments(call: ToolCallPart) -> str:
    """What the model wrote, valid or not."""
    return call.args if isinstance(call.args, str) else json.dumps(call.args or {})
