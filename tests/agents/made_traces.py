"""Traces made up for tests: a search over documents of random paths, and who opened which of them in which order."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from chase.engine.trace import VERSION

Taste = Callable[[dict[str, Any]], float]
"""Of a document: lowest is opened first."""

EXTENSIONS = ("md", "csv", "txt", "json")
LETTERS = "bcdfghjklmnpqrstvwxz"


def documents(task: int, count: int = 12) -> list[dict[str, Any]]:
    """Documents whose depth, name and extension have nothing to do with each other."""
    draw = random.Random(f"documents {task}")
    found = []
    for hit in range(count):
        folders = [draw.choice(["shelf", "annex", "vault"]) for _ in range(draw.randrange(4))]
        name = "".join(draw.choices(LETTERS, k=draw.randrange(4, 12)))
        extension = draw.choice(EXTENSIONS)
        identity = "".join(draw.choices(LETTERS, k=8)) + LETTERS[hit]
        found.append({"id": identity, "path": "/".join([*folders, f"{name}.{extension}"]), "hit": hit})
    return found


def depth(document: dict[str, Any]) -> float:
    return float(document["path"].count("/"))


def indifferent(task: int, who: str) -> Taste:
    """Opens in an order that has nothing to do with anything."""
    return lambda document: random.Random(f"{who} {task} {document['id']}").random()


def made_trace(
    task: int,
    taste: Taste,
    *,
    opens: int = 4,
    reads_on: Callable[[dict[str, Any]], bool] | None = None,
    score: float = 1.0,
) -> dict[str, Any]:
    """One search that matches all documents, then the first few by taste, read on where it is said so."""
    shown = documents(task)
    events = [_tool("search", shown, coverage=len(shown))]
    for document in sorted(shown, key=taste)[:opens]:
        for window in range(2 if reads_on is not None and reads_on(document) else 1):
            text = f"Ledger {document['id']}\nHeld at: Hillside\n\nRecords\nAmount | {task + window}\n"
            item = {"id": document["id"], "path": document["path"], "window": window, "line": text}
            events.append(_tool("open_file", [item]))
    return {
        "version": VERSION,
        "task": f"task-{task:02}",
        "question": "How much?",
        "events": events,
        "answer": "17" if score else None,
        "reason": "answered" if score else "no-answer",
        "score": score,
    }


def _tool(name: str, items: Sequence[dict[str, Any]], *, coverage: int | None = None) -> dict[str, Any]:
    event = {"event": "tool", "by": "model", "tool": name, "arguments": {}, "ok": True, "head": ""}
    lines = [{"line": item["path"], **item} for item in items]
    return {**event, **({} if coverage is None else {"coverage": coverage}), "items": lines}
