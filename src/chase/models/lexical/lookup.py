"""The cell that a question names: words of row, column and title compared with the question's, and the period."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from chase.models.lexical.periods import Period
from chase.models.lexical.question import Wanted
from chase.models.lexical.shelf import Run
from chase.models.lexical.tables import Column, Row, Table
from chase.models.lexical.units import Unit
from chase.models.lexical.words import figure

GOOD, LEAST = 0.75, 0.5
"""The share of the wanted words from which a match is good, and from which it is one at all."""
TITLE_SHARE = 0.7
"""What a word counts that stands only in the title, next to one in the row or the column."""
PERIOD_SHARE, LATE = 0.3, 0.01
"""What a sure period counts next to all words, and how much less a word counts for each that is asked for before it."""
STRANGER, MOST_STRANGE = 0.05, 0.3
"""What a word of the row or column counts against it that nobody asked for, and all of them at most."""
SAID, TITLED, NAMED, UNSAID = 1.0, 0.7, 0.5, 0.2
"""How sure a period is: said by row or column, by the title, by the document's name, by nothing."""
_UNSURE = frozenset(["estimate", "estimated", "preliminary", "projected", "projection", "superseded", "draft"])


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure that may be the one that is wanted."""

    value: Decimal
    row: Row
    column: Column | None
    table: Table
    run: Run
    share: float
    """Of the wanted words, how much stands around it."""
    sureness: float
    """How sure its period is."""
    score: float

    @property
    def unit(self) -> Unit | None:
        """Stated around the table, else in the column's header. A column of percentages says so itself."""
        own = self.column.unit if self.column is not None else None
        return own if own is not None and (own.percent or self.table.unit is None) else self.table.unit

    @property
    def written_unit(self) -> Unit | None:
        """What it is written with: a percent sign of its own; a scale, also one that only a remark gives. What is so
        much for each of something has none.
        """
        place = self.table.columns.index(self.column) if self.column is not None else 0
        if "%" in self.row.cells[place] or "%" in self.row.label:
            return Unit(percent=True)
        if "per" in self.row.label.lower().split():
            return None
        return self.unit or self.table.aside

    @property
    def is_good(self) -> bool:
        return self.share >= GOOD and self.sureness > UNSAID


def find(wanted: Wanted, run: Run, table: Table, *, strict: bool) -> Cell | None:
    """The best cell of a table for what is wanted; None where nothing in it can be that."""
    found = _best(wanted, table, run.name, strict)
    if found is None:
        return None
    row, place, share, sureness, score = found
    value = figure(row.cells[place])
    if value is None:
        return None
    column = table.columns[place] if place < len(table.columns) else None
    return Cell(value, row, column, table, run, share, sureness, score)


def every_row(wanted: Wanted, run: Run, table: Table, *, strict: bool) -> list[Cell]:
    """One cell for each row of the column that is wanted: what a largest or smallest is sought among."""
    best = find(wanted, run, table, strict=strict)
    if best is None or best.column is None:
        return []
    place = table.columns.index(best.column)
    rows = (row for row in table.rows if "total" not in row.words and place < len(row.cells))
    values = ((row, figure(row.cells[place])) for row in rows)
    same = best.row.group
    return [
        Cell(value, row, best.column, table, run, best.share, best.sureness, best.score)
        for row, value in values
        if value is not None and row.group == same
    ]


