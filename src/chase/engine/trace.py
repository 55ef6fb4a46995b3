"""The record of one rollout, as a person, a Proposer or a Challenger can read it.

It holds what the agent saw and did, and nothing of which role or variant it ran under.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from chase.core.values import Json, ToolResult
from chase.engine.sandbox import HookFailure

VERSION = 2

_PLACE = ("id", "path", "listing", "hit", "window")
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
        shown = [
            {name: value for name, value in zip(_PLACE, _place(item.shown), strict=True) if value is not None}
            for item in result.items
        ]
        self.add(
            "tool",
            by=by,
            tool=tool,
            arguments=dict(arguments),
            **({"asked": asked} if asked is not None else {}),
            ok=result.ok,
            **({"coverage": result.coverage} if result.coverage is not None else {}),
            shown=shown,
            head=len(result.head),
            result=result.text,
        )

    def add_failure(self, failure: HookFailure) -> None:
        """A hook that had no effect, and why."""
        self.add("hook", hook=failure.hook, value=None, failure=failure.reason, detail=failure.detail)

    def finish(self, answer: str | None, reason: str, score: float | None) -> dict[str, Any]:
        """The whole trace as JSON."""
        return {**self._head, "events": self.events, "answer": answer, "reason": reason, "score": score}
