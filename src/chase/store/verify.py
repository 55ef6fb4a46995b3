"""Recomputing every hash in the store, so that a changed byte is found and named."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from chase.core.errors import IntegrityError
from chase.core.values import RolloutKey
from chase.store.counts import find_missing_rows
from chase.store.digests import KEY_FIELDS, TraceCodec, rollout_digest
from chase.store.records import Problem
from chase.store.rows import columns, intact
from chase.store.schema import TABLES, connect_reader
from chase.store.workspace import Workspace

Progress = Callable[[str, int, int], None]
"""Hears what is being checked, how many are done and how many there are."""

STEP = 1000
MOST_SQLITE_PROBLEMS = 100

_NAMED_BY = {"run_rollouts": (0, 1, 2)}
"""The cells that name a row, where it is not the first."""
_NUMBERED = frozenset({"ledger", "seals"})
"""Tables whose rows are named by number."""


def find_problems(workspace: Workspace, progress: Progress) -> list[Problem]:
    """Every damage in the store: empty if each row and each trace is what was recorded."""
    connection = connect_reader(workspace)
    # A damaged text must reach the comparison, not end the reading.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        connection.execute("BEGIN")  # one snapshot: a writer at work must not look like damage
        problems = list(_check_file(connection, progress))
        for table in TABLES:
            problems += _check_table(connection, table, progress)
        problems += _check_references(connection)
        problems += _check_counts(connection)
    finally:
        connection.close()
    return problems


def _check_file(connection: sqlite3.Connection, progress: Progress) -> Iterator[Problem]:
    progress("database", 0, 1)
    try:
        found = connection.execute(f"PRAGMA integrity_check({MOST_SQLITE_PROBLEMS})").fetchall()
    except sqlite3.Error as error:
        found = [(str(error),)]
    for (text,) in found:
        if text != "ok":
            yield Problem(kind="database", id="store.sqlite", detail=text)
    progress("database", 1, 1)


def _check_table(connection: sqlite3.Connection, table: str, progress: Progress) -> list[Problem]:
    problems: list[Problem] = []
    codec = TraceCodec()
    done = total = 0
    try:
        total = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
        progress(table, 0, total)
        for number, row in _rows(connection, table):
            problems += _check_row(codec, table, number, row)
            done += 1
            if done % STEP == 0:
                progress(table, done, total)
    except sqlite3.Error as error:
        detail = f"cannot be read after {done} of {total} rows: {error}"
        problems.append(Problem(kind="database", id=table, detail=detail))
    progress(table, done, total)
    return problems


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[tuple[int, Sequence[Any]]]:
    number = "id" if table in _NUMBERED else "0"
    for row in connection.execute(f"SELECT {number}, {columns(table)}, row_digest FROM {table}"):
        yield row[0], row[1:]


def _check_row(codec: TraceCodec, table: str, number: int, row: Sequence[Any]) -> Iterator[Problem]:
    *cells, guard = row
    name = str(number) if table in _NUMBERED else "/".join(str(cells[i]) for i in _NAMED_BY.get(table, (0,)))
    kind = table.removesuffix("s")
    if not intact(cells, guard):
        yield Problem(kind=kind, id=name, detail="the row is not what was recorded")
    if table == "traces":
        try:
            codec.decode(*cells)
        except IntegrityError as error:
            yield Problem(kind=kind, id=name, detail=str(error))
    if table == "rollouts" and not _key_matches(cells):
        yield Problem(kind=kind, id=name, detail="its digest is not that of its key")


def _key_matches(cells: Sequence[Any]) -> bool:
    key = RolloutKey(**dict(zip(KEY_FIELDS, cells[1 : 1 + len(KEY_FIELDS)], strict=True)))
    try:
        return bool(rollout_digest(key) == cells[0])
    except (TypeError, ValueError):
        return False


def _check_references(connection: sqlite3.Connection) -> Iterator[Problem]:
    try:
        for digest, trace in connection.execute(
            "SELECT digest, trace FROM rollouts WHERE trace NOT IN (SELECT digest FROM traces)"
        ):
            yield Problem(kind="rollout", id=digest, detail=f"its trace {trace} is missing")
        for run, digest in connection.execute(
            "SELECT run, rollout FROM run_rollouts WHERE rollout NOT IN (SELECT digest FROM rollouts)"
        ):
            yield Problem(kind="rollout", id=digest, detail=f"run {run} used it, but it is missing")
    except sqlite3.Error as error:
        yield Problem(kind="database", id="references", detail=f"cannot be checked: {error}")


def _check_counts(connection: sqlite3.Connection) -> Iterator[Problem]:
    try:
        yield from find_missing_rows(connection)
    except sqlite3.Error as error:
        yield Problem(kind="database", id="counts", detail=f"cannot be checked: {error}")
