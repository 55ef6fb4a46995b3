"""Chat completions, coming in: a response body as a message, or as the error that it is. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic_ai.messages import (
    FinishReason,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage
from pydantic_core import from_json

from chase.core.outside import NotPlain, parse_json
from chase.core.values import Json
from chase.models.config import OPENAI_COMPATIBLE
from chase.models.json_tools import read_reply
from chase.models.replies import MOST_CALLS
from chase.models.wire_requests import THINKING_FIELDS

MOST_BYTES = 32 << 20
"""Of a reply, decompressed. A model's longest is a few hundred KiB."""
_FINISH_REASONS: Mapping[str, FinishReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "content_filter": "content_filter",
}


class NotACompletion(Exception):
    """The body is no completion. The message says why; `body` is its JSON, if it is JSON at all."""

    def __init__(self, why: str, body: Json = None) -> None:
        super().__init__(why)
        self.body = body


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoder:
    """Reads response bodies of one model at one endpoint."""

    model: str
    base_url: str

    def decode(self, body: bytes, *, turn: int, by_schema: bool = False) -> ModelResponse:
        """The response in a body, or `NotACompletion`.

        `turn` makes call ids where the server gave none. `by_schema` says that calls come as JSON text.
        """
        data = _read_json(body)
        choice = _first_choice(data)
        message = choice.get("message")
        if not isinstance(message, dict):
            raise NotACompletion("the choice has no message", data)
        refusal = message.get("refusal")
        served = data.get("model")
        return ModelResponse(
            parts=[] if refusal else _parts(message, turn, by_schema),
            usage=read_usage(data.get("usage")),
            model_name=served if isinstance(served, str) and served else self.model,
            provider_name=OPENAI_COMPATIBLE,
            provider_url=self.base_url,
            provider_details={"refusal": refusal if isinstance(refusal, str) else "refused"} if refusal else None,
            provider_response_id=data["id"] if isinstance(data.get("id"), str) else None,
            finish_reason="content_filter" if refusal else _FINISH_REASONS.get(str(choice.get("finish_reason"))),
        )


def _read_json(body: bytes) -> Json:
    """The body's JSON. Half a surrogate pair in a text, which not every reader takes, becomes a question mark."""
    try:
        return from_json(body)
    except ValueError:
        pass
    try:
        return parse_json(body)
    except NotPlain as error:
        raise NotACompletion(f"the body is not complete JSON ({error})") from None


def read_usage(usage: Json) -> RequestUsage:
    """Token counts as reported; `unmeasured_requests` is 1 where the server reported none that can be true."""
    prompt = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    if not isinstance(usage, dict) or not isinstance(prompt, int) or isinstance(prompt, bool) or prompt < 0:
        return RequestUsage(unmeasured_requests=1)
    cached = _nested(usage, "prompt_tokens_details", "cached_tokens") or usage.get("prompt_cache_hit_tokens")
    return RequestUsage(
        input_tokens=prompt,
        cache_read_tokens=min(prompt, _count(cached)),
        output_tokens=_count(usage.get("completion_tokens")),
        output_reasoning_tokens=_count(_nested(usage, "completion_tokens_details", "reasoning_tokens")),
    )


def _first_choice(data: Json) -> Mapping[str, Json]:
    if not isinstance(data, dict):
        raise NotACompletion("the body is not a JSON object", data)
    if data.get("error"):
        raise NotACompletion("the body is an error", data)
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise NotACompletion("the body has no choices", data)
    return choices[0]


def _parts(message: Mapping[str, Json], turn: int, by_schema: bool) -> list[ModelResponsePart]:
    parts: list[ModelResponsePart] = []
    for field in THINKING_FIELDS:
        if isinstance(message.get(field), str) and message[field]:
            parts.append(ThinkingPart(message[field], id=field, provider_name=OPENAI_COMPATIBLE))
            break
    if text := _text(message.get("content")):
        parts.append(read_reply(text, call_id=f"call_{turn}_0") if by_schema else TextPart(text))
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise NotACompletion("its tool calls are no list", message)
    # One more than is looked at, so that it is known that there were more.
    some = calls[: MOST_CALLS + 1]
    parts.extend(_call(call, f"call_{turn}_{index}") for index, call in enumerate(some, start=1))
    return parts


def _text(content: Json) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [item.get("text") for item in content if isinstance(item, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _call(call: Json, made_up_id: str) -> ToolCallPart:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise NotACompletion("a tool call has no function", call)
    name = function.get("name")
    arguments = function.get("arguments")
    given_id = call.get("id")
    return ToolCallPart(
        # A call of nothing is the model's mistake, to be refused and counted, as that of an unknown tool is.
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, str | dict) else "",
        tool_call_id=given_id if isinstance(given_id, str) and given_id else made_up_id,
    )


def _nested(data: Mapping[str, Json], outer: str, inner: str) -> Json:
    details = data.get(outer)
    return details.get(inner) if isinstance(details, dict) else None


def _count(value: Json) -> int:
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0
