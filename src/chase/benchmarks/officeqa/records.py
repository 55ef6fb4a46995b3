"""The questions of a release, read from its CSV and checked."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chase.benchmarks.officeqa import sources
from chase.benchmarks.officeqa.releases import Release
from chase.core.errors import SetupError, UserError

DIFFICULTIES = ("easy", "hard")
COLUMNS: Mapping[Release, tuple[str, ...]] = {
    "full": ("uid", "question", "answer", "source_docs", "source_files", "difficulty"),
    "pro-v2": ("uid", "question", "answer", "source_docs"),
}
"""The columns that must be there; others are not looked at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One record of a release."""

    uid: str
    question: str
    answer: str
    """Empty where the file was read without answers."""
    sources: tuple[str, ...]
    """Stems of all source files, named directly or by URL, sorted."""
    difficulty: str | None


def read_questions(path: Path, release: Release, *, answers: bool = True) -> tuple[Question, ...]:
    """All questions in the file's order. Whatever is wrong with the file is one sentence.

    `answers=False`: the answer column is not read, and need not be there.
    """
    wanted = [column for column in COLUMNS[release] if answers or column != "answer"]
    questions = tuple(_question(row, release, where) for where, row in _rows(path, wanted))
    if not questions:
        raise UserError(f"{path} holds no questions. Download the file again.")
    _refuse_repeats(path, "uid", (question.uid for question in questions))
    _refuse_repeats(path, "question", (question.question for question in questions))
    _refuse_partly_labelled(path, questions)
    return questions


def _rows(path: Path, wanted: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """(where, the wanted cells, stripped) of each row."""
    table = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(table, [])]
        _check_header(path, header, wanted)
        for cells in table:
            where = f"{path}, line {table.line_num}"
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise UserError(
                    f"{where}: the row has {len(cells)} columns and the header {len(header)}; the CSV is damaged. "
                    "Download it again."
                )
            row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
            yield where, {column: row[column] for column in wanted} | {"source_files": row.get("source_files", "")}
    except csv.Error as error:
        raise UserError(f"{path}, line {table.line_num}: the CSV is damaged ({error}). Download it again.") from None


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise SetupError(f"{path} is missing. Point to the folder that you downloaded the release to.") from None
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from None
    if not raw.strip():
        raise UserError(f"{path} is empty. Download the file again.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path} is not UTF-8 (byte {error.start}). Download it again, or save it with the encoding UTF-8."
        ) from None
    if "\0" in text:
        raise UserError(f"{path} is damaged: it has zero bytes. Download it again, or save it with the encoding UTF-8.")
    return text


def _check_header(path: Path, header: Sequence[str], wanted: Iterable[str]) -> None:
    if missing := [column for column in wanted if column not in header]:
        raise UserError(
            f"{path} has no column {', '.join(missing)}; it has {', '.join(header)[:300]}. "
            "Take the file as it was released."
        )
    _refuse_repeats(path, "column", header)


def _question(row: Mapping[str, str], release: Release, where: str) -> Question:
    for column in ("uid", "question", "answer"):
        if not row.get(column, "-"):
            raise UserError(f"{where}: the {column} is empty. Take the file as it was released.")
    named = _sources(row, release, f"{where} (uid={row['uid']})")
    return Question(
        uid=row["uid"],
        question=row["question"],
        answer=row.get("answer", ""),
        sources=named,
        difficulty=_difficulty(row.get("difficulty", ""), where),
    )


def _sources(row: Mapping[str, str], release: Release, where: str) -> tuple[str, ...]:
    read = sources.files_of_urls if release == "full" else sources.files_of_records
    named = {*sources.listed_files(row["source_files"]), *read(row["source_docs"], where)}
    if not named or "" in named:
        raise UserError(f"{where}: a source has no name. Take source_docs and source_files as they were released.")
    return tuple(sorted(named))


def _difficulty(label: str, where: str) -> str | None:
    if label and label.lower() not in DIFFICULTIES:
        raise UserError(f"{where}: difficulty={label[:80]!r} is unknown. Valid: {', '.join(DIFFICULTIES)}.")
    return label.lower() or None


def _refuse_partly_labelled(path: Path, questions: Sequence[Question]) -> None:
    bare = [question.uid for question in questions if question.difficulty is None]
    if bare and len(bare) < len(questions):
        raise UserError(
            f"{path}: difficulty is empty for uid={bare[0]} and {len(bare) - 1} more, and stated for others. "
            "Label all questions or none."
        )


def _refuse_repeats(path: Path, what: str, values: Iterable[str]) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise UserError(f"{path}: {what}={value[:120]!r} is there twice; each must be unique.")
        seen.add(value)
