"""A document as a list of elements: headings, text, unit lines, tables and notes, in reading order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from chase.benchmarks.officeqa.sample.periods import Period
from chase.benchmarks.officeqa.sample.plans import Plans, TablePlan
from chase.benchmarks.officeqa.sample.prose import FOOTNOTES, GAP, NOTES, paragraph
from chase.benchmarks.officeqa.sample.series import PRELIMINARY
from chase.benchmarks.officeqa.sample.shape import Document
from chase.core.keyed import rng

ElementKind = Literal["title", "section_header", "caption", "text", "table", "footnote"]
STUBS = {"fiscal": "Fiscal year", "calendar": "Calendar year", "quarter": "Quarter", "month": "Month"}
TABLES_OF_PAGE = 3
UNIT_LINES = ("(In {})", "[In {}]", "In {}", "(Amounts in {})", "[All amounts in {}]", "(Figures in {})")


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: the names of its columns, with levels joined by " > ", and its rows."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Element:
    kind: ElementKind
    text: str = ""
    grid: Grid | None = None


def elements(plans: Plans, number: int) -> Iterator[Element]:
    """The elements of a document, the same for a seed in every process."""
    document, tables = plans.shape.all_documents[number], plans.of(number)
    draw = rng(plans.shape.key, "elements", document.stem)
    yield Element("title", document.title)
    yield Element(
        "text", "Published by the Department of the Treasury. Compiled from reports that were at hand by then."
    )
    yield Element("section_header", "Contents")
    yield Element("table", grid=_contents(tables))
    yield Element("text", "The tables of each section are numbered in the order in which they appear.")
    for section, group in groupby(tables, key=lambda table: table.topic.section):
        yield Element("section_header", section.upper())
        for table in group:
            yield from _table(plans, document, table, draw)


def _contents(tables: tuple[TablePlan, ...]) -> Grid:
    pages: dict[str, int] = {}
    for place, table in enumerate(tables):
        pages.setdefault(f"{table.topic.code}. {table.topic.title}", place // TABLES_OF_PAGE + 2)
    return Grid(("Table", "Page"), tuple((title, str(page)) for title, page in pages.items()))


def _table(plans: Plans, document: Document, table: TablePlan, draw: random.Random) -> Iterator[Element]:
    unit = plans.world.unit(table.topic, document.edition)
    if not table.part:
        shown = plans.periods(table.topic, document.edition)
        yield Element("text", paragraph(plans.world, table.topic, shown, document.edition, draw))
    stated = Element("text", draw.choice(UNIT_LINES).format(unit.words))
    name = f"Table {table.topic.code}.—{table.topic.title}"
    more = f" (Part {table.part + 1} of {table.parts})" if table.parts > 1 else ""
    yield Element("caption", f"{name}{more}{f', in {unit.words}' if table.unit_place == 'title' else ''}")
    if table.unit_place in ("before", "gap"):
        yield stated
    if table.unit_place == "gap":
        yield Element("text", GAP)
    marked = draw.random() < 0.5
    yield Element("table", grid=_grid(plans, document, table, style=document.edition // 24, marked=marked))
    if table.noted:
        yield Element("footnote", draw.choice(NOTES))
    if table.unit_place == "after":
        yield stated
    if marked:
        yield Element("footnote", FOOTNOTES)


def _grid(plans: Plans, document: Document, table: TablePlan, *, style: int, marked: bool) -> Grid:
    world, topic, edition = plans.world, table.topic, document.edition
    periods = (*table.periods, *_to_date(table))
    text = world.unit(topic, edition).text
    printed = [[text(row[item]) for item in table.items] for row in world.printed(topic, periods, edition)]
    marks = [" p" if marked and world.vintage(topic, p, edition) == PRELIMINARY else "" for p in periods]
    if topic.across:
        header = ("Item", *(p.column + mark for p, mark in zip(periods, marks, strict=True)))
        names = [topic.items[item].replace(" > ", ", ") for item in table.items]
        return Grid(header, tuple((name, *cells) for name, *cells in zip(names, *printed, strict=True)))
    header = (" or ".join(_stubs(topic.kinds)), *(topic.items[item] for item in table.items))
    labels = [p.label(style) + mark for p, mark in zip(periods, marks, strict=True)]
    return Grid(header, tuple((label, *cells) for label, cells in zip(labels, printed, strict=True)))


def _stubs(kinds: tuple[str, ...]) -> Iterator[str]:
    yield STUBS[kinds[0]]
    yield from (STUBS[kind].lower() for kind in kinds[1:])


def _to_date(table: TablePlan) -> tuple[Period, ...]:
    """The last row of a table of years and months of a flow: what the running fiscal year adds up to."""
    if table.topic.across or table.topic.kinds != ("fiscal", "month") or table.topic.nature != "flow":
        return ()
    months = (table.periods[-1].last + 3) % 12 + 1
    return (Period("to date", (table.periods[-1].last + 3) // 12, months),)
