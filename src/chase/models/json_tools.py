"""Tool calls by JSON schema, for models that cannot call tools: what is asked of them and how it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_ai.tools import ToolDefinition

from chase.core.errors import UserError
from chase.core.outside import NotPlain, parse_json
from chase.core.values import Json

FINAL_ANSWER = "final_answer"
"""The alternative by which a model ends: its text is the answer."""


def response_format(tools: Sequence[ToolDefinition]) -> Json:
    """The schema that a reply has to match: one call of one tool, or the final answer."""
    if any(tool.name == FINAL_ANSWER for tool in tools):
        raise UserError(f"tool name='{FINAL_ANSWER}' is taken in tool_mode 'json-schema': rename the tool.")
    answer = {
        "type": "object",
        "properties": {"answer": {"type": ["string", "number"]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    calls = [_alternative(tool.name, tool.parameters_json_schema) for tool in tools]
    schema = {"anyOf": [*calls, _alternative(FINAL_ANSWER, answer)]}
    return {"type": "json_schema", "json_schema": {"name": "next_step", "schema": schema}}


def instructions(tools: Sequence[ToolDefinition]) -> str:
    """What the system prompt says of the tools: most servers constrain by a schema without showing it."""
    lines = [
        "Reply with exactly one JSON object and nothing else. To use a tool, reply "
        '{"name": TOOL, "arguments": ARGUMENTS}; its result comes in the next message. '
        f'To finish, reply {{"name": "{FINAL_ANSWER}", "arguments": {{"answer": TEXT}}}}.',
        "Tools:",
    ]
    for tool in tools:
        schema = json.dumps(tool.parameters_json_schema, ensure_ascii=False)
        lines.append(f"- {tool.name}: {tool.description or ''} Arguments: {schema}")
    return "\n".join(lines)


def call_text(name: str, arguments: Mapping[str, Json]) -> str:
    """An earlier call as the model wrote it."""
    return json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)


def result_text(name: str, result: str) -> str:
    """A tool's result as a message to the model."""
    return f"Result of {name}:\n{result}"


def read_reply(text: str, *, call_id: str) -> TextPart | ToolCallPart:
    """The call or the answer in a reply. What does not parse is the model's text, as it stands."""
    try:
        reply = parse_json(text)
    except NotPlain:
        return TextPart(text)
    if not isinstance(reply, dict) or not isinstance(reply.get("name"), str):
        return TextPart(text)
    arguments = reply.get("arguments", {})
    if reply["name"] != FINAL_ANSWER:
        # Arguments that are no object stay what they are: it is for the tool to refuse them.
        kept = arguments if isinstance(arguments, dict) else json.dumps(arguments)
        return ToolCallPart(reply["name"], kept, tool_call_id=call_id)
    answer = arguments.get("answer") if isinstance(arguments, dict) else None
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        return TextPart(json.dumps(answer))
    return TextPart(_unwrapped(answer) if isinstance(answer, str) else text)


def _unwrapped(answer: str) -> str:
    """The answer in an answer that is once more a whole reply, as small models write it; else as it stands."""
    try:
        inner = parse_json(answer)
    except NotPlain:
        return answer
    if not isinstance(inner, dict) or inner.get("name") != FINAL_ANSWER:
        return answer
    part = read_reply(answer, call_id="")
    return part.content if isinstance(part, TextPart) else answer


def _alternative(name: str, arguments: Mapping[str, Json]) -> Json:
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }
