"""How many rows each table was given, beside the tables: a row that somebody deleted is missed."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator

from chase.store.records import Problem
from chase.store.rows import INSERT_LEDGER, INSERT_RUN, INSERT_SEAL, INSERT_USE, INSERT_VERDICT, Statement, count_row

_COUNTED = {
    INSERT_LEDGER: "ledger",
    INSERT_RUN: "runs",
    INSERT_SEAL: "seals",
    INSERT_USE: "run_rollouts",
    INSERT_VERDICT: "verdicts",
}
"""Tables of which nothing is ever removed. A rollout that is gone is missed by the runs that used it."""
PREFIX = "rows of "


class RowCounts:
    """The counts of a store that is open for writing: kept in `meta`, in the transaction that adds the rows."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        kept = dict(connection.execute("SELECT key, value FROM meta WHERE key LIKE ?", (f"{PREFIX}%",)))
        self._kept = {table: _number(kept.get(PREFIX + table)) for table in _COUNTED.values()}
        for table, count in self._kept.items():
            if count is None:  # a store from before rows were counted
                self._kept[table] = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
        self._added: Counter[str] = Counter()

    def add(self, sql: str, rows: int) -> None:
        """Rows that a statement has added."""
        if sql in _COUNTED:
            self._added[_COUNTED[sql]] += rows

    def statements(self) -> Iterator[Statement]:
        """What the transaction must write of the counts before it is committed."""
        for table, added in self._added.items():
            yield count_row(PREFIX + table, (self._kept[table] or 0) + added)

    def settle(self, *, committed: bool) -> None:
        """The transaction is over."""
        for table, added in self._added.items() if committed else ():
            self._kept[table] = (self._kept[table] or 0) + added
        self._added.clear()


def find_missing_rows(connection: sqlite3.Connection) -> Iterator[Problem]:
    """Tables that have not as many rows as they were given."""
    for key, value in connection.execute("SELECT key, value FROM meta WHERE key LIKE ?", (f"{PREFIX}%",)).fetchall():
        table, given = key.removeprefix(PREFIX), _number(value)
        if given is None or table not in _COUNTED.values():
            continue  # the row itself was changed, which is said of it
        [there] = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
        if there != given:
            yield Problem(kind=table.removesuffix("s"), id="rows", detail=f"{given} were recorded, {there} are there")


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.isascii() and value.isdecimal() else None
