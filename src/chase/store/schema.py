"""The tables, their versions, and the connections to them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from chase.core.errors import ChaseError, DiskError, IntegrityError, SetupError
from chase.store.digests import KEY_FIELDS
from chase.store.workspace import Workspace

BUSY_SECONDS = 30.0
CACHE_KIB = 65_536
CHECKPOINT_PAGES = 8192
"""Digests come in no order, so each group touches index pages all over; a longer log moves each one once."""

TABLES: Mapping[str, tuple[str, ...]] = {
    "rollouts": (
        "digest",
        *KEY_FIELDS,
        "status",
        "score",
        "reason",
        "answer",
        "requests",
        "input_tokens",
        "cached_tokens",
        "output_tokens",
        "wall_seconds",
        "cost_usd",
        "served_models",
        "trace",
        "created_at",
    ),
    "traces": ("digest", "size", "content"),
    "ledger": (
        "run",
        "method",
        "role",
        "episode",
        "purpose",
        "input_tokens",
        "cached_tokens",
        "output_tokens",
        "cost_usd",
        "wall_seconds",
        "served_model",
    ),
    "runs": ("id", "created_at", "config", "status"),
    "run_rollouts": ("run", "method", "rollout", "reused"),
    "seals": ("subject", "opened_at", "hashes", "reason"),
    "verdicts": ("digest", "judge", "score", "reply", "created_at"),
    "meta": ("key", "value"),
}
"""The columns that a row's digest covers, in its order. Every table has `row_digest` beside them."""

_CREATE = """
CREATE TABLE rollouts (
    digest TEXT PRIMARY KEY,
    model TEXT NOT NULL, harness TEXT NOT NULL, transformation TEXT NOT NULL, benchmark TEXT NOT NULL,
    versions TEXT NOT NULL, task TEXT NOT NULL, role TEXT NOT NULL, "index" INTEGER NOT NULL,
    run_seed INTEGER NOT NULL,
    status TEXT NOT NULL, score REAL, reason TEXT NOT NULL, answer TEXT,
    requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, wall_seconds REAL NOT NULL, cost_usd REAL,
    served_models TEXT NOT NULL, trace TEXT NOT NULL, created_at TEXT NOT NULL,
    row_digest BLOB NOT NULL,
    CHECK ((status = 'scored') = (score IS NOT NULL))
);
CREATE TABLE traces (
    digest TEXT PRIMARY KEY, size INTEGER NOT NULL, content BLOB NOT NULL, row_digest BLOB NOT NULL
);
CREATE TABLE ledger (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL, method TEXT NOT NULL, role TEXT NOT NULL, episode TEXT NOT NULL,
    purpose TEXT NOT NULL, input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, cost_usd REAL, wall_seconds REAL NOT NULL,
    served_model TEXT NOT NULL, row_digest BLOB NOT NULL
);
CREATE TABLE runs (
    id TEXT PRIMARY KEY, created_at TEXT NOT NULL, config TEXT NOT NULL, status TEXT NOT NULL,
    row_digest BLOB NOT NULL
);
CREATE TABLE run_rollouts (
    run TEXT NOT NULL, method TEXT NOT NULL, rollout TEXT NOT NULL, reused INTEGER NOT NULL,
    row_digest BLOB NOT NULL,
    PRIMARY KEY (run, method, rollout)
) WITHOUT ROWID;
CREATE TABLE seals (
    id INTEGER PRIMARY KEY,
    subject TEXT NOT NULL, opened_at TEXT NOT NULL, hashes TEXT NOT NULL, reason TEXT NOT NULL,
    row_digest BLOB NOT NULL
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, row_digest BLOB NOT NULL);
"""

_VERDICTS = """
CREATE TABLE verdicts (
    digest TEXT PRIMARY KEY,
    judge TEXT NOT NULL, score REAL NOT NULL, reply TEXT NOT NULL, created_at TEXT NOT NULL,
    row_digest BLOB NOT NULL
)
"""

