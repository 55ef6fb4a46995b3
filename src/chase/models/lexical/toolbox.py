"""Which tool is for what, as descriptions and schemas say. Names mean nothing to the program."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.tools import ToolDefinition

from chase.core.values import Json

_PURPOSES = (
    ("compute", re.compile(r"\b(?:calculat|arithmetic|evaluate|expression|compute|work out|formula)")),
    ("listing", re.compile(r"\b(?:list|enumerate|catalog)")),
    ("search", re.compile(r"\b(?:search|find|look for|look up|retriev|quer)")),
    ("read", re.compile(r"\b(?:read|open|show|fetch|view|lines of)\b")),
)
_CALLS = re.compile(r"\bone of (\d+)\b|\bat most (\d+) calls\b")
_LINES = re.compile(r"\b(\d+) (?:lines|a call|per call)\b")
_START = re.compile(r"\b(?:first|start|from|begin)")
_END = re.compile(r"\b(?:last|end|to|until)\b")
UNSAID_CALLS, UNSAID_LINES = 8, 40
"""What it allows itself where a description says nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One tool with the arguments that the program fills in; '' where there is none."""

    name: str
    calls: int
    text: str = ""
    """The argument for a query, a document or an expression."""
    start: str = ""
    """The argument for the first line; of a search, for how many results are shown."""
    end: str = ""
    most: int | None = None
    """The largest value of `start`, where its schema says it."""
    lines: int = UNSAID_LINES
    match: str = ""
    any: str = ""
    """The value of `match` for which any word is enough."""
    numbers: tuple[str, ...] = ()
    kinds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Arguments with choices."""


def _strings(value: Json) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _properties(definition: ToolDefinition) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The arguments' schemas and which must be given; what is no schema is left out."""
    schema = definition.parameters_json_schema
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    found = {k: v for k, v in properties.items() if isinstance(v, dict)} if isinstance(properties, Mapping) else {}
    return found, _strings(schema.get("required") if isinstance(schema, Mapping) else None)


def _purpose(definition: ToolDefinition, texts: Sequence[str], numbers: Sequence[str], required: Sequence[str]) -> str:
    """What a description speaks of first, among what the arguments allow."""
    said = (definition.description or "").lower()
    fits = {
        "compute": bool(texts or len(numbers) >= 2),
        "listing": not any(name in required for name in texts),
        "search": any(name in required for name in texts) or (bool(texts) and not required),
        "read": any(name in required for name in texts),
    }
    places = [(m.start(), purpose) for purpose, pattern in _PURPOSES if fits[purpose] and (m := pattern.search(said))]
    return min(places)[1] if places else ""


def _tool(definition: ToolDefinition) -> tuple[str, Tool]:
    """A tool's purpose ('' where it has none of these) and the tool."""
    properties, required = _properties(definition)
    kinds = {name: _strings(schema["enum"]) for name, schema in properties.items() if "enum" in schema}
    texts = [n for n, schema in properties.items() if schema.get("type") == "string" and n not in kinds]
    counts = [n for n, schema in properties.items() if schema.get("type") == "integer"]
    numbers = [n for n, schema in properties.items() if schema.get("type") == "number"]
    said = (definition.description or "").lower()
    calls, lines = _CALLS.search(said), _LINES.search(said)
    start, end = _range(counts, properties)
    match = next(
        ((n, v) for n, values in kinds.items() for v in values if v.lower() in ("any", "or", "some")), ("", "")
    )
    tool = Tool(
        name=definition.name,
        calls=int(calls[1] or calls[2]) if calls else UNSAID_CALLS,
        text=next((n for n in texts if n in required), texts[0] if texts else ""),
        start=start,
        end=end,
        most=_maximum(properties.get(start, {})),
        lines=max(1, int(lines[1])) if lines else UNSAID_LINES,
        match=match[0],
        any=match[1],
        numbers=tuple(numbers),
        kinds=kinds,
    )
    return _purpose(definition, texts, numbers, required), tool


def _maximum(schema: Mapping[str, Any]) -> int | None:
    found = schema.get("maximum")
    return found if isinstance(found, int) else None


def _range(counts: Sequence[str], properties: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """The arguments for the first and the last line: by what is said of them, else by their order."""
    said = {name: f"{properties[name].get('description', '')}".lower() for name in counts}
    start = next((name for name in counts if _START.search(said[name])), counts[0] if counts else "")
    end = next((name for name in counts if name != start and _END.search(said[name])), "")
    return start, end or next((name for name in counts if name != start), "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Toolbox:
    """The tools that the program can use; None where there is none of a kind."""

    search: Tool | None = None
    read: Tool | None = None
    compute: Tool | None = None
    listing: Tool | None = None

    @classmethod
    def recognise(cls, definitions: Sequence[ToolDefinition]) -> Toolbox:
        """The first tool of each kind."""
        found: dict[str, Tool] = {}
        for definition in definitions:
            purpose, tool = _tool(definition)
            found.setdefault(purpose, tool)
        found.pop("", None)
        return cls(**found)