@lru_cache(maxsize=4096)
def _best(wanted: Wanted, table: Table, name: str, strict: bool) -> tuple[Row, int, float, float, float] | None:
    """(row, column, share, sureness, score) of the best cell; ties go to what stands first."""
    best: tuple[Row, int, float, float, float] | None = None
    if not is_about(wanted, table):
        return None
    titled = wanted.stems & table.title
    periods = [_period(column, wanted.period, table) for column in table.columns]
    possible = [_may_be(period, wanted.period) for period in periods]
    for row in table.rows:
        if not _may_be(row.period, wanted.period) or (strict and _contradicts(wanted, row.words | row.group)):
            continue
        in_row = wanted.stems & (row.words | row.group)
        for place in _figures(row):
            column = table.columns[place] if place < len(table.columns) else None
            if column is not None and not possible[place]:
                continue
            dated = column if column is None else replace(column, period=periods[place])
            sureness = _sureness(wanted.period, row, dated, table, name, strict=strict)
            if sureness == 0:
                continue
            in_column = wanted.stems & column.words if column is not None else frozenset()
            own = in_row | in_column
            if not own and sureness < SAID:
                continue
            share = (len(own) + TITLE_SHARE * len(titled - own)) / max(1, len(wanted.stems))
            score = share + PERIOD_SHARE * sureness - _strangeness(wanted, row, column) - LATE * wanted.place(own)
            if share >= LEAST and (best is None or score > best[4] + 1e-9):
                best = row, place, share, sureness, score
    return best


def _period(column: Column, wanted: Period | None, table: Table) -> Period | None:
    """What a column is of: where a year is asked for, a day or month of it is that year if no other column is of it."""
    said = column.period
    if said is None or wanted is None or wanted.month or wanted.quarter or said.year not in table.years:
        return said
    return Period(said.year, kind=said.kind)


def is_about(wanted: Wanted, table: Table) -> bool:
    """Whether a table may hold a figure, by all the words in it."""
    return len(wanted.stems & table.words) >= LEAST * max(1, len(wanted.stems))


def _may_be(part: Period | None, period: Period | None) -> bool:
    """Whether what a row or a column says of its time leaves room for a period."""
    if part is None or period is None:
        return True
    said = (part.year, part.month, part.quarter)
    return all(a is None or a == b for a, b in zip(said, (period.year, period.month, period.quarter), strict=True))


def _figures(row: Row) -> Iterator[int]:
    return (place for place, cell in enumerate(row.cells) if place and figure(cell) is not None)


def _strangeness(wanted: Wanted, row: Row, column: Column | None) -> float:
    """How much row and column say that nobody asked for. Periods were asked for elsewhere."""
    said = row.words | (column.words if column is not None else frozenset())
    strangers = sum(1 for word in said - wanted.stems if not word.isdigit())
    return min(MOST_STRANGE, STRANGER * strangers)


def _contradicts(wanted: Wanted, words: Iterable[str]) -> bool:
    """Whether a row says that its figures are not final and nobody asked for such."""
    return bool(_UNSURE.intersection(words) - wanted.stems)


def _sureness(
    period: Period | None, row: Row, column: Column | None, table: Table, name: str, *, strict: bool
) -> float:
    """How sure it is that a cell is of a period; 0: it is of another."""
    if period is None:
        return SAID
    parts = [part for part in (row.period, column.period if column is not None else None) if part is not None]
    said = parts[0].within(parts[1]) if len(parts) == 2 else parts[0] if parts else None
    if len(parts) == 2 and parts[0].year and parts[1].year and parts[0].year != parts[1].year:
        return 0
    if strict and _other_kind(period, said, row, column, table):
        return 0
    if said is not None and said.year is not None:
        return SAID if said.is_same(period) else 0
    return _by_title(period, said, table.periods, name)


def _by_title(period: Period, said: Period | None, titled: Sequence[Period], name: str) -> float:
    """Where neither row nor column has a year: by the title, by the document's name, by nothing."""
    part = said or Period()
    if (part.month, part.quarter) != (period.month, period.quarter) and (said is not None or not titled):
        return 0
    if any(part.within(one).is_same(period) for one in titled):
        return TITLED
    if titled and said is None:
        return 0
    return NAMED if str(period.year) in name else UNSAID


def _other_kind(period: Period, said: Period | None, row: Row, column: Column | None, table: Table) -> bool:
    """Whether fiscal is asked for and calendar is said, or the other way round."""
    if period.kind is None:
        return False
    other = "calendar" if period.kind == "fiscal" else "fiscal"
    if said is not None and said.kind is not None:
        return said.kind == other
    words = row.words | row.group | table.title | (column.words if column is not None else frozenset())
    return other in words and period.kind not in words
