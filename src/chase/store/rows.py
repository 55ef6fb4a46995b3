"""Values to rows and rows to values. Everything that is stored passes through here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

from chase import __version__
from chase.core.errors import ChaseError, IntegrityError, UserError
from chase.core.keyed import canonical_json
from chase.core.values import Json, Outcome, Rollout, RolloutKey, Usage, Verdict
from chase.store.digests import (
    KEY_FIELDS,
    Cell,
    TraceCodec,
    clean,
    key_values,
    rollout_digest,
    row_digest,
)
from chase.store.records import LedgerRow, Run, RunStatus, Seal, StoredRollout, StoredVerdict, Use
from chase.store.schema import TABLES

Statement = tuple[str, tuple[Cell, ...]]
"""An SQL text and its parameters."""

_ledger_head = attrgetter(*TABLES["ledger"][:8])
_FIRST_USAGE = 1 + len(KEY_FIELDS) + 4
USAGE_FIELDS: tuple[str, ...] = tuple(field.name for field in fields(Usage))


def columns(table: str, alias: str | None = None) -> str:
    """The table's columns as SQL, in the order that its row digest has them."""
    return ", ".join(f'{alias or table}."{name}"' for name in TABLES[table])


def _insert(table: str, on_conflict: str = "") -> str:
    names = ", ".join(f'"{name}"' for name in (*TABLES[table], "row_digest"))
    marks = ", ".join("?" * (len(TABLES[table]) + 1))
    return f"INSERT INTO {table} ({names}) VALUES ({marks}) {on_conflict}".strip()


def _replace_all_but(table: str, keys: Sequence[str]) -> str:
    names = [name for name in (*TABLES[table], "row_digest") if name not in keys]
    return ", ".join(f'"{name}" = excluded."{name}"' for name in names)


INSERT_ROLLOUT = _insert(
    "rollouts",
    f"ON CONFLICT (digest) DO UPDATE SET {_replace_all_but('rollouts', ('digest', *KEY_FIELDS))} "
    "WHERE rollouts.status <> 'scored'",
)
"""A scored rollout is never replaced; any other one gives way to what comes later."""
INSERT_TRACE = _insert("traces", "ON CONFLICT (digest) DO NOTHING")
INSERT_LEDGER = _insert("ledger")
INSERT_RUN = _insert("runs")
UPDATE_RUN = "UPDATE runs SET status = ?, row_digest = ? WHERE id = ?"
INSERT_USE = _insert("run_rollouts", "ON CONFLICT (run, method, rollout) DO NOTHING")
"""The first use stays: a run that resumes finds its own rollouts without turning them into reused ones."""
INSERT_SEAL = _insert("seals")
INSERT_VERDICT = _insert("verdicts", "ON CONFLICT (digest) DO NOTHING")
"""The first verdict on a case stays."""
INSERT_META = _insert("meta", "ON CONFLICT (key) DO NOTHING")
REPLACE_META = _insert("meta", f"ON CONFLICT (key) DO UPDATE SET {_replace_all_but('meta', ('key',))}")


def guarded(sql: str, cells: tuple[Cell, ...]) -> Statement:
    """The statement with the row's digest as its last parameter."""
    try:
        return sql, (*cells, row_digest(cells))
    except ValueError:  # a text that UTF-8 cannot carry: rare, so looked for only after it was met
        cells = tuple(clean(cell) if isinstance(cell, str) else cell for cell in cells)
        return sql, (*cells, row_digest(cells))


def rollout_rows(
    codec: TraceCodec, rollout: Rollout, ledger: Sequence[LedgerRow], use: Use | None, now: str
) -> Iterator[Statement]:
    """Everything that recording a rollout writes: its trace, itself, its requests and its use."""
    identity = rollout_digest(rollout.key)
    try:
        _check(rollout)
        trace, size, content = codec.encode(rollout.trace)
        cells = _rollout_cells(identity, rollout, trace, now)
        yield guarded(INSERT_TRACE, (trace, size, content))
        yield guarded(INSERT_ROLLOUT, cells)
        yield from ledger_rows(ledger)
    except ChaseError as error:
        raise type(error)(f"rollout {identity[:12]} (task {rollout.key.task}): {error}") from error
    if use is not None:
        yield use_row(use, identity, reused=False)


def ledger_rows(rows: Sequence[LedgerRow]) -> Iterator[Statement]:
    """One statement for each model request."""
    for row in rows:
        cost = None if row.cost_usd is None else _real(row.cost_usd)
        cells = (*_ledger_head(row), cost, _real(row.wall_seconds), row.served_model)
        yield guarded(INSERT_LEDGER, cells)


def use_row(use: Use, identity: str, *, reused: bool) -> Statement:
    """That a method used a rollout in a run."""
    return guarded(INSERT_USE, (use.run, use.method, identity, int(reused)))


def run_row(run: str, config: Json, now: str) -> Statement:
    """A new run, running."""
    return guarded(INSERT_RUN, (run, now, canonical_json(config), "running"))


