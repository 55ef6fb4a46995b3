"""Tables in a run of lines, with what stands around them: title, unit, and whether the run cuts them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from chase.core.markdown_tables import cells, is_delimiter, is_row, table_spans
from chase.models.lexical.headers import header_rows, joined
from chase.models.lexical.periods import Period, first_period, mentions
from chase.models.lexical.units import Unit, header_unit, noted_unit, stated_unit
from chase.models.lexical.words import bag, figure

TITLE_LINES = 6
"""Lines above a table that can name it."""
UNIT_LINES = 6
"""Lines before or after a table among which its unit is looked for."""
_NOTE = re.compile(r"[\W_]*(?:notes?|sources?)\s*[:.–—-]", re.IGNORECASE)
_PAGE = re.compile(r"\W*page\b|\W*\d+\W*$", re.IGNORECASE)
_MARKS = re.compile(r"\s*(?:\d{1,2}/|[*†‡¹²³⁴⁵⁶⁷⁸⁹]+)+$|[.…:]+$")


@dataclass(frozen=True, slots=True)
class Column:
    """A column's header."""

    label: str
    words: frozenset[str]
    period: Period | None
    unit: Unit | None


@dataclass(frozen=True, slots=True)
class Row:
    """A row: its label is its first cell; all its cells without a figure name it."""

    label: str
    words: frozenset[str]
    group: frozenset[str]
    """The words of the heading row above it."""
    period: Period | None
    cells: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """A table, or the part of one that a run holds. Compared by identity: parsing is remembered."""

    title: frozenset[str]
    periods: tuple[Period, ...]
    """That the title names."""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    unit: Unit | None
    """Stated before it, or after it; None where neither is in the run."""
    aside: Unit | None
    """What the header's first cell or a remark in brackets before the table says, where no line states a unit."""
    years: frozenset[int]
    """That one column each is of, whatever day of them it names."""
    words: frozenset[str]
    """All words of title, columns and rows."""
    first: int
    """Its first line in the run, from 0."""
    last: int
    cut_above: bool
    """Whether the run begins in it, so that its header is not known."""
    cut_below: bool
    """Whether the run ends in it."""


@lru_cache(maxsize=512)
def tables_in(lines: tuple[str, ...]) -> tuple[Table, ...]:
    """The tables of a run in its order, also one that the run's first or last line cuts."""
    spans = list(table_spans(lines))
    head = _rows_from(lines, 0)
    headless = bool(head) and (not spans or spans[0][0] >= head)
    tail = len(lines) - _rows_from(lines[::-1], 0)
    found = [(0, head, True)] if headless else []
    found += [(start, end, False) for start, end in spans]
    if tail < len(lines) and (not found or found[-1][1] <= tail):
        found.append((tail, len(lines), False))
    return tuple(_table(lines, found, place) for place in range(len(found)))


def _rows_from(lines: Sequence[str], place: int) -> int:
    """How many lines are rows, from a place on."""
    end = place
    while end < len(lines) and is_row(lines[end]):
        end += 1
    return end - place


def _table(lines: tuple[str, ...], spans: Sequence[tuple[int, int, bool]], place: int) -> Table:
    start, end, headless = spans[place]
    above = spans[place - 1][1] if place else 0
    below = spans[place + 1][0] if place + 1 < len(spans) else len(lines)
    rows = [cells(line) for line in lines[start:end] if not is_delimiter(line)]
    head = 0 if headless or not rows else header_rows(rows)
    header = joined(rows[:head]) if head > 1 else rows[0] if head else ()
    title = " ".join(_title(lines, above, start))
    columns, data = tuple(map(_column, header)), tuple(_rows(rows[head:]))
    return Table(
        title=bag(title),
        periods=tuple(mention.period for mention in mentions(title)),
        columns=columns,
        rows=data,
        unit=_unit(lines, above, start, end, below),
        aside=_aside(lines[above:start], header),
        years=_lone_years(columns),
        words=bag(title).union(*(column.words for column in columns), *(row.words | row.group for row in data)),
        first=start,
        last=end - 1,
        cut_above=headless,
        cut_below=end >= len(lines),
    )


def _title(lines: Sequence[str], above: int, start: int) -> list[str]:
    """The lines over a table that can be its name: no units, notes, page marks or long prose."""
    near = [line for line in lines[max(above, start - 2 * TITLE_LINES) : start] if line.strip()]
    kept = [line for line in near if stated_unit(line) is None and not is_note(line) and not _PAGE.match(line)]
    return [line for line in kept if len(line) <= 200][-TITLE_LINES:]


def _unit(lines: Sequence[str], above: int, start: int, end: int, below: int) -> Unit | None:
    """The unit line that is nearest before the table; else nearest after it, up to what names another table."""
    before = [line for line in lines[above:start] if line.strip()][-UNIT_LINES:]
    after = [line for line in lines[end:below] if line.strip()][:UNIT_LINES]
    found = (unit for line in (*reversed(before), *after) if (unit := stated_unit(line)) is not None)
    return next(found, None)


def _aside(before: Sequence[str], header: Sequence[str]) -> Unit | None:
    """The unit in the header's first cell, else in what is in brackets in the lines before the table, nearest first."""
    near = [line for line in before if line.strip()][-UNIT_LINES:]
    found = (unit for text in (*header[:1], *reversed(near)) if (unit := noted_unit(text)) is not None)
    return next(found, None)


def _lone_years(columns: Sequence[Column]) -> frozenset[int]:
    years = [column.period.year for column in columns if column.period is not None]
    return frozenset(year for year in years if year is not None and years.count(year) == 1)


@lru_cache(maxsize=8192)
def _column(label: str) -> Column:
    period: Period | None = None
    for mention in mentions(label):
        period = mention.period if period is None else period.within(mention.period)
    return Column(label, bag(label), period, header_unit(label))


def _rows(rows: Sequence[tuple[str, ...]]) -> Iterator[Row]:
    """Rows with what heads them: a row without figures heads those after it; a year holds until the next."""
    group: frozenset[str] = frozenset()
    year: Period | None = None
    for row in rows:
        if not row:
            continue
        label = " ".join(cell for place, cell in enumerate(row) if place == 0 or (cell and figure(cell) is None))
        period = first_period(label)
        if period is not None and period.year is not None:
            year = Period(period.year, kind=period.kind)
        elif period is not None:
            period = period.within(year)
        if any(figure(cell) is not None for cell in row[1:]):
            yield Row(clean_label(row[0]), bag(label), group, period, row)
        else:
            group = bag(row[0])


def is_note(line: str) -> bool:
    """Whether a line is a note or names a source."""
    return _NOTE.match(line) is not None


def clean_label(label: str) -> str:
    """A label without marks of notes and dots."""
    return _MARKS.sub("", label.strip()).strip()
