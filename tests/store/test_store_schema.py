"""Versions of the schema, and disks and files that are not as they should be."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from store_samples import sample_rollout

from chase.core.errors import IntegrityError, SetupError
from chase.core.values import Rollout, Verdict
from chase.store import schema
from chase.store.digests import rollout_digest
from chase.store.records import StoredVerdict
from chase.store.schema import MIGRATIONS, TABLES, migrate
from chase.store.store import Store
from chase.store.workspace import Workspace

FILL_UNTIL_REFUSED = """
import resource, sys
from pathlib import Path
from chase.core.errors import SetupError
from chase.store.digests import rollout_digest
from chase.store.store import Store
from chase.store.workspace import Workspace
from store_samples import sample_rollout

with Store.open(Workspace(Path(sys.argv[1])), write=True) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
    for number in range(100_000):
        rollout = sample_rollout(number)
        try:
            store.record_sync(rollout)
        except SetupError as error:
            sys.stderr.write(str(error))
            break
        sys.stdout.write(rollout_digest(rollout.key) + "\\n")
"""


def version_of(workspace: Workspace) -> int:
    connection = sqlite3.connect(workspace.database)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def test_every_table_has_the_columns_that_its_row_digest_covers(workspace: Workspace) -> None:
    Store.open(workspace, write=True).close()
    connection = sqlite3.connect(workspace.database)
    for table, names in TABLES.items():
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        assert [name for name in columns if name != "id" or table == "runs"] == [*names, "row_digest"]
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.fixture
def rollout(workspace: Workspace) -> Rollout:
    """One that the store has."""
    made = sample_rollout()
    with Store.open(workspace, write=True) as store:
        store.record_sync(made)
    return made


def test_an_older_store_is_migrated_and_keeps_its_rollouts(
    workspace: Workspace, rollout: Rollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert version_of(workspace) == len(MIGRATIONS) == 3

    newer = (*MIGRATIONS, "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('from version 3')")
    monkeypatch.setattr(schema, "MIGRATIONS", newer)
    with pytest.raises(SetupError, match=r"schema version 3.*store gc"):
        Store.open(workspace, write=False)
    with Store.open(workspace, write=True) as store:
        assert store.get(rollout_digest(rollout.key)) is not None
        assert store.verify() == []
    assert version_of(workspace) == 4
    connection = sqlite3.connect(workspace.database)
    assert connection.execute("SELECT text FROM notes").fetchall() == [("from version 3",)]
    connection.close()
    Store.open(workspace, write=True).close()
    assert version_of(workspace) == 4


def make_store(workspace: Workspace, version: int) -> None:
    """An empty store of an older version."""
    workspace.create()
    connection = sqlite3.connect(workspace.database, isolation_level=None)
    migrate(connection, MIGRATIONS[:version])
    connection.close()


async def test_a_store_from_before_there_were_judges_takes_their_verdicts(workspace: Workspace) -> None:
    make_store(workspace, 2)
    verdict = StoredVerdict(digest="case", judge="j", verdict=Verdict(score=0.5, reply="half"))
    with Store.open(workspace, write=True) as store:
        await store.record_verdict(verdict)
        await store.record_verdict(replace(verdict, verdict=Verdict(score=1.0, reply="again")))
        assert store.verdict("case") == verdict.verdict  # the first one stays
        assert store.verdict("other") is None
        assert store.verify() == []
    connection = sqlite3.connect(workspace.database)
    connection.execute("UPDATE verdicts SET score = 1.0")
    connection.commit()
    connection.close()
    with Store.open(workspace, write=False) as store:
        assert [(problem.kind, problem.id) for problem in store.verify()] == [("verdict", "case")]
        with pytest.raises(IntegrityError, match="was changed"):
            store.verdict("case")


def test_a_store_whose_traces_have_another_form_is_refused_in_one_sentence_and_left_alone(
    workspace: Workspace,
) -> None:
    make_store(workspace, 1)
    for write in (False, True):
        with pytest.raises(SetupError, match=r"made by an older chase.*--workspace"):
            Store.open(workspace, write=write)
    assert version_of(workspace) == 1


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "x.sqlite", isolation_level=None)
    migrate(connection, ("CREATE TABLE a (x)",))
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, ("CREATE TABLE a (x)", "CREATE TABLE b (x)", "CREATE TABLE c (x); NONSENSE"))
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master ORDER BY name")]
    assert tables == ["a", "b"]
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()


@pytest.mark.parametrize("write", [True, False])
def test_a_store_from_a_newer_version_is_refused_and_not_touched(workspace: Workspace, write: bool) -> None:
    Store.open(workspace, write=True).close()
    connection = sqlite3.connect(workspace.database)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    before = workspace.database.read_bytes()
    with pytest.raises(SetupError, match=r"schema version.*Nothing was changed.*update chase-harness"):
        Store.open(workspace, write=write)
    assert workspace.database.read_bytes() == before
    assert not workspace.lock.read_bytes()


def test_reading_where_there_is_no_store_is_refused_and_makes_none(workspace: Workspace) -> None:
    with pytest.raises(SetupError, match=r"no store yet.*chase rollout.*--workspace"):
        Store.open(workspace, write=False)
    assert not workspace.state.exists()


def test_a_store_on_a_medium_that_cannot_be_written_is_readable(
    workspace: Workspace, rollout: Rollout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema.os, "access", lambda path, mode: False)
    with Store.open(workspace, write=False) as store:
        assert store.get(rollout_digest(rollout.key)) is not None
        assert store.verify() == []
        assert not list(workspace.state.glob("*-shm"))


def test_a_file_that_is_no_database_is_refused(workspace: Workspace) -> None:
    workspace.create()
    workspace.database.write_bytes(b"this is not a database" * 100)
    for write in (True, False):
        with pytest.raises(IntegrityError, match="damaged"):
            Store.open(workspace, write=write)


async def test_a_full_disk_ends_in_a_sentence_and_keeps_what_was_committed(workspace: Workspace) -> None:
    recorded: list[str] = []

    async def record_all(store: Store) -> None:
        for number in range(len(recorded), 100):
            rollout = sample_rollout(number)
            await store.record(rollout)
            recorded.append(rollout_digest(rollout.key))

    with Store.open(workspace, write=True) as store:
        with store._writing.exclusive() as connection:
            connection.execute("PRAGMA max_page_count = 60")
        with pytest.raises(SetupError, match=r"full.*safe.*free some space.*again"):
            await record_all(store)
        assert recorded
        with store._writing.exclusive() as connection:
            connection.execute("PRAGMA max_page_count = 100000")
        await record_all(store)  # there is space again: the same process goes on
    with Store.open(workspace, write=False) as store:
        assert set(store.get_many(recorded)) == set(recorded)
        assert store.info().rollouts["scored"] == len(recorded)
        assert store.verify() == []


def test_a_file_that_may_not_grow_ends_in_a_sentence_and_keeps_what_was_committed(workspace: Workspace) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILL_UNTIL_REFUSED, str(workspace.root)],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "free some space" in done.stderr
    assert "Traceback" not in done.stderr
    recorded = done.stdout.split()
    assert recorded
    with Store.open(workspace, write=True) as store:
        assert set(store.get_many(recorded)) == set(recorded)
        assert store.verify() == []
