"""Traces as sequences of actions, and where two of them part: what a failed execution did first that a reference did
not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

from chase.core.keyed import canonical_json
from chase.core.values import Json, ToolInterface
from chase.engine.trace import read_item, result_text

Kind = Literal["search", "open", "list", "other"]
MASK = "#"
"""What stands for a number in an action that neither searches nor opens: from operands an answer can be computed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """One tool call, as two trajectories are compared by it."""

    kind: Kind
    tool: str
    target: str
    """A query, a document's id, or the arguments of any other call with their numbers masked."""
    ok: bool = True

    @property
    def key(self) -> tuple[str, str]:
        """Two actions are the same if this is: a query by its words, in whatever order."""
        return self.tool, " ".join(sorted(words(self.target))) if self.kind == "search" else self.target

    def to_json(self) -> dict[str, Json]:
        return {"tool": self.tool, "target": self.target} | ({} if self.ok else {"refused": True})


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """The first place at which two trajectories differ; None: that one had ended."""

    step: int
    """From 1."""
    failed: Action | None
    reference: Action | None

    def to_json(self) -> dict[str, Json]:
        both = {"failed": self.failed, "reference": self.reference}
        return {"step": self.step, **{name: action and action.to_json() for name, action in both.items()}}


def words(text: str) -> list[str]:
    """The words of a text as they are compared."""
    return re.findall(r"[a-z0-9]+", text.lower())


def actions(trace: Mapping[str, Any], interface: ToolInterface) -> tuple[Action, ...]:
    """Every tool call of a trace, the harness's own included."""
    return tuple(_action(event, interface) for event in trace["events"] if event["event"] == "tool")


def first_divergence(failed: Sequence[Action], reference: Sequence[Action]) -> Divergence | None:
    """Where a failed trajectory first does something else than the reference; None: nowhere."""
    for step, (ours, theirs) in enumerate(zip_longest(failed, reference), 1):
        if ours is None or theirs is None or ours.key != theirs.key:
            return Divergence(step=step, failed=ours, reference=theirs)
    return None


def shown_documents(trace: Mapping[str, Any]) -> frozenset[str]:
    """Ids of all documents that some result showed."""
    return frozenset(item["id"] for event in trace["events"] if event["event"] == "tool" for item in event["items"])


def windows_read(trace: Mapping[str, Any]) -> dict[str, int]:
    """Document id → how many windows of it were read, in the order of their opening."""
    found: dict[str, set[int]] = {}
    for event in trace["events"]:
        for item in event["items"] if event["event"] == "tool" else ():
            if "window" in item:
                found.setdefault(item["id"], set()).add(item["window"])
    return {document: len(windows) for document, windows in found.items()}


def observed_text(event: Mapping[str, Any]) -> str:
    """All that a tool event showed, ids and paths of documents included."""
    places = [f"{item['id']} {item['path']}" for item in event["items"]]
    return "\n".join([result_text(event), *places])


def shown_content(event: Mapping[str, Any], interface: ToolInterface) -> str:
    """What a tool event showed of documents' contents, or worked out: no counts of hits, no names, no places."""
    if not event["ok"]:
        return ""
    purposes = (interface.search and interface.search.tool, interface.open and interface.open.tool, interface.listing)
    worked_out = [event["head"]] if event["tool"] not in purposes else []
    texts = [read_item(item).text for item in event["items"]]
    return "\n".join([*worked_out, *(text for text in texts if text is not None)])


def read_text(trace: Mapping[str, Any], documents: Collection[str] = ()) -> str:
    """All that was read in some documents, or in every one that was opened."""
    items = [item for event in trace["events"] if event["event"] == "tool" for item in event["items"]]
    return "\n".join(
        read_item(item).text or "" for item in items if "window" in item and (not documents or item["id"] in documents)
    )


def _action(event: Mapping[str, Any], interface: ToolInterface) -> Action:
    tool, arguments, ok = event["tool"], event["arguments"], bool(event["ok"])
    search, opener = interface.search, interface.open
    if search is not None and tool == search.tool:
        return Action(kind="search", tool=tool, target=str(arguments.get(search.query, "")), ok=ok)
    if opener is not None and tool == opener.tool:
        opened = [item["id"] for item in event["items"]] or [str(arguments.get(opener.document, ""))]
        return Action(kind="open", tool=tool, target=opened[0], ok=ok)
    if tool == interface.listing:
        return Action(kind="list", tool=tool, target="", ok=ok)
    return Action(kind="other", tool=tool, target=re.sub(r"\d[\d,.]*", MASK, canonical_json(arguments)), ok=ok)
