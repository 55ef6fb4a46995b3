"""The paper's descriptive table of layout regularities, counted in one pass with one document in memory at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

from chase.benchmarks.officeqa.blocks import blocks
from chase.benchmarks.officeqa.records import read_questions
from chase.benchmarks.officeqa.releases import RELEASES
from chase.core.errors import SetupError, UserError
from chase.core.interfaces import Progress
from chase.core.values import Json

TEXTS = "treasury_bulletins_parsed/transformed"
ALONE_DOCUMENTS = 64
"""Up to this many, other processes cost more than they save."""
CHUNK = 8
_SCALE = re.compile(r"\b(?:thousand|million|billion|trillion)s?\b", re.IGNORECASE)


def mentions_scale(question: str) -> bool:
    """The paper: it "contains the whole word *thousand*, *million*, *billion*, or *trillion*, allowing plural forms
    and ignoring case".
    """
    return _SCALE.search(question) is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Counts of layout regularities; adding two joins two disjoint sets of documents and questions."""

    questions: int = 0
    questions_with_scale: int = 0
    documents: int = 0
    tables: int = 0
    unit_statements: int = 0
    units_before_table: int = 0
    """Unit statements right before a table, which is also how many tables have one right before them."""
    tables_before_note: int = 0
    documents_with_unit_before_table: int = 0
    documents_with_note_after_table: int = 0

    def __add__(self, other: Layout) -> Layout:
        names = self.__slots__
        return Layout(**{n: a + b for n, a, b in zip(names, astuple(self), astuple(other), strict=True)})

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The paper's four rows."""
        noted, before = self.documents_with_note_after_table, self.documents_with_unit_before_table
        return (
            Criterion("Questions mentioning numerical scales", self.questions_with_scale, self.questions, None),
            Criterion(
                "Identified unit statements immediately before a table",
                self.units_before_table,
                self.unit_statements,
                before,
            ),
            Criterion(
                "Table blocks preceded by an identified unit statement", self.units_before_table, self.tables, before
            ),
            Criterion("Table blocks followed by a Note/Source line", self.tables_before_note, self.tables, noted),
        )


@dataclass(frozen=True, slots=True)
class Criterion:
    """A row of the table, and how many documents have an example of it."""

    name: str
    count: int
    of: int
    documents: int | None

    @property
    def rate(self) -> float | None:
        return self.count / self.of if self.of else None

    def as_json(self) -> Json:
        return {"name": self.name, "count": self.count, "of": self.of, "rate": self.rate, "documents": self.documents}


PAPER = Layout(
    questions=246,
    questions_with_scale=143,
    documents=697,
    tables=94_303,
    unit_statements=66_951,
    units_before_table=63_747,
    tables_before_note=25_253,
    documents_with_unit_before_table=697,
    documents_with_note_after_table=697,
)
"""What the paper counts in OfficeQA Full."""


def count_layout(documents: Iterable[tuple[str, str]], questions: Iterable[str]) -> Layout:
    """The counts of documents, as (name, text), and of questions' texts. Each document is looked at once and let go."""
    return sum((count_document(text) for _, text in documents), count_questions(questions))


def count_questions(questions: Iterable[str]) -> Layout:
    found = [mentions_scale(question) for question in questions]
    return Layout(questions=len(found), questions_with_scale=sum(found))


def count_document(text: str) -> Layout:
    """The counts of one document. Adjacency ignores blank lines only, as in the paper."""
    kinds = [block.kind for block in blocks(text.split("\n")) if block.kind != "blank"]
    pairs = list(pairwise(kinds))
    before, noted = pairs.count(("unit", "table")), pairs.count(("table", "note"))
    return Layout(
        documents=1,
        tables=kinds.count("table"),
        unit_statements=kinds.count("unit"),
        units_before_table=before,
        tables_before_note=noted,
        documents_with_unit_before_table=int(before > 0),
        documents_with_note_after_table=int(noted > 0),
    )


def count_folder(data: Path, tell: Progress, *, workers: int | None = None) -> Layout:
    """The counts of a data folder in the published layout of OfficeQA Full."""
    questions = read_questions(data / RELEASES["full"].csv, "full", answers=False)
    files = sorted((data / TEXTS).glob("*.txt"))
    if not files:
        raise SetupError(f"{data / TEXTS} holds no .txt files. Point --data to the folder of OfficeQA Full.")
    counted = count_questions(question.question for question in questions)
    for part in _count_files(files, workers or os.cpu_count() or 1):
        counted += part
        tell(f"document {counted.documents} of {len(files)}")
    return counted


def _count_files(files: list[Path], workers: int) -> Iterator[Layout]:
    if workers == 1 or len(files) <= ALONE_DOCUMENTS:
        yield from map(count_file, files)
        return
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        try:
            yield from pool.map(count_file, files, chunksize=CHUNK)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def count_file(file: Path) -> Layout:
    try:
        return count_document(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not UTF-8 (byte {error.start}). Download it again.") from None
    except OSError as error:
        raise SetupError(f"{file} cannot be read: {error.strerror}.") from None
