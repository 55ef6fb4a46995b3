"""What a model replied, as it may go into a history, a trace, a transcript and the ledger.

Every reply of every provider passes here. Texts are valid Unicode without the key, arguments are plain JSON or a text,
counts are believable or unknown. A model that writes rubbish has said something; it ends nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from chase.core.outside import MOST_TOKENS, MOST_USD, NotPlain, plain, valid_unicode
from chase.core.values import Json

MOST_CALLS = 64
"""Tool calls of one reply that are looked at. No benchmark lets a rollout make so many."""
LONGEST_NAME = 200
"""Characters of what an endpoint calls its model and its response."""

Redact = Callable[[str], str]
_COUNTS = tuple(field.name for field in fields(RequestUsage) if field.name.endswith("_tokens"))


def sound(response: ModelResponse, *, redact: Redact, redact_names: Redact) -> tuple[ModelResponse, int]:
    """The response as it can be kept, and how many of its calls were dropped: those beyond `MOST_CALLS`.

    `redact` blanks the endpoint's own key, `redact_names` everything that may be one, which ordinary text may resemble.
    """
    parts, dropped = _few_calls(response.parts)
    kept = [_sound_part(part, redact) for part in parts]
    details = response.provider_details
    return (
        replace(
            response,
            parts=kept,
            usage=sound_usage(response.usage),
            model_name=_name(response.model_name, redact_names),
            provider_response_id=_name(response.provider_response_id, redact_names),
            provider_details=None if details is None else _sound_json(details, redact_names),
        ),
        dropped,
    )


def sound_usage(usage: RequestUsage) -> RequestUsage:
    """The usage if every count can be one; else an unmeasured request."""
    cost = usage.cost
    counts = [getattr(usage, name) for name in _COUNTS] + list(usage.details.values())
    priced = cost is None or (math.isfinite(cost) and 0 <= cost <= MOST_USD)
    return usage if priced and all(map(_is_count, counts)) else RequestUsage(unmeasured_requests=1)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and 0 <= value <= MOST_TOKENS


def _few_calls(parts: Any) -> tuple[list[Any], int]:
    calls = [place for place, part in enumerate(parts) if isinstance(part, ToolCallPart)]
    beyond = set(calls[MOST_CALLS:])
    return [part for place, part in enumerate(parts) if place not in beyond], len(beyond)


def _sound_part(part: Any, redact: Redact) -> Any:
    if isinstance(part, TextPart | ThinkingPart):
        content = redact(valid_unicode(part.content))
        return part if content == part.content else replace(part, content=content)
    if not isinstance(part, ToolCallPart):
        return part
    name, arguments = redact(valid_unicode(part.tool_name)), _sound_json(part.args, redact)
    if name == part.tool_name and arguments == part.args and part.tool_call_id.isascii():
        return part
    return replace(part, tool_name=name, args=arguments, tool_call_id=valid_unicode(part.tool_call_id))


def _sound_json(value: Json, redact: Redact) -> Json:
    """Plain JSON without keys; of what is none, the reason in brackets, which is no JSON object either."""
    try:
        return _redacted(plain(value), redact)
    except NotPlain as error:
        return f"({error})"


def _redacted(value: Json, redact: Redact) -> Json:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _redacted(item, redact) for key, item in value.items()}
    return [_redacted(item, redact) for item in value] if isinstance(value, list) else value


def _name(name: str | None, redact: Redact) -> str | None:
    return None if name is None else redact(valid_unicode(name))[:LONGEST_NAME]
