"""The record of one rollout, as a person, a Proposer or a Challenger can read it.

It holds what the agent saw and did, and nothing of which role or variant it ran under.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from chase.core.values import Json, JsonLayout, ResultItem, Sighting, ToolResult

if TYPE_CHECKING:
    from chase.engine.hook_faults import HookFailure

VERSION = 4

_PLACE = ("id", "path", "listing", "hit", "matches", "window")
_place = attrgetter(*_PLACE)


class Trace:
    """Events in the order they happened, as plain data."""

    def __init__(self, task: str, question: str) -> None:
        self._head = {"version": VERSION, "task": task, "question": question}
        self.events: list[dict[str, Any]] = []

    def add(self, kind: str, **details: Json) -> None:
        self.events.append({"event": kind, **details})

    def add_tool(
        self, by: str, tool: str, arguments: Mapping[str, Json], result: ToolResult, asked: Json = None
    ) -> None:
        """A tool call with its result; `asked` is what the model wrote where the harness changed it."""
        self.add("tool", **tool_details(by, tool, arguments, result, asked))

    def add_failure(self, failure: HookFailure) -> None:
        """A hook that had no effect, and why."""
        self.add("hook", hook=failure.hook, value=None, failure=failure.reason, detail=failure.detail)

    def finish(self, answer: str | None, reason: str, score: float | None) -> dict[str, Any]:
        """The whole trace as JSON."""
        return {**self._head, "events": self.events, "answer": answer, "reason": reason, "score": score}


def tool_details(
    by: str, tool: str, arguments: Mapping[str, Json], result: ToolResult, asked: Json = None
) -> dict[str, Json]:
    """What a trace says of a tool call; `asked` is what the model wrote where the harness changed it."""
    return {
        "by": by,
        "tool": tool,
        "arguments": dict(arguments),
        **({"asked": asked} if asked is not None else {}),
        "ok": result.ok,
        **({"coverage": result.coverage} if result.coverage is not None else {}),
        **({"layout": asdict(result.layout)} if result.layout is not None else {}),
        "head": result.head,
        "items": [_item(item) for item in result.items],
    }


def _item(item: ResultItem) -> dict[str, Json]:
    """What was shown of a document: its places, how it reads, and its text where that is not all of its line."""
    shown = item.shown
    found = {name: value for name, value in zip(_PLACE, _place(shown), strict=True) if value is not None}
    found |= {"line": item.line} if item.line is not None else {}
    found |= {"fields": dict(shown.fields)} if shown.fields or item.line is None else {}
    if shown.text != (item.line if shown.window is not None else None):
        names = [name for name, value in found.get("fields", {}).items() if value == shown.text]
        found |= {"text_field": names[0]} if names else {"text": shown.text}
    return found


def read_item(item: Mapping[str, Any]) -> Sighting:
    """The inverse of how an item is written."""
    fields = item.get("fields", {})
    if "text_field" in item:
        text = fields[item["text_field"]]
    else:
        text = item.get("text", item.get("line") if "window" in item else None)
    return Sighting(**{name: item[name] for name in _PLACE if name in item}, text=text, fields=fields)


def result_text(event: Mapping[str, Any]) -> str:
    """A tool event's result as it came, before the harness's policies."""
    items = tuple(ResultItem(shown=read_item(item), line=item.get("line")) for item in event["items"])
    layout = JsonLayout(**event["layout"]) if "layout" in event else None
    return ToolResult(head=event["head"], items=items, layout=layout).text
