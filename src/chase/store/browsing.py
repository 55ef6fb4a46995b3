"""Rollouts page by page, newest first, however many there are: each page is a query from where the last one ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from chase.core.values import Usage
from chase.store.digests import rollout_digest
from chase.store.reader import Reader
from chase.store.records import StoredRollout
from chase.store.rows import columns, rollout_from
from chase.store.workspace import Workspace

PAGE = 50
CHUNK = 400
MOST_LOOKED = 10_000
"""Rollouts that one page looks through by their twins, at most; the next page goes on from there."""
MOST_SEARCHED = 50_000
"""The same of words, which no index holds."""
SMALL_RUN = 4_000
"""Up to so many rollouts a page starts from the run's own, beyond from the newest of all."""

Kind = Literal["wrong", "failed", "changed"]
"""Scored below 1; not scored; scored otherwise than the same rollout as released."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sought:
    """Which rollouts are looked for; what is None is not asked."""

    run: str | None = None
    task: str | None = None
    harness: str | None = None
    """The beginning of a hash, as is `transformation`."""
    transformation: str | None = None
    role: str | None = None
    kind: Kind | None = None
    words: str | None = None
    """Stands somewhere in the answer, the reason, the task's id or at the beginning of the digest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """Some rollouts, newest first."""

    rollouts: tuple[StoredRollout, ...]
    older: str | None
    """The digest that the next page begins after; None: there is no older one."""
    newer: str | None
    """The digest that the page before ends ahead of; None: this is the first."""


_CONDITIONS = {
    "task": "r.task = :task",
    "harness": "r.harness >= :harness AND r.harness < :harness || 'g'",
    "transformation": "r.transformation >= :transformation AND r.transformation < :transformation || 'g'",
    "role": "r.role = :role",
    "words": "(instr(lower(coalesce(r.answer, '')), lower(:words)) OR instr(lower(r.reason), lower(:words)) "
    "OR instr(lower(r.task), lower(:words)) OR substr(r.digest, 1, length(:words)) = lower(:words))",
}
"""'g' comes after every hexadecimal digit. SQLite makes both sides small, and so leaves letters beyond ASCII alone."""
_KINDS = {
    "wrong": "r.status = 'scored' AND r.score < 1",
    "failed": "r.status <> 'scored'",
    "changed": "r.status = 'scored' AND r.transformation <> :released",
}


