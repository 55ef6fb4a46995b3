"""Reading the store: rollouts by digest, traces, runs, seals and sums over the ledger."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from chase.core.errors import IntegrityError, UserError
from chase.core.values import UNJUDGED, Json, Usage, Verdict
from chase.store.digests import TraceCodec
from chase.store.lock import writer_pid
from chase.store.records import (
    EpisodeCount,
    MeansWanted,
    Run,
    Seal,
    Spend,
    StoredRollout,
    StoreInfo,
    Use,
    UsedRollout,
    Wanted,
)
from chase.store.rows import columns, intact, rollout_from, run_from, seal_from, usage_from, verdict_from
from chase.store.schema import MIGRATIONS, connect_reader, explained
from chase.store.workspace import Workspace

CHUNK = 500
"""Digests asked for in one query."""
SHOWN_MATCHES = 4
SHOWN_ROLLOUTS = 50

_ROLLOUT = f"SELECT {columns('rollouts')}, row_digest FROM rollouts"
_USAGE_SUMS = (
    "SUM(r.requests), SUM(r.input_tokens), SUM(r.cached_tokens), SUM(r.output_tokens), SUM(r.wall_seconds), "
    "CASE WHEN SUM(r.cost_usd IS NULL AND r.requests > 0) = 0 THEN SUM(r.cost_usd) END"
)
"""Usage over rollouts `r`. One unknown cost makes the sum unknown."""
_PURPOSES = "method, role, purpose"


EVERY = Wanted()
_CONDITIONS = {
    "run": "digest IN (SELECT rollout FROM run_rollouts WHERE run = :run)",
    "task": "task = :task",
    "harness": "substr(harness, 1, length(:harness)) = :harness",
    "transformation": "substr(transformation, 1, length(:transformation)) = :transformation",
    "role": "role = :role",
    "outcome": "(status = :outcome OR substr(reason, 1, length(:outcome)) = :outcome)",
    "least_score": "score >= :least_score",
    "most_score": "score <= :most_score",
}
"""What each field of `Wanted` asks."""


class Reader:
    """Reads what is committed, from any thread, whether or not a writer is at work."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._reading = threading.Lock()
        self._codec = TraceCodec()
        self._connection: sqlite3.Connection = connect_reader(workspace)

    def get(self, digest: str) -> StoredRollout | None:
        """The scored rollout with this digest. One that failed is not returned: it is to be tried again."""
        return self.get_many([digest]).get(digest)

    def get_many(self, digests: Iterable[str]) -> dict[str, StoredRollout]:
        """The scored rollouts among these digests."""
        return self._among(digests, "status = 'scored'")

    def get_unjudged(self, digests: Iterable[str]) -> dict[str, StoredRollout]:
        """The rollouts among these digests that were played to their end and wait for a judge."""
        return self._among(digests, f"status = 'failed' AND substr(reason, 1, {len(UNJUDGED)}) = '{UNJUDGED}'")

    def verdict(self, digest: str) -> Verdict | None:
        """The judge's verdict on a case, where there is one."""
        rows = self._intact("verdicts", "WHERE digest = ?", (digest,))
        return verdict_from(rows[0]).verdict if rows else None

    def find_rollout(self, prefix: str) -> StoredRollout:
        """The one rollout, scored or not, whose digest begins with `prefix`."""
        matches = self._rows(
            f"{_ROLLOUT} WHERE digest >= ? AND digest < ? ORDER BY digest LIMIT ?",
            (prefix, prefix + "g", SHOWN_MATCHES),  # 'g' comes after every hexadecimal digit
        )
        if not prefix or not matches:
            raise UserError(
                f"no rollout begins with '{prefix}' in {self.workspace.database}. "
                "`chase trace list` shows the newest rollouts with their digests."
            )
        if len(matches) > 1:
            shown = ", ".join(row[0][: len(prefix) + 8] for row in matches)
            raise UserError(f"'{prefix}' is the beginning of more than one rollout: {shown}. Give more of it.")
        return rollout_from(matches[0])

    def trace(self, digest: str) -> Json:
        """The trace with this digest (a rollout's `trace_digest`), checked against it."""
        with self._reading, explained(self.workspace):
            row = self._connection.execute("SELECT size, content FROM traces WHERE digest = ?", (digest,)).fetchone()
            if row is None:
                raise IntegrityError(
                    f"trace {digest} is missing in {self.workspace.database}. `chase store verify` lists all that is "
                    "damaged; restore .chase/ from a copy or start anew with --workspace."
                )
            return json.loads(self._codec.decode(digest, *row))

    def used(self, run: str, method: str | None = None) -> list[UsedRollout]:
        """The rollouts that a run (one of its methods) used, in the order of their digests."""
        rows = self._rows(
            f"SELECT u.run, u.method, u.reused, {columns('rollouts', 'r')}, r.row_digest FROM run_rollouts u "
            "JOIN rollouts r ON r.digest = u.rollout WHERE u.run = ? AND (? IS NULL OR u.method = ?) "
            "ORDER BY u.method, u.rollout",
            (run, method, method),
        )
        return [
            UsedRollout(use=Use(run=row[0], method=row[1]), reused=bool(row[2]), rollout=rollout_from(row[3:]))
            for row in rows
        ]

    def rollouts(self, wanted: Wanted = EVERY, *, limit: int = SHOWN_ROLLOUTS) -> tuple[list[StoredRollout], int]:
        """The newest rollouts that are wanted, scored or not, and how many there are in all."""
        asked = {name: value for name in _CONDITIONS if (value := getattr(wanted, name)) is not None}
        chosen = "FROM rollouts WHERE " + " AND ".join(["TRUE", *(_CONDITIONS[name] for name in asked)])
        total = int(self._rows(f"SELECT COUNT(*) {chosen}", asked)[0][0])
        newest = f"SELECT {columns('rollouts')}, row_digest {chosen} ORDER BY created_at DESC, digest LIMIT :limit"
        return [rollout_from(row) for row in self._rows(newest, {**asked, "limit": limit})], total

    def task_means(self, wanted: MeansWanted) -> list[tuple[str, str, str, float, int]]:
        """The scored rollouts of runs by task, harness and transformation: the mean score, and how many there are.

        So many rows as there are tasks, harnesses and transformations, however many rollouts.
        """
        asked = (wanted.runs, wanted.harnesses, wanted.transformations)
        marks = [", ".join("?" * len(values)) for values in asked]
        rows = self._rows(
            "SELECT task, harness, transformation, AVG(score), COUNT(*) FROM rollouts WHERE status = 'scored' "
            f"AND digest IN (SELECT rollout FROM run_rollouts WHERE run IN ({marks[0]})) AND harness IN ({marks[1]}) "
            f"AND transformation IN ({marks[2]}) AND (role IN (SELECT value FROM json_each(?))) = ? "
            "GROUP BY task, harness, transformation ORDER BY task",
            (*(value for values in asked for value in values), json.dumps(wanted.roles), wanted.of_roles),
        )
        return [tuple(row) for row in rows]

    def harnesses_used(self, runs: Collection[str]) -> dict[str, set[str]]:
        """Run → the harnesses that it evaluated, by hash."""
        return self._distinct("harness", runs)

    def tasks_used(self, runs: Collection[str], roles: Collection[str] | None = None) -> dict[str, set[str]]:
        """Run → the tasks (of these roles) that it used rollouts of, scored or not."""
        return self._distinct("task", runs, roles)

    def _distinct(
        self, column: str, runs: Collection[str], roles: Collection[str] | None = None
    ) -> dict[str, set[str]]:
        rows = self._rows(
            f"SELECT DISTINCT u.run, r.{column} FROM run_rollouts u JOIN rollouts r ON r.digest = u.rollout "
            "WHERE u.run IN (SELECT value FROM json_each(:runs)) "
            "AND (:roles IS NULL OR r.role IN (SELECT value FROM json_each(:roles)))",
            {"runs": json.dumps(list(runs)), "roles": None if roles is None else json.dumps(list(roles))},
        )
        found: dict[str, set[str]] = {}
        for run, value in rows:
            found.setdefault(run, set()).add(value)
        return found

    def runs_using(self, digest: str) -> list[Run]:
        """The runs that used a rollout, oldest first."""
        return [
            run_from(row)
            for row in self._intact(
                "runs", "WHERE id IN (SELECT run FROM run_rollouts WHERE rollout = ?) ORDER BY rowid", (digest,)
            )
        ]

    def last_stored(self, run: str) -> float:
        """When the latest rollout that a run executed was stored, in seconds since 1970; 0 if there is none."""
        rows = self._rows(
            "SELECT MAX(r.created_at) FROM run_rollouts u JOIN rollouts r ON r.digest = u.rollout "
            "WHERE u.run = ? AND NOT u.reused",
            (run,),
        )
        latest = rows[0][0]
        return 0.0 if latest is None else datetime.fromisoformat(latest).timestamp()

    def spend(self, run: str | None = None, *, uncounted: str | None = None) -> list[Spend]:
        """The ledger's sums by run, method, role and purpose (of one run). A reused rollout adds nothing.

        Telling episodes apart takes half of the time: those of the purpose `uncounted` are not, and 0 stands there.
        """
        asked = {"run": run, "uncounted": uncounted}
        of_run, group = ("TRUE", f"run, {_PURPOSES}") if run is None else ("run = :run", _PURPOSES)
        counts = self._rows(
            f"SELECT run, {_PURPOSES}, COUNT(DISTINCT episode) FROM ledger "
            f"WHERE {of_run} AND purpose IS NOT :uncounted GROUP BY {group}",
            asked,
        )
        episodes = {tuple(key): count for *key, count in counts}
        rows = self._rows(
            f"SELECT run, {_PURPOSES}, COUNT(*), SUM(input_tokens), SUM(cached_tokens), SUM(output_tokens), "
            "SUM(wall_seconds), TOTAL(cost_usd), COUNT(*) - COUNT(cost_usd) "
            f"FROM ledger WHERE {of_run} GROUP BY {group} ORDER BY {group}",
            asked,
        )
        return [
            Spend(
                run=row[0],
                method=row[1],
                role=row[2],
                purpose=row[3],
                episodes=episodes.get(row[:4], 0),
                usage=usage_from((*row[4:9], None if row[10] else row[9])),
                priced_usd=row[9],
                unpriced_requests=row[10],
            )
            for row in rows
        ]

    def measured(self, benchmark: str, model: str | None = None) -> tuple[int, Usage]:
        """How many scored rollouts of a benchmark (by its content hash; of one model) there are, and their usage."""
        row = self._rows(
            f"SELECT COUNT(*), {_USAGE_SUMS} FROM rollouts r "
            "WHERE r.status = 'scored' AND r.benchmark = ? AND (? IS NULL OR r.model = ?)",
            (benchmark, model, model),
        )[0]
        return (row[0], usage_from(row[1:])) if row[0] else (0, Usage())

    def requests_of(self, episode: str) -> int:
        """How many requests of an episode the ledger has."""
        [(count,)] = self._rows("SELECT COUNT(*) FROM ledger WHERE episode = ?", (episode,))
        return int(count)

    def episodes(self, run: str | None = None) -> list[EpisodeCount]:
        """The rollouts used, by run, method and role (of one run), reused ones and their usage included."""
        rows = self._rows(
            f"SELECT u.run, u.method, r.role, COUNT(*), SUM(u.reused), {_USAGE_SUMS} "
            f"FROM run_rollouts u JOIN rollouts r ON r.digest = u.rollout {'' if run is None else 'WHERE u.run = ?'} "
            "GROUP BY u.run, u.method, r.role ORDER BY u.run, u.method, r.role",
            () if run is None else (run,),  # by the key's beginning: other runs are not looked through
        )
        return [
            EpisodeCount(run=run, method=method, role=role, episodes=episodes, reused=reused, usage=usage_from(used))
            for run, method, role, episodes, reused, *used in rows
        ]

    def runs(self) -> list[Run]:
        """Every run, oldest first."""
        return [run_from(row) for row in self._intact("runs", "ORDER BY rowid")]

    def find_run(self, reference: str) -> Run:
        """The run with this id, the one whose id begins so, or the `latest`."""
        runs = self.runs()
        if reference == "latest" and runs:
            return runs[-1]
        exact = [run for run in runs if run.id == reference]
        matches = exact or [run for run in runs if reference and run.id.startswith(reference)]
        if len(matches) == 1:
            return matches[0]
        shown = ", ".join(run.id for run in (matches or runs)[-SHOWN_MATCHES:]) or "none"
        if matches:
            raise UserError(f"'{reference}' is the beginning of more than one run: {shown}. Give more of it.")
        raise UserError(f"no run '{reference}' in {self.workspace.state}. The latest: {shown}.")

    def seals(self, subject: str) -> list[Seal]:
        """Every opening of the certification set for a run or a comparison, first to last."""
        return [seal_from(row) for row in self._intact("seals", "WHERE subject = ? ORDER BY id", (subject,))]

    def info(self) -> StoreInfo:
        """What is in the store."""
        statuses = dict(self._rows("SELECT status, COUNT(*) FROM rollouts GROUP BY status"))
        traces = self._rows("SELECT COUNT(*), COALESCE(SUM(size), 0), COALESCE(SUM(LENGTH(content)), 0) FROM traces")[0]
        return StoreInfo(
            schema_version=len(MIGRATIONS),
            file_bytes=file_bytes(self.workspace),
            rollouts={status: statuses.get(status, 0) for status in ("scored", "failed", "skipped")},
            traces=traces[0],
            trace_bytes=traces[1],
            stored_trace_bytes=traces[2],
            runs=self._count("runs"),
            requests=self._count("ledger"),
            seals=self._count("seals"),
            writer_pid=writer_pid(self.workspace),
        )

    def _among(self, digests: Iterable[str], condition: str) -> dict[str, StoredRollout]:
        found: dict[str, StoredRollout] = {}
        remaining = iter(digests)
        while chunk := list(islice(remaining, CHUNK)):
            marks = ", ".join("?" * len(chunk))
            for row in self._rows(f"{_ROLLOUT} WHERE digest IN ({marks}) AND {condition}", chunk):
                found[row[0]] = rollout_from(row)
        return found

    def _intact(self, table: str, rest: str, parameters: Sequence[Any] = ()) -> list[Any]:
        rows = self._rows(f"SELECT {columns(table)}, row_digest FROM {table} {rest}", parameters)
        for row in rows:
            if not intact(row[:-1], row[-1]):
                raise IntegrityError(
                    f"{table}: the row of '{row[0]}' was changed after it was recorded. "
                    "`chase store verify` lists all that is damaged."
                )
        return rows

    def _count(self, table: str) -> int:
        return int(self._rows(f"SELECT COUNT(*) FROM {table}")[0][0])

    def _rows(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        with self._reading, explained(self.workspace):
            return self._connection.execute(sql, parameters).fetchall()


def file_bytes(workspace: Workspace) -> int:
    """The size of the database with its log."""
    names = (workspace.database.name, workspace.database.name + "-wal")
    files = (workspace.state / name for name in names)
    return sum(file.stat().st_size for file in files if file.exists())
