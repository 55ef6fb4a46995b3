"""What each document holds: which tables, in which parts, where their units stand, and which have notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil
from typing import Literal, TypeVar

from chase.benchmarks.officeqa.sample.periods import Period, latest
from chase.benchmarks.officeqa.sample.series import Topic, World, topics
from chase.benchmarks.officeqa.sample.shape import Document, Shape
from chase.core.keyed import rng, sorted_by_key, uniform

T = TypeVar("T")
UnitPlace = Literal["before", "title", "after", "gap", "none"]
"""Right before the table, in its title, after it, before it with a line between, or with an earlier part only."""
COLUMNS = 18
"""Columns of figures in a part of a table, at most."""
PERIOD_COLUMNS = 24
"""Of a table whose columns are periods, in all its parts."""
TOPICS_TO_CHOOSE_FROM = 1.5
"""Topics of all documents, by how many one document has."""
YEARS_BEFORE = 48
"""That series are older than the first edition; no table goes back further."""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """One table, or one part of a longer one."""

    topic: Topic
    part: int
    parts: int
    items: tuple[int, ...]
    periods: tuple[Period, ...]
    unit_place: UnitPlace = "none"
    noted: bool = False


class Plans:
    """The plan of every document of a sample, made when it is asked for."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        months = [document.edition for document in shape.all_documents]
        self.world = World(shape.key, min(months) - 12 * YEARS_BEFORE, max(months))
        self.of = lru_cache(maxsize=None)(self._of)

    def periods(self, topic: Topic, edition: int) -> tuple[Period, ...]:
        """The periods that an edition's table shows, oldest first, years before months."""
        depth = min(self.shape.depth, PERIOD_COLUMNS) if topic.across else self.shape.depth
        share = depth // len(topic.kinds)
        return tuple(period for kind in topic.kinds for period in latest(kind, edition, share))

    @cached_property
    def topics(self) -> tuple[Topic, ...]:
        """The topics that this sample's documents choose from, in the order of the bulletin."""
        found = {topic.code: topic for topic in topics()}
        wanted, parts, chosen = TOPICS_TO_CHOOSE_FROM * self.shape.tables, 0, set()
        for code in sorted_by_key(found, self.shape.key, "topics"):
            if parts < wanted:
                chosen.add(code)
                parts += self._parts(found[code])
        return tuple(topic for topic in found.values() if topic.code in chosen)

    def _parts(self, topic: Topic) -> int:
        wide = min(self.shape.depth, PERIOD_COLUMNS) if topic.across else len(topic.items)
        return ceil(wide / COLUMNS)

    def _of(self, number: int) -> tuple[TablePlan, ...]:
        """The tables of a document, without its contents table."""
        document, room = self.shape.all_documents[number], self.shape.table_counts[number] - 1
        codes = sorted_by_key((topic.code for topic in self.topics), self.shape.key, "chosen", document.stem)
        place = {code: i for i, code in enumerate(codes)}
        chosen: list[TablePlan] = []
        for topic in sorted(self.topics, key=lambda topic: place[topic.code]):
            chosen += list(self._tables(topic, document))[: room - len(chosen)]
        chosen += self._again(chosen, room - len(chosen))
        order = {topic.code: i for i, topic in enumerate(self.topics)}
        return self._placed(number, sorted(chosen, key=lambda table: order[table.topic.code]))

    def _again(self, chosen: Sequence[TablePlan], missing: int) -> list[TablePlan]:
        """Where the topics do not fill a document, its first tables are repeated, as bulletins do."""
        return [chosen[i % len(chosen)] for i in range(missing)]

    def _tables(self, topic: Topic, document: Document) -> Iterator[TablePlan]:
        items, periods = tuple(range(len(topic.items))), self.periods(topic, document.edition)
        parts = self._parts(topic)
        for part in range(parts):
            if topic.across:
                yield TablePlan(topic, part, parts, items, _slice(periods, part, parts))
            else:
                yield TablePlan(topic, part, parts, _slice(items, part, parts), periods)

    def _placed(self, number: int, tables: Sequence[TablePlan]) -> tuple[TablePlan, ...]:
        """The tables with their units and notes in place, as many as the document's share says."""
        shape, stem = self.shape, self.shape.all_documents[number].stem

        def rank(i: int) -> float:
            return uniform(shape.key, "unit", stem, i) + (0.6 if tables[i].part else 0)

        ranked = sorted(range(len(tables)), key=rank)
        units = shape.unit_counts[number]
        before, strays = set(ranked[:units]), set(ranked[units : units + shape.stray_counts[number]])
        noted = set(rng(shape.key, "notes", stem).sample(range(len(tables)), shape.note_counts[number]))

        def unit_place(i: int) -> UnitPlace:
            if i in before:
                return "before"
            if i in strays:
                return "after" if uniform(shape.key, "stray", stem, i) < 0.5 else "gap"
            return "none" if tables[i].part else "title"

        return tuple(replace(table, unit_place=unit_place(i), noted=i in noted) for i, table in enumerate(tables))


def _slice(whole: tuple[T, ...], part: int, parts: int) -> tuple[T, ...]:
    """One of several about equal parts."""
    return whole[len(whole) * part // parts : len(whole) * (part + 1) // parts]
