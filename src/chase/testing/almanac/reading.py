"""What `sim:almanac` makes of tool results: it recognises fields by what they hold, whatever they are called."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chase.core.values import Json, Sighting
from chase.testing.almanac.contents import Document, Status, Table
from chase.testing.almanac.questions import Question, read_unit
from chase.testing.almanac.rendering import ROW, SIGNED, STATUS, UNIT

_ID = re.compile("[bcdfghjkmnpqrstvwxz]{7}")
_RANGE = re.compile(r"(\d{1,6})-(\d{1,6})")


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One item of a result."""

    document: str
    name: str
    start: int
    text: str
    """The longest of its texts."""
    fields: Mapping[str, Json]
    """As they came."""
    of: int | None
    """A number that is in it."""


def read_items(content: str) -> list[Item]:
    """The items of a result; none where it is no JSON or has no list. What follows the JSON is not looked at."""
    try:
        result, _ = json.JSONDecoder().raw_decode(content)
    except ValueError:
        return []
    lists = [value for value in result.values() if isinstance(value, list)] if isinstance(result, dict) else []
    found = (_item(entry) for entry in (lists[0] if lists else []) if isinstance(entry, dict))
    return [item for item in found if item is not None]


def _item(entry: Mapping[str, Json]) -> Item | None:
    values = list(_leaves(entry))
    texts = [value for value in values if isinstance(value, str)]
    numbers = [value for value in values if isinstance(value, int)]
    ids = [text for text in texts if _ID.fullmatch(text)]
    ranges = [found for text in texts if (found := _RANGE.fullmatch(text))]
    names = [text for text in texts if text.endswith(".txt") and " " not in text]
    if not ids or not ranges:
        return None
    return Item(
        document=ids[0],
        name=names[0] if names else "",
        start=int(ranges[0][1]),
        text=max(texts, key=len),
        fields=entry,
        of=numbers[0] if numbers else None,
    )


def _leaves(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        for held in value.values():
            yield from _leaves(held)
    else:
        yield value


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """A document that a search showed."""

    query: str
    document: str
    start: int
    shown: Sighting


@dataclass(kw_only=True, slots=True)
class Report:
    """What is known of a document: its lines by number."""

    lines: dict[int, str] = field(default_factory=dict)
    of: int = 0
    reads: int = 0

    @property
    def next_line(self) -> int | None:
        """The line to read on from; None at the end."""
        last = max(self.lines, default=0)
        return last + 1 if last < self.of else None

    def _found(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return next((found for line in self.lines.values() if (found := pattern.fullmatch(line))), None)

    @property
    def status(self) -> Status | None:
        found = self._found(STATUS)
        return None if found is None else "final" if found["status"] == "final" else "preliminary"

    @property
    def signer(self) -> str:
        found = self._found(SIGNED)
        return found["signer"] if found else ""

    def table(self, measure: str) -> Table | None:
        """The table of a measure as far as it was read. A unit that was not seen is taken to be a single one."""
        start = next((n for n, line in self.lines.items() if line.lower() == measure.lower()), None)
        if start is None:
            return None
        rows: list[tuple[str, str]] = []
        scale, unit, place = 1, "", start + 1
        while line := self.lines.get(place, ""):
            if row := ROW.fullmatch(line):
                rows.append((row["district"], row["figure"]))
            elif said := UNIT.fullmatch(line):
                scale, unit = read_unit(f"{said['scale'] or ''} {said['unit']}".strip())
            place += 1
        return Table(measure=measure, scale=scale, unit=unit, rows=tuple(rows), remark="") if rows else None

    def has(self, question: Question) -> bool:
        """Whether what is asked for stands in it."""
        if question.family == "signer":
            return bool(self.signer)
        table = self.table(question.measure)
        return table is not None and (not question.district or question.district in dict(table.rows))

    def as_document(self, place: str, year: int, measure: str) -> Document:
        table = self.table(measure)
        return Document(
            id="",
            place=place,
            year=year,
            opening=(),
            tables=(table,) if table else (),
            notes=(),
            status=self.status or "final",
            signer=self.signer,
        )


@dataclass(kw_only=True)
class Notebook:
    """All that the results so far have shown."""

    hits: list[Hit] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    reports: dict[str, Report] = field(default_factory=dict)
    may_look: bool = True
    may_read: bool = True
    """Until a call shows nothing."""

    def looked(self, query: str) -> bool:
        return query in self.queries

    def report(self, document: str) -> Report | None:
        return self.reports.get(document)

    def note_hits(self, query: str, items: Sequence[Item]) -> None:
        """Each document once for a query, at its first hit."""
        self.queries.append(query)
        self.may_look = bool(items)
        known = {hit.document for hit in self.hits if hit.query == query}
        for place, item in enumerate(items):
            if item.document not in known:
                known.add(item.document)
                shown = Sighting(id=item.document, path=item.name, hit=place, hit_of=len(items), fields=item.fields)
                self.hits.append(Hit(query=query, document=item.document, start=item.start, shown=shown))

    def note_lines(self, items: Sequence[Item]) -> None:
        self.may_read = bool(items)
        for item in items:
            report = self.reports.setdefault(item.document, Report())
            report.reads += 1
            report.of = item.of or report.of
            report.lines |= dict(enumerate(item.text.split("\n"), start=item.start))
