"""Scores that somebody else's runner produced, as rows: read, checked, and brought into cells of tasks."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from pathlib import Path
from typing import Any

from chase.core.errors import UserError, choose
from chase.core.outside import NotPlain, parse_json
from chase.stats.estimates import within_task_means

COLUMNS = ("task", "harness", "variant", "rollout", "score")
CLUSTER = "cluster"
"""An optional column: tasks with the same value may depend on each other."""
MOST_LISTED = 10
"""Of what is missing, in a sentence."""

Where = str
"""What a sentence calls a row: `scores.csv, line 7`."""
Found = tuple[Where, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreRow:
    """One rollout's score."""

    where: Where
    task: str
    harness: str
    variant: str
    rollout: str
    score: Fraction
    cluster: str | None = None


Scores = Mapping[tuple[str, str], Mapping[str, Sequence[Fraction]]]
"""(harness, variant) → task → the scores of its rollouts."""


def read_rows(source: str | Path | Sequence[Mapping[str, Any]]) -> list[ScoreRow]:
    """The rows of a CSV or JSONL file, or those that are given. The first wrong one is refused."""
    found = _in_file(Path(source)) if isinstance(source, str | Path) else _given(source)
    rows = [_row(where, fields) for where, fields in found]
    named = f"--scores={source}" if isinstance(source, str | Path) else "scores"
    if not rows:
        raise UserError(f"{named} is empty: it must have rows with {', '.join(COLUMNS)}.")
    return rows


def _given(rows: Sequence[Mapping[str, Any]]) -> Iterator[Found]:
    for place, fields in enumerate(rows, 1):
        yield f"scores, row {place}", fields


def _in_file(path: Path) -> Iterator[Found]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--scores={path} cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    return _json_lines(path, text) if text.lstrip()[:1] in ("{", "[") else _csv_lines(path, text)


def _json_lines(path: Path, text: str) -> Iterator[Found]:
    for number, line in enumerate(text.split("\n"), 1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            fields = parse_json(line)
        except NotPlain as error:
            raise UserError(f"{where} is {error}.") from None
        if not isinstance(fields, dict):
            raise UserError(f"{where} must be one JSON object with {', '.join(COLUMNS)}.")
        yield where, fields


def _csv_lines(path: Path, text: str) -> Iterator[Found]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        if twice := [name for name, count in Counter(header).items() if count > 1]:
            raise UserError(f"{path}, line 1: column '{twice[0]}' is there twice: leave one out.")
        for cells in reader:
            where = f"{path}, line {reader.line_num}"
            if not cells:
                continue
            if len(cells) != len(header):
                raise UserError(f"{where} has {len(cells)} values, and there are {len(header)} columns.")
            yield where, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num} is not valid CSV: {error}.") from None


def _row(where: Where, fields: Mapping[str, Any]) -> ScoreRow:
    for name in fields:
        choose(f"column in {where}", str(name), (*COLUMNS, CLUSTER))
    if missing := [name for name in COLUMNS if name not in fields]:
        raise UserError(f"{where} has no {missing[0]}: the columns are {', '.join(COLUMNS)}.")
    names = {name: _name(where, name, fields[name]) for name in COLUMNS[:-1]}
    cluster = _name(where, CLUSTER, fields[CLUSTER]) if fields.get(CLUSTER) not in (None, "") else None
    return ScoreRow(where=where, **names, score=_score(where, fields["score"]), cluster=cluster)


def _name(where: Where, column: str, value: Any) -> str:
    text = "" if isinstance(value, bool) or not isinstance(value, str | Real) else str(value).strip()
    if not text:
        raise UserError(f"{where}: {column}={value} must be a name or a number.")
    return text


def _score(where: Where, value: Any) -> Fraction:
    """Exactly what is written: 0.1 is one tenth."""
    try:
        number = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not 0 <= number <= 1:
        raise UserError(f"{where}: score={value} must be a number from 0 to 1 (divide percentages by 100).")
    return Fraction(repr(number))


def cells(rows: Iterable[ScoreRow]) -> Scores:
    """The scores by harness and variant, then by task. The same rollout twice is refused."""
    seen: dict[tuple[str, str, str, str], Where] = {}
    found: dict[tuple[str, str], dict[str, list[Fraction]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        key = (row.task, row.harness, row.variant, row.rollout)
        if key in seen:
            raise UserError(
                f"{row.where}: task {row.task}, harness {row.harness}, variant {row.variant}, rollout {row.rollout} is "
                f"there twice, first in {seen[key]}: leave one of the rows out, or number the rollouts."
            )
        seen[key] = row.where
        found[row.harness, row.variant][row.task].append(row.score)
    return found


def clusters(rows: Iterable[ScoreRow]) -> dict[str, str]:
    """Task → its cluster, of those that have one. A task in two clusters is refused."""
    found: dict[str, str | None] = {}
    for row in rows:
        if found.setdefault(row.task, row.cluster) != row.cluster:
            raise UserError(
                f"{row.where}: task {row.task} has cluster={row.cluster}, and before it {found[row.task]}: a task "
                f"belongs to one cluster. Give all of its rows the same value."
            )
    return {task: cluster for task, cluster in found.items() if cluster is not None}


def complete(
    scores: Scores, harnesses: Sequence[str], variants: Sequence[str]
) -> dict[tuple[str, str], dict[str, Fraction]]:
    """The tasks' means in each cell of these harnesses and variants. Whatever is missing is listed and refused."""
    wanted = [(harness, variant) for harness in harnesses for variant in variants]
    tasks = sorted({task for cell in wanted for task in scores.get(cell, {})})
    rollouts = max(len(found) for cell in wanted for found in scores.get(cell, {}).values())
    missing = [line for cell in wanted for line in _missing(cell, scores.get(cell, {}), tasks, rollouts)]
    if missing:
        more = f"; and {len(missing) - MOST_LISTED} more" if len(missing) > MOST_LISTED else ""
        raise UserError(
            f"every task must have {rollouts} rollout{'s' * (rollouts > 1)} of both harnesses under every variant; "
            f"missing: {'; '.join(missing[:MOST_LISTED])}{more}. Run what is missing, or leave the task or variant out."
        )
    if len(tasks) < 2:
        raise UserError(f"there is one task ({tasks[0]}): an interval needs at least two, and a verdict many more.")
    return {cell: within_task_means(scores[cell]) for cell in wanted}


def _missing(
    cell: tuple[str, str], found: Mapping[str, Sequence[Fraction]], tasks: Sequence[str], rollouts: int
) -> Iterator[str]:
    """What a cell lacks, in words: a variant that was not run at all is named once."""
    harness, variant = cell
    if not found:
        yield f"{harness} under {variant} (all {len(tasks)} tasks)"
        return
    for task in tasks:
        if (there := len(found.get(task, ()))) < rollouts:
            yield f"{harness} under {variant}, task {task} ({there} of {rollouts})"