MIGRATIONS: Sequence[str] = (_CREATE, "", _VERDICTS)
"""Step n takes a store from version n to n + 1. Only ever appended to."""
OLDEST = 2
"""The first version that is opened. Traces of the one before it have another form, and so have its runs' settings."""


def connect_writer(workspace: Workspace) -> sqlite3.Connection:
    """The one writing connection, with the schema brought up to date. Needs the writer's lock."""
    with explained(workspace):
        connection = _connect(f"{workspace.database.absolute().as_uri()}?mode=rwc")
        try:
            _check_known(workspace, _version(connection))
            connection.execute("PRAGMA journal_mode = WAL")
            # In WAL mode NORMAL survives the death of the process at any moment; only a power cut can
            # take the last transactions, and never the file's consistency.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            migrate(connection, MIGRATIONS)
        except BaseException:
            connection.close()
            raise
    return connection


def connect_reader(workspace: Workspace) -> sqlite3.Connection:
    """A connection that cannot write; it sees what is committed, also while a writer is at work."""
    require_store(workspace)
    # Where nothing can be written SQLite cannot make its shared-memory file; if there is no log to
    # read beside the database either, the file alone is the whole store.
    log = workspace.database.with_name(workspace.database.name + "-wal")
    frozen = not os.access(workspace.state, os.W_OK) and not log.exists()
    with explained(workspace):
        mode = "mode=ro&immutable=1" if frozen else "mode=ro"
        connection = _connect(f"{workspace.database.absolute().as_uri()}?{mode}")
        try:
            _check_readable(workspace, _version(connection))
        except BaseException:
            connection.close()
            raise
    return connection


def require_store(workspace: Workspace) -> None:
    """Refuse a workspace that has no store, for commands that must not make one."""
    if not workspace.database.exists():
        raise SetupError(_missing(workspace))


def migrate(connection: sqlite3.Connection, migrations: Sequence[str]) -> None:
    """Apply the steps that the store has not had yet, in order, each whole or not at all."""
    for step in range(_version(connection), len(migrations)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in filter(None, (part.strip() for part in migrations[step].split(";"))):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {step + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def explained(workspace: Workspace) -> Iterator[None]:
    """Turn what SQLite and the operating system raise into a sentence with the right exit code."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise explain(error, workspace) from error


def explain(error: Exception, workspace: Workspace) -> ChaseError:
    """The sentence for an error of SQLite or of the file system."""
    where = workspace.database
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return IntegrityError(f"{where} is damaged ({error}). Restore it from a copy, or start anew with --workspace.")
    if primary in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR) or isinstance(error, OSError):
        return DiskError(f"{where} cannot be read or written: {error}")
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return SetupError(
            f"{where} cannot be opened as needed: {error}. Make .chase/ writable, or name another "
            "folder with --workspace."
        )
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return SetupError(f"{where} is held by a program outside CHASE: {error}. Close it and run the command again.")
    return ChaseError(f"{where}: {error}")


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_readable(workspace: Workspace, version: int) -> None:
    _check_known(workspace, version)
    if version == 0:
        raise SetupError(_missing(workspace))
    if version < len(MIGRATIONS):
        raise SetupError(
            f"{workspace.database} has schema version {version}, and this program reads version "
            f"{len(MIGRATIONS)}. Run `chase store gc` on this workspace once: it brings the store up to date."
        )


def _check_known(workspace: Workspace, version: int) -> None:
    if version > len(MIGRATIONS):
        raise SetupError(_newer(workspace, version))
    if 0 < version < OLDEST:
        raise SetupError(
            f"{workspace.database} was made by an older chase, whose traces and runs this one does not read. Nothing "
            "was changed: name another folder with --workspace, or use the version that made it."
        )


def _newer(workspace: Workspace, version: int) -> str:
    return (
        f"{workspace.database} has schema version {version}, and this program knows versions up to "
        f"{len(MIGRATIONS)}. Nothing was changed: update chase-harness or name another --workspace."
    )


def _missing(workspace: Workspace) -> str:
    return (
        f"workspace={workspace.root} has no store yet. Make rollouts there first (`chase rollout`), "
        "or name the folder that holds .chase/ with --workspace."
    )
