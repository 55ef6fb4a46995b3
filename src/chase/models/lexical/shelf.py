"""What the tools have shown so far, by document: runs of consecutive lines in the order in which they were met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from chase.core.values import Sighting
from chase.models.lexical.results import Item

SNIPPET = 240
"""Characters below which a hit's single line is taken for a mere taste of a passage."""


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive lines of a document."""

    document: str
    name: str
    place: int
    """When it was first met: earlier is lower."""
    start: int | None
    """The number of its first line; None where nothing says it."""
    lines: tuple[str, ...]
    is_last: bool
    """Whether nothing is known to follow it."""
    shown: Sighting

    @property
    def end(self) -> int | None:
        return None if self.start is None else self.start + len(self.lines) - 1


@dataclass(slots=True)
class Held:
    """What is held of one document."""

    name: str
    shown: dict[int, Sighting] = field(default_factory=dict)
    """What was shown of it, by when it was met."""
    numbered: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Line number → (text, when it was met)."""
    loose: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)
    of: int | None = None
    reads: int = 0
    refused: bool = False
    start: int | None = None
    """Where its first hit starts."""
    end: int | None = None
    is_snippet: bool = False

    @property
    def headings(self) -> list[str]:
        """The headings among the lines that are known by number."""
        return [line for line, _ in self.numbered.values() if line.startswith("#")]

    @property
    def is_unread(self) -> bool:
        return self.is_snippet and not self.reads and not self.refused


@dataclass(slots=True)
class Shelf:
    """Everything so far."""

    held: dict[str, Held] = field(default_factory=dict)
    met: int = 0

    def put_hits(self, items: Sequence[Item]) -> None:
        """Results of a search: whole passages, or tastes of them."""
        for place, item in enumerate(items):
            if not item.document:
                continue
            shown = Sighting(
                id=item.document, path=item.name, hit=place, hit_of=len(items), text=item.text, fields=item.fields
            )
            held = self._held(item, shown)
            if _is_taste(item):
                held.is_snippet = held.is_snippet or not held.numbered
                held.start, held.end = (item.start, item.end) if held.start is None else (held.start, held.end)
            else:
                self._put(held, item)

    def put_lines(self, items: Sequence[Item], document: str) -> None:
        """Lines of a document that was read; nothing where the call was refused."""
        for item in items:
            shown = Sighting(id=item.document or document, path=item.name, text=item.text, fields=item.fields)
            held = self._held(item, shown, item.document or document)
            held.reads += 1
            self._put(held, item)
        if not any(item.text and item.document for item in items) and document in self.held:
            self.held[document].refused = True

    def _held(self, item: Item, shown: Sighting, document: str = "") -> Held:
        self.met += 1
        held = self.held.setdefault(document or item.document, Held(name=item.name))
        held.shown[self.met] = shown
        return held

    def _put(self, held: Held, item: Item) -> None:
        held.of = item.of or held.of
        if item.start is None:
            held.loose.append((self.met, item.lines))
            return
        for number, line in enumerate(item.lines, start=item.start):
            held.numbered.setdefault(number, (line, self.met))

    def runs(self) -> list[Run]:
        """Every run of lines, those met first before others."""
        found = [run for document, held in self.held.items() for run in _runs_of(document, held)]
        return sorted(found, key=lambda run: run.place)


def _is_taste(item: Item) -> bool:
    """Whether a hit shows less than the lines that it is about."""
    short = "\n" not in item.text.strip() and len(item.text) < SNIPPET
    return short and (item.start is None or item.end is None or item.end > item.start)


def _runs_of(document: str, held: Held) -> list[Run]:
    numbers = sorted(held.numbered)
    breaks = [0, *(place for place, (a, b) in enumerate(pairwise(numbers), start=1) if b != a + 1), len(numbers)]
    runs = []
    for low, high in pairwise(breaks):
        part = numbers[low:high]
        if part:
            met = min(held.numbered[number][1] for number in part)
            is_last = held.of is not None and part[-1] >= held.of
            lines = tuple(held.numbered[number][0] for number in part)
            runs.append(Run(document, held.name, met, part[0], lines, is_last, held.shown[met]))
    return [*runs, *(Run(document, held.name, met, None, lines, True, held.shown[met]) for met, lines in held.loose)]


def in_view(held: Mapping[str, Held], document: str, start: int, end: int) -> bool:
    """Whether lines of a document were shown, as far as there are any."""
    known = held.get(document)
    if known is None:
        return True
    last = end if known.of is None else min(end, known.of)
    return all(number in known.numbered for number in range(max(1, start), last + 1))
