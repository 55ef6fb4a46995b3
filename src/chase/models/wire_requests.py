"""Chat completions, going out: a history of messages as a request body. No I/O."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json as _to_json

from chase.core.errors import UserError
from chase.core.values import Json
from chase.models.config import OPENAI_COMPATIBLE, ToolMode
from chase.models.json_tools import FINAL_ANSWER, call_text, instructions, response_format, result_text

THINKING_FIELDS = ("reasoning", "reasoning_content")
"""Where servers put a model's reasoning. It is sent back in the field that it came in."""

Item = dict[str, Json]
"""One message as the endpoint sees it."""


def to_json(value: Json) -> bytes:
    """Compact UTF-8 JSON. Half a surrogate pair, which UTF-8 cannot carry, becomes a question mark."""
    try:
        return _to_json(value)
    except ValueError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


class Encoder:
    """Writes request bodies for one set of tools. A message is serialised once, however often it is sent.

    Messages are recognised by identity and must not be changed once they were sent; a part that is added to
    one is noticed, a part that is changed in place is not.
    """

    def __init__(self, tools: Sequence[ToolDefinition], tool_mode: ToolMode) -> None:
        self.by_schema = tool_mode == "json-schema" and bool(tools)
        """Whether calls go out, and come back, as JSON text."""
        self._instructions = instructions(tools) if self.by_schema else ""
        self._tail = to_json(self._tool_fields(tools))[1:]
        self._first = _IdentityCache(self._first_fragment)
        self._later = _IdentityCache(self._fragment)

    def encode(self, model: str, settings: Mapping[str, Json], messages: Sequence[ModelMessage]) -> bytes:
        """The body of one request."""
        head = to_json({"model": model, **settings})[:-1]
        later = self._later
        fragments = [self._first(messages[0])] if messages else []
        fragments += [later(message) for message in messages[1:]]
        body = b",".join([fragment for fragment in fragments if fragment])
        # The tail is the rest of an object: '}' alone, or its members.
        comma = b"" if self._tail == b"}" else b","
        return b"".join((head, b',"messages":[', body, b"]", comma, self._tail))

    def _tool_fields(self, tools: Sequence[ToolDefinition]) -> Item:
        if not tools:
            return {}
        if self.by_schema:
            return {"response_format": response_format(tools)}
        return {"tools": [{"type": "function", "function": _function(tool)} for tool in tools]}

    def _first_fragment(self, message: ModelMessage) -> bytes:
        if not self.by_schema:
            return self._fragment(message)
        items = self._items(message)
        count = next((i for i, item in enumerate(items) if item["role"] != "system"), len(items))
        # One system message: many chat templates refuse a second one.
        content = "\n\n".join([*(item["content"] for item in items[:count]), self._instructions])
        return _joined([{"role": "system", "content": content}, *items[count:]])

    def _fragment(self, message: ModelMessage) -> bytes:
        return _joined(self._items(message))

    def _items(self, message: ModelMessage) -> list[Item]:
        if isinstance(message, ModelRequest):
            return _request_items(message, self.by_schema)
        return _response_items(message, self.by_schema)


class _IdentityCache:
    """Remembers what was made of an object, for as long as the object lives."""

    def __init__(self, make: Callable[[ModelMessage], bytes]) -> None:
        self._make = make
        self._made: dict[int, tuple[weakref.ref[ModelMessage], int, bytes]] = {}

    def __call__(self, message: ModelMessage) -> bytes:
        key = id(message)
        entry = self._made.get(key)
        if entry is not None and entry[0]() is message and entry[1] == len(message.parts):
            return entry[2]
        made = self._make(message)
        self._made[key] = (weakref.ref(message, partial(self._forget, key)), len(message.parts), made)
        return made

    def _forget(self, key: int, dead: weakref.ref[ModelMessage]) -> None:
        entry = self._made.get(key)
        if entry is not None and entry[0] is dead:
            del self._made[key]


def _joined(items: Sequence[Item]) -> bytes:
    return b",".join([to_json(item) for item in items])


def _function(tool: ToolDefinition) -> Item:
    return {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.parameters_json_schema,
    }


def _request_items(message: ModelRequest, by_schema: bool) -> list[Item]:
    if message.instructions is not None:
        raise UserError(f"a history for '{OPENAI_COMPATIBLE}' has instructions: use a SystemPromptPart.")
    items: list[Item] = []
    results: list[str] = []
    for part in message.parts:
        if isinstance(part, SystemPromptPart):
            items.append({"role": "system", "content": part.content})
        elif isinstance(part, UserPromptPart):
            items.append({"role": "user", "content": _user_content(part)})
        elif isinstance(part, ToolReturnPart) and not part.files:
            text = part.model_response_str()
            if by_schema:
                results.append(result_text(part.tool_name, text))
            else:
                items.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": text})
        else:
            raise _unsendable(part)
    if results:
        # A model without tool messages reads results as the user's; together, since turns must alternate.
        items.insert(0, {"role": "user", "content": "\n\n".join(results)})
    return _alternating(items) if by_schema else items


def _alternating(items: Sequence[Item]) -> list[Item]:
    """The items with texts of the user that follow each other as one: strict chat templates refuse two."""
    joined: list[Item] = []
    for item in items:
        last = joined[-1] if joined else None
        texts = last is not None and isinstance(last["content"], str) and isinstance(item["content"], str)
        if last is not None and texts and last["role"] == item["role"] == "user":
            joined[-1] = {"role": "user", "content": f"{last['content']}\n\n{item['content']}"}
        else:
            joined.append(item)
    return joined


def _user_content(part: UserPromptPart) -> str | list[Item]:
    if isinstance(part.content, str):
        return part.content
    texts: list[Item] = []
    for item in part.content:
        if not isinstance(item, str):
            raise _unsendable(item)
        texts.append({"type": "text", "text": item})
    return texts


def _response_items(message: ModelResponse, by_schema: bool) -> list[Item]:
    texts: list[str] = []
    calls: list[Item] = []
    thinking: dict[str, list[str]] = {}
    for part in message.parts:
        if isinstance(part, TextPart):
            texts.append(call_text(FINAL_ANSWER, {"answer": part.content}) if by_schema else part.content)
        elif isinstance(part, ToolCallPart):
            if by_schema:
                texts.append(call_text(part.tool_name, part.args_as_dict()))
            else:
                calls.append(_call(part))
        elif isinstance(part, ThinkingPart):
            # Another provider's reasoning has no field here, and none that a model should read as its own.
            if part.id in THINKING_FIELDS and part.provider_name == OPENAI_COMPATIBLE:
                thinking.setdefault(part.id, []).append(part.content)
        else:
            raise _unsendable(part)
    if not texts and not calls:
        return []
    item: Item = {"role": "assistant", "content": "\n\n".join(texts) if texts else None}
    item.update({name: "\n\n".join(contents) for name, contents in thinking.items()})
    if calls:
        item["tool_calls"] = calls
    return [item]


def _call(part: ToolCallPart[Any]) -> Item:
    return {
        "id": part.tool_call_id,
        "type": "function",
        "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
    }


def _unsendable(part: object) -> UserError:
    kind = type(part).__name__
    return UserError(f"a history for '{OPENAI_COMPATIBLE}' holds a {kind}: send text and tool calls only.")
