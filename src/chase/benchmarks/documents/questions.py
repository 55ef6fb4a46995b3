"""The questions of a benchmark, from JSONL or CSV, with everything that is wrong with them and the lines where."""

from __future__ import annotations

import csv
import difflib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chase.benchmarks.documents.problems import Problem
from chase.benchmarks.documents.reading import read_text
from chase.core.keyed import canonical_json
from chase.core.outside import NotPlain, parse_json
from chase.core.values import Json

KEYS = ("id", "question", "answer", "evidence", "group")
REQUIRED = KEYS[:3]
LONGEST = {"id": 200, "question": 20_000, "answer": 20_000, "group": 200}
_SEPARATOR = ";"
"""Between evidence files in a cell of a CSV."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One question as it was read."""

    id: str
    question: str
    answer: str
    """A text as it is; a number or a list as its JSON text."""
    evidence: tuple[str, ...] = ()
    """Paths of documents, in the folder of documents."""
    group: str | None = None
    line: int


Row = tuple[int, Mapping[str, Json]]


def read_questions(path: Path, name: str) -> tuple[list[Question], list[Problem]]:
    """All questions that can be read, and what is wrong with the file and with the others."""
    text, problems = read_text(path, name)
    if text is None:
        return [], problems
    rows: list[Row] = []
    for line, found in _csv_rows(text) if name.endswith(".csv") else _json_rows(text):
        if isinstance(found, str):
            problems.append(Problem(file=name, line=line, what=found))
        else:
            rows.append((line, found))
    questions = []
    for line, row in rows:
        wrong = list(_wrong(row))
        problems += [Problem(file=name, line=line, what=what) for what in wrong]
        if not wrong:
            questions.append(_question(line, row))
    if not rows and not problems:
        problems.append(Problem(file=name, what="it holds no questions. Write one a line."))
    return questions, [*problems, *_repeated(questions, name)]


def _json_rows(text: str) -> Iterator[tuple[int, Mapping[str, Json] | str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except NotPlain as error:
            yield number, f"the line is {error}. Write one JSON object a line."
            continue
        yield number, row if isinstance(row, dict) else "the line is no JSON object. Write one a line."


def _csv_rows(text: str) -> Iterator[tuple[int, Mapping[str, Json] | str]]:
    table = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=_delimiter(text))
    try:
        header = [cell.strip() for cell in next(table, [])]
        if missing := [key for key in REQUIRED if key not in header]:
            yield 1, f"the header has no column {', '.join(missing)}. Columns, with commas between: {', '.join(KEYS)}."
            return
        for cells in table:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                counts = f"the row has {len(cells)} cells and the header {len(header)}"
                yield table.line_num, f"{counts}. Quote cells that hold {table.dialect.delimiter!r}."
                continue
            row = {name: cell.strip() for name, cell in zip(header, cells, strict=True) if cell.strip()}
            yield table.line_num, {**row, **_evidence_of_cell(row)}
    except csv.Error as error:
        yield table.line_num, f"the CSV cannot be read here: {error}. Mend the quotes of this row."


def _delimiter(text: str) -> str:
    """What stands between cells: commas, or what a spreadsheet puts there if the header is whole with it alone."""
    header = text.partition("\n")[0]
    named = {mark: {cell.strip(' "\r') for cell in header.split(mark)} for mark in (",", ";", "\t")}
    return next((mark for mark, names in named.items() if names.issuperset(REQUIRED)), ",")


def _evidence_of_cell(row: Mapping[str, str]) -> Mapping[str, Json]:
    cell = row.get("evidence")
    return {} if cell is None else {"evidence": [part.strip() for part in cell.split(_SEPARATOR) if part.strip()]}


def _wrong(row: Mapping[str, Json]) -> Iterator[str]:
    for key in row:
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.5)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            yield f"unknown key '{key[:60]}'.{hint} Valid: {', '.join(KEYS)}."
    for key in REQUIRED:
        value = row.get(key)
        if value is None or value == [] or (isinstance(value, str) and not value.strip()):
            yield f"{_which(row)} has no {key}. Every question needs one."
        elif not _fits(key, value):
            kinds = "a text, a number or a list of texts" if key == "answer" else "a text"
            yield f"{key}={json.dumps(value)[:60]}: it must be {kinds}, of at most {LONGEST[key]} characters."
    evidence, group = row.get("evidence", []), row.get("group", "-")
    if not isinstance(evidence, list) or not all(isinstance(part, str) and part for part in evidence):
        yield f"{_which(row)}: evidence must be a list of documents' paths."
    if not isinstance(group, str) or not group.strip() or len(group) > LONGEST["group"]:
        yield f"{_which(row)}: group must be a text of 1 to {LONGEST['group']} characters."


def _which(row: Mapping[str, Json]) -> str:
    id_ = row.get("id")
    return f"question '{id_[:60]}'" if isinstance(id_, str) and id_.strip() else "the question"


def _fits(key: str, value: Json) -> bool:
    if key == "answer" and not isinstance(value, str):
        texts = isinstance(value, list) and all(isinstance(part, str) and part.strip() for part in value)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return (texts or number) and len(canonical_json(value)) <= LONGEST[key]
    return isinstance(value, str) and len(value) <= LONGEST[key]


def _question(line: int, row: Mapping[str, Json]) -> Question:
    answer = row["answer"]
    return Question(
        id=row["id"].strip(),
        question=row["question"].strip(),
        answer=answer.strip() if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False),
        evidence=tuple(dict.fromkeys(row.get("evidence", ()))),
        group=row["group"].strip() if "group" in row else None,
        line=line,
    )


def _repeated(questions: Sequence[Question], name: str) -> Iterator[Problem]:
    first: dict[str, int] = {}
    asked: dict[str, int] = {}
    for question in questions:
        if question.id in first:
            what = f"id '{question.id[:60]}' stands on line {first[question.id]} already. Give each question its own."
            yield Problem(file=name, line=question.line, what=what)
        elif question.question in asked:
            what = f"the question is asked on line {asked[question.question]} already: both go to the same task set."
            yield Problem(file=name, line=question.line, what=what, severity="warning")
        first.setdefault(question.id, question.line)
        asked.setdefault(question.question, question.line)
