"""What a trace says about how an agent worked: what it saw, what it chose among what, where it read on.

The reader of the format that `engine/trace.py` writes. It looks at tool events alone, which are the same for every
model, and at no text of the model's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from chase.core.interfaces import Observable
from chase.core.observables import distinct_ranks
from chase.core.values import Sighting
from chase.engine.trace import read_item

DecisionKind = Literal["open", "read on"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """A moment at which the agent (or its harness) chose: which document to open, or whether to read on in one."""

    kind: DecisionKind
    document: str
    options: tuple[Sighting, ...]
    """What it chose among, as seen then: unopened documents alike in matching the query; all seen ones to read on."""
    taken: bool = True
    """Whether it did read on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One trace, read."""

    task: str
    score: float
    answered: bool
    """Whether it ended with an answer in the required form."""
    decisions: tuple[Decision, ...]
    seen: Mapping[str, Sighting]
    opened: tuple[str, ...]
    """Documents in the order in which they were opened, each once."""
    unfinished: frozenset[str]
    """Opened documents in which it did not read on."""
    coverages: tuple[int, ...]
    """Of each search: how many documents matched it whole."""


@dataclass(slots=True)
class _State:
    seen: dict[str, Sighting] = field(default_factory=dict)
    matched: set[str] = field(default_factory=set)
    windows: dict[str, int] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    coverages: list[int] = field(default_factory=list)
    waiting: str | None = None
    """A document whose first window was just read: the next opening says whether it was read on."""

    def take_in(self, event: Mapping[str, Any]) -> None:
        coverage = event.get("coverage")
        if coverage is not None:
            self.coverages.append(coverage)
        for shown in map(read_item, event["items"]):
            document = shown.id
            if shown.window is not None:
                self._open(shown)
                continue
            known = self.seen.get(document, Sighting(id=document, path=shown.path, fields=shown.fields))
            place = shown.hit
            if place is not None and (known.hit is None or place < known.hit):
                known = replace(known, hit=place, fields=shown.fields)
            listing = known.listing if shown.listing is None else shown.listing
            self.seen[document] = replace(known, listing=listing)
            if shown.matches:
                self.matched.add(document)

    def _open(self, shown: Sighting) -> None:
        document = shown.id
        if self.waiting is not None:
            options = tuple(self.seen.values())
            taken = document == self.waiting
            self.decisions.append(Decision(kind="read on", document=self.waiting, options=options, taken=taken))
            self.waiting = None
        known = self.seen.get(document, Sighting(id=document, path=shown.path))
        if shown.window == 0:
            self.seen[document] = known
            alike = tuple(
                other
                for other in self.seen.values()
                if other.id not in self.windows and (other.id in self.matched) == (document in self.matched)
            )
            self.decisions.append(Decision(kind="open", document=document, options=alike))
            self.seen[document] = replace(known, window=0, text=shown.text)
            self.waiting = document
        self.windows[document] = self.windows.get(document, 0) + 1


def read_trace(trace: Mapping[str, Any], form: str = r".*\S.*") -> Reading:
    """The trace as a miner reads it; `form` is the pattern of a fitting answer."""
    state = _State()
    for event in trace["events"]:
        if event["event"] == "tool" and event["ok"]:
            state.take_in(event)
    return Reading(
        task=trace["task"],
        score=float(trace["score"] or 0.0),
        answered=trace["reason"] == "answered" and bool(re.fullmatch(form, str(trace["answer"] or ""), re.DOTALL)),
        decisions=tuple(state.decisions),
        seen=state.seen,
        opened=tuple(state.windows),
        unfinished=frozenset(document for document, windows in state.windows.items() if windows == 1),
        coverages=tuple(state.coverages),
    )


def ranks(observable: Observable, documents: Iterable[Sighting]) -> dict[str, float]:
    """Each document's rank on an observable, 0 lowest to 1 highest; only where it can be seen and differs."""
    seen = list(documents)
    places, count = distinct_ranks([observable(shown) for shown in seen])
    if count < 2:
        return {}
    return {shown.id: place / (count - 1) for shown, place in zip(seen, places, strict=True) if place is not None}


def opening_lean(observable: Observable, decisions: Sequence[Decision]) -> float | None:
    """How far what was opened is on the low (−) or high (+) side of what could have been, from −½ to ½; None if none
    of it differed.
    """
    found = [rank for d in decisions if (rank := ranks(observable, d.options).get(d.document)) is not None]
    return sum(found) / len(found) - 0.5 if found else None


def reading_lean(observable: Observable, decisions: Sequence[Decision]) -> float | None:
    """How far documents that were read on are on the low (−) or high (+) side of those that were opened and left, as
    the covariance over decisions: who always reads on leans on nothing, whatever it opens. None if none differed.
    """
    found = [
        (rank, float(decision.taken))
        for decision in decisions
        if (rank := ranks(observable, decision.options).get(decision.document)) is not None
    ]
    if not found:
        return None
    mean = sum(rank for rank, _ in found) / len(found)
    return sum((rank - mean) * taken for rank, taken in found) / len(found)
