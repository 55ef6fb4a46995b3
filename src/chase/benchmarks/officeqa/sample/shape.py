"""How large a sample is, and how often its documents show each of the paper's layout regularities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from chase.benchmarks.officeqa.releases import Release
from chase.benchmarks.officeqa.sample.periods import LAST_YEAR, MONTHS, edition_spoken, edition_stem, editions
from chase.core.keyed import uniform

QUESTIONS_WITH_SCALE = Fraction(143, 246)
UNITS_BEFORE_TABLE = Fraction(63_747, 66_951)
TABLES_AFTER_UNIT = Fraction(63_747, 94_303)
TABLES_BEFORE_NOTE = Fraction(25_253, 94_303)
"""The paper's table of layout regularities."""
TABLES_OF_DOCUMENT = 94_303 / 697
KILOBYTES = 660
"""Of a published document, on average."""
LEAST_TABLES = 6
CHARS_OF_ROW = 100
CHARS_BESIDE_ROWS = 1_300
"""Headings, header rows, notes and prose for each table."""
EARLIEST_STATEMENT = 1872


@dataclass(frozen=True, slots=True)
class Document:
    """A document to be written: the file's stem, the month it appeared in, and how questions speak of it."""

    stem: str
    edition: int
    spoken: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What was asked for, and what follows from it."""

    release: Release
    documents: int
    questions: int
    seed: int
    kilobytes: int = KILOBYTES

    @property
    def key(self) -> str:
        """What all draws of this sample start with."""
        return f"officeqa-sample {self.release} {self.seed}"

    @property
    def tables(self) -> float:
        """Tables of an average document."""
        return max(float(LEAST_TABLES), TABLES_OF_DOCUMENT * self.kilobytes / KILOBYTES)

    @property
    def depth(self) -> int:
        """Periods that a table shows."""
        return int(min(40, max(8, (self.kilobytes * 1000 / self.tables - CHARS_BESIDE_ROWS) / CHARS_OF_ROW)))

    @cached_property
    def all_documents(self) -> tuple[Document, ...]:
        if self.release == "full":
            return tuple(_bulletin(edition) for edition in editions(self.documents, uniform(self.key, "place")))
        yearly = min(self.documents // 4, LAST_YEAR + 1 - EARLIEST_STATEMENT)
        place = uniform(self.key, "place")
        first = EARLIEST_STATEMENT + int(place * (LAST_YEAR + 2 - EARLIEST_STATEMENT - yearly))
        statements = [_statement(year) for year in range(first, first + yearly)]
        near = max(0.0, min(0.999, (first - 1939) / 87)) if self.documents < 100 else place
        return (*statements, *(_monthly(edition) for edition in editions(self.documents - yearly, near)))

    @cached_property
    def table_counts(self) -> tuple[int, ...]:
        """Tables of each document, the contents table included."""
        spread = (uniform(self.key, "tables", document.stem) for document in self.all_documents)
        return tuple(max(LEAST_TABLES, round(self.tables * (0.85 + 0.3 * draw))) for draw in spread)

    @cached_property
    def unit_counts(self) -> tuple[int, ...]:
        """Tables of each document with a unit statement right before them."""
        return _quotas(self.table_counts, TABLES_AFTER_UNIT)

    @cached_property
    def stray_counts(self) -> tuple[int, ...]:
        """Unit statements of each document that stand elsewhere."""
        return _quotas(self.unit_counts, 1 / UNITS_BEFORE_TABLE - 1, least=0)

    @cached_property
    def note_counts(self) -> tuple[int, ...]:
        """Tables of each document with a Note/Source line right after them."""
        return _quotas(self.table_counts, TABLES_BEFORE_NOTE)


def _bulletin(edition: int) -> Document:
    spoken = f"{edition_spoken(edition)} Treasury Bulletin"
    return Document(edition_stem(edition), edition, spoken, f"Treasury Bulletin, {edition_spoken(edition)}")


def _statement(year: int) -> Document:
    title = f"Combined Statement of Receipts and Expenditures for {year}"
    return Document(f"combined_statement__historical__cs-{year}", 12 * year + 11, f"{year} Combined Statement", title)


def _monthly(edition: int) -> Document:
    year, month = edition // 12, edition % 12
    spoken = f"{MONTHS[month]} {year} Monthly Statement"
    return Document(f"monthly_statement__archive__ms-{year}-{month + 1:02}", edition, spoken, spoken)


def _quotas(counts: Sequence[int], share: Fraction, least: int = 1) -> tuple[int, ...]:
    """Each document's part, so that all documents so far always have the share of their counts, rounded."""
    found, counted, given = [], 0, 0
    for count in counts:
        counted += count
        found.append(max(least, round(counted * share) - given))
        given += found[-1]
    return tuple(found)