class Browser(Reader):
    """Reads a store page by page. Takes no lock and writes nothing."""

    def __init__(self, workspace: Workspace, released: str) -> None:
        """`released` is the hash of the transformation that changes nothing."""
        super().__init__(workspace)
        self._released = released

    def close(self) -> None:
        self._connection.close()

    def page(self, sought: Sought, *, before: str | None = None, after: str | None = None, size: int = PAGE) -> Page:
        """The newest of those that are sought: older than `before`, or the oldest ones that are newer than `after`."""
        if after is not None:
            return self._newer(sought, after, size)
        found, last = self._take(sought, self._place(before), size + 1, newest_first=True)
        more = len(found) > size
        kept = found[:size]
        older = kept[-1].digest if more and kept else last
        return Page(rollouts=tuple(kept), older=older, newer=kept[0].digest if before is not None and kept else None)

    def spent_since(self, run: str, last: int) -> tuple[int, Usage, int]:
        """What a run and the members of a comparison were charged after a row of the ledger: the last row now, the
        usage with the cost of what has a known one, and how many requests have none.
        """
        [row] = self._rows(
            "SELECT MAX(id), COUNT(*), TOTAL(input_tokens), TOTAL(cached_tokens), TOTAL(output_tokens), "
            "TOTAL(wall_seconds), TOTAL(cost_usd), COUNT(*) - COUNT(cost_usd) FROM ledger WHERE id > :last "
            "AND (run = :run OR substr(run, 1, length(:run) + 1) = :run || '-')",
            {"run": run, "last": last},
        )
        newest, requests, taken, cached, given, seconds, cost, unpriced = row
        usage = Usage(
            requests=requests,
            input_tokens=int(taken),
            cached_tokens=int(cached),
            output_tokens=int(given),
            wall_seconds=seconds,
            cost_usd=cost,
        )
        return newest or last, usage, unpriced

    def twin(self, rollout: StoredRollout, **changed: str | int) -> str:
        """The digest of the rollout that differs in these fields of the key alone."""
        return rollout_digest(replace(rollout.key, **changed))  # type: ignore[arg-type]

    def with_status(self, digests: list[str]) -> dict[str, StoredRollout]:
        """The rollouts of these digests that there are, scored or not."""
        marks = ", ".join("?" * len(digests))
        rows = self._rows(f"{_SELECT} WHERE r.digest IN ({marks})", digests)
        return {row[1]: rollout_from(row[1:]) for row in rows}

    def _newer(self, sought: Sought, after: str, size: int) -> Page:
        found, last = self._take(sought, self._place(after), size + 1, newest_first=False)
        kept = found[:size][::-1]
        newer = kept[0].digest if len(found) > size else last
        return Page(rollouts=tuple(kept), older=kept[-1].digest if kept else after, newer=newer)

    def _take(
        self, sought: Sought, place: int | None, count: int, *, newest_first: bool
    ) -> tuple[list[StoredRollout], str | None]:
        """Up to `count` of those sought from a place on; where the search was cut short also the last one looked at."""
        found: list[StoredRollout] = []
        looked, last = 0, None
        asked = count if sought.kind != "changed" else CHUNK
        while len(found) < count:
            rows, cut = self._select(sought, place, asked, newest_first=newest_first)
            chunk = [rollout_from(row[1:]) for row in rows]
            found += self._changed(chunk) if sought.kind == "changed" else chunk
            if len(rows) < asked:
                return found[:count], cut
            place, last, looked = rows[-1][0], chunk[-1].digest, looked + len(rows)
            if looked >= MOST_LOOKED and len(found) < count:
                return found, last
        return found[:count], None

    def _changed(self, chunk: list[StoredRollout]) -> Iterator[StoredRollout]:
        """Those that are scored otherwise than their twins on the released benchmark."""
        twins = {rollout.digest: self.twin(rollout, transformation=self._released) for rollout in chunk}
        known = self.get_many(twins.values())
        for rollout in chunk:
            twin = known.get(twins[rollout.digest])
            if twin is not None and twin.outcome.score != rollout.outcome.score:
                yield rollout

    def _select(
        self, sought: Sought, place: int | None, count: int, *, newest_first: bool
    ) -> tuple[list[Any], str | None]:
        """Up to `count` rows from a place on; where the search was cut short also the digest that it came to."""
        asked: dict[str, Any] = {name: value for name in _CONDITIONS if (value := getattr(sought, name)) is not None}
        conditions = [_CONDITIONS[name] for name in asked]
        if sought.kind is not None:
            conditions.append(_KINDS[sought.kind])
            asked["released"] = self._released
        if sought.run is not None:
            conditions.append(self._of_run(sought.run))
            asked["run"] = sought.run
        if place is not None:
            conditions.append(f"r.rowid {'<' if newest_first else '>'} :place")
            asked["place"] = place
        cut = None
        if sought.words is not None and (end := self._end_of_search(place, newest_first=newest_first)) is not None:
            conditions.append(f"r.rowid {'>=' if newest_first else '<='} :end")
            asked["end"], cut = end
        where = " AND ".join(conditions) or "TRUE"
        order = "DESC" if newest_first else "ASC"
        rows = self._rows(f"{_SELECT} WHERE {where} ORDER BY r.rowid {order} LIMIT :count", {**asked, "count": count})
        return rows, cut

    def _end_of_search(self, place: int | None, *, newest_first: bool) -> tuple[int, str] | None:
        """The last rollout that one page looks through for words; None where it can look through all that there are."""
        order, beyond = ("DESC", "<") if newest_first else ("ASC", ">")
        rows = self._rows(
            f"SELECT rowid, digest FROM rollouts WHERE :place IS NULL OR rowid {beyond} :place "
            f"ORDER BY rowid {order} LIMIT 2 OFFSET :most",
            {"place": place, "most": MOST_SEARCHED - 1},
        )
        return (rows[0][0], rows[0][1]) if len(rows) == 2 else None

    def _of_run(self, run: str) -> str:
        """The condition that a run used the rollout, as the number of its rollouts makes it quick."""
        some = self._rows(
            "SELECT COUNT(*) FROM (SELECT 1 FROM run_rollouts WHERE run = ? LIMIT ?)", (run, SMALL_RUN + 1)
        )
        if some[0][0] <= SMALL_RUN:
            return "r.digest IN (SELECT rollout FROM run_rollouts WHERE run = :run)"
        # Then by the whole primary key, a look for each of the few methods.
        methods = ", ".join("'" + method.replace("'", "''") + "'" for method in self._methods(run))
        return (
            "EXISTS (SELECT 1 FROM run_rollouts u "
            f"WHERE u.run = :run AND u.method IN ({methods}) AND u.rollout = r.digest)"
        )

    def _methods(self, run: str) -> Iterator[str]:
        """The methods that a run has, each found from the one before without a look at the rollouts between."""
        method: str | None = ""
        while method is not None:
            rows = self._rows("SELECT MIN(method) FROM run_rollouts WHERE run = ? AND method > ?", (run, method))
            method = rows[0][0]
            if method is not None:
                yield method

    def _place(self, digest: str | None) -> int | None:
        """Where a rollout stands. One that is not there any more stands at the newest end."""
        if digest is None:
            return None
        rows = self._rows("SELECT rowid FROM rollouts WHERE digest = ?", (digest,))
        return int(rows[0][0]) if rows else None


_SELECT = f"SELECT r.rowid, {columns('rollouts', 'r')}, r.row_digest FROM rollouts r"