def run_status_row(run: Run, status: RunStatus) -> Statement:
    """A run's new status."""
    _, cells = guarded(UPDATE_RUN, (run.id, run.created_at, canonical_json(run.config), status))
    return UPDATE_RUN, (status, cells[-1], run.id)


def seal_row(subject: str, hashes: Mapping[str, Json], reason: str, now: str) -> Statement:
    """One opening of a seal."""
    return guarded(INSERT_SEAL, (subject, now, canonical_json(dict(hashes)), reason))


def verdict_rows(stored: StoredVerdict, ledger: Sequence[LedgerRow], now: str) -> Iterator[Statement]:
    """A judge's verdict, with the requests that it took."""
    verdict = stored.verdict
    yield guarded(INSERT_VERDICT, (stored.digest, stored.judge, _real(verdict.score), verdict.reply, now))
    yield from ledger_rows(ledger)


def meta_rows(now: str) -> Iterator[Statement]:
    """When the store was made, and by which version. Kept as first written."""
    yield guarded(INSERT_META, ("created_at", now))
    yield guarded(INSERT_META, ("created_by", f"chase-harness {__version__}"))


def count_row(key: str, count: int) -> Statement:
    """How many rows of a kind were recorded so far."""
    return guarded(REPLACE_META, (key, str(count)))


def rollout_from(row: Sequence[Any]) -> StoredRollout:
    """The rollout of a row of `rollouts` with its row digest last; refuses a row that was changed."""
    *cells, guard = row
    if not intact(cells, guard):
        raise IntegrityError(
            f"rollout {cells[0]} was changed after it was recorded. `chase store verify` lists all that is "
            "damaged; restore .chase/ from a copy or start anew with --workspace."
        )
    key_end = 1 + len(KEY_FIELDS)
    status, score, reason, answer = cells[key_end:_FIRST_USAGE]
    usage_end = _FIRST_USAGE + len(USAGE_FIELDS)
    served_models, trace, created_at = cells[usage_end:]
    return StoredRollout(
        digest=cells[0],
        key=RolloutKey(**dict(zip(KEY_FIELDS, cells[1:key_end], strict=True))),
        outcome=Outcome(status=status, score=score, reason=reason),
        answer=answer,
        usage=usage_from(cells[_FIRST_USAGE:usage_end]),
        served_models=tuple(json.loads(served_models)),
        trace_digest=trace,
        created_at=created_at,
    )


def usage_from(cells: Sequence[Any]) -> Usage:
    """Usage from its columns, in the order of its fields."""
    return Usage(**dict(zip(USAGE_FIELDS, cells, strict=True)))


def run_from(row: Sequence[Any]) -> Run:
    """The run of a row of `runs`."""
    return Run(id=row[0], created_at=row[1], config=json.loads(row[2]), status=row[3])


def verdict_from(row: Sequence[Any]) -> StoredVerdict:
    """The verdict of a row of `verdicts`."""
    return StoredVerdict(digest=row[0], judge=row[1], verdict=Verdict(score=row[2], reply=row[3]))


def seal_from(row: Sequence[Any]) -> Seal:
    """The seal of a row of `seals`."""
    return Seal(subject=row[0], opened_at=row[1], hashes=json.loads(row[2]), reason=row[3])


def intact(cells: Sequence[Any], guard: object) -> bool:
    """Whether a row still has the digest that it was stored with."""
    try:
        return row_digest(cells) == guard
    except (TypeError, ValueError):
        return False


def _rollout_cells(identity: str, rollout: Rollout, trace: str, now: str) -> tuple[Cell, ...]:
    outcome, usage = rollout.outcome, rollout.usage
    return (
        identity,
        *key_values(rollout.key),
        outcome.status,
        None if outcome.score is None else _real(outcome.score),
        outcome.reason,
        rollout.answer,
        usage.requests,
        usage.input_tokens,
        usage.cached_tokens,
        usage.output_tokens,
        _real(usage.wall_seconds),
        None if usage.cost_usd is None else _real(usage.cost_usd),
        canonical_json(rollout.served_models),
        trace,
        now,
    )


def _real(number: float) -> float:
    # SQLite gives 1 back as 1.0 and -0.0 as 0.0; the row digest must be that of what is read.
    real = float(number) + 0.0
    if real - real != 0.0:
        raise ChaseError(f"{number} is not a finite number")
    return real


def _check(rollout: Rollout) -> None:
    outcome, key = rollout.outcome, rollout.key
    if outcome.status == "scored":
        if outcome.score is None or not 0.0 <= outcome.score <= 1.0:
            raise ChaseError(f"a scored rollout needs a score in [0, 1], not {outcome.score}")
    elif outcome.score is not None:
        raise ChaseError(f"a {outcome.status} rollout has no score, but {outcome.score} was given")
    for name, number in (("index", key.index), ("run_seed", key.run_seed)):
        if not -(2**63) <= number < 2**63:
            raise UserError(f"{name}={number} does not fit into 64 bits; use a smaller one")
