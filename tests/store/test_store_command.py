"""`chase store info|verify|gc|export`."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from store_samples import failed_rollout, sample_ledger, sample_rollout
from typer.testing import CliRunner, Result

from chase.cli.store import app
from chase.core.errors import ChaseError, IntegrityError, SetupError, UserError
from chase.store.store import Store
from chase.store.workspace import Workspace


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    with Store.open(workspace, write=True) as store:
        for number in range(3):
            rollout = sample_rollout(number)
            store.record_sync(rollout, sample_ledger(rollout, None))
        store.record_sync(failed_rollout(9))
    return workspace


def run(workspace: Workspace, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--workspace", str(workspace.root)])


def payload_of(result: Result) -> dict[str, object]:
    payload: dict[str, object] = json.loads(result.stdout)
    return payload


def test_info_says_what_is_there(filled: Workspace) -> None:
    payload = payload_of(run(filled, "info", "--json"))
    assert payload["schema"] == "chase.store.info/1"
    assert payload["rollouts"] == {"scored": 3, "failed": 1, "skipped": 0}
    assert (payload["traces"], payload["requests"], payload["writer_pid"]) == (4, 3, None)
    text = run(filled, "info").stdout
    assert "3 scored, 1 failed, 0 skipped" in text
    assert "writer     none" in text


def test_info_finds_the_workspace_upward(filled: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    below = filled.root / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    result = CliRunner().invoke(app, ["info", "--json"])
    assert payload_of(result)["workspace"] == str(filled.root)


def test_verify_passes_an_intact_store_with_results_on_stdout_and_progress_on_stderr(filled: Workspace) -> None:
    result = run(filled, "verify", "--json")
    assert result.exit_code == 0
    payload = payload_of(result)
    assert (payload["schema"], payload["passed"], payload["problems"]) == ("chase.store.verify/1", True, [])
    assert "verifying" in result.stderr
    assert "intact (4 rollouts" in run(filled, "verify").stdout


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_verify_ends_with_code_6_and_names_what_is_damaged(filled: Workspace, flags: list[str]) -> None:
    connection = sqlite3.connect(filled.database)
    connection.execute("UPDATE rollouts SET score = 0.5 WHERE score IS NOT NULL")
    connection.commit()
    connection.close()
    result = run(filled, "verify", *flags)
    assert isinstance(result.exception, IntegrityError)
    assert result.exception.exit_code == 6
    if flags:
        payload = payload_of(result)
        assert payload["passed"] is False
        assert len(payload["problems"]) == 3  # type: ignore[arg-type]
    else:
        assert result.stdout.count("the row is not what was recorded") == 3


def test_gc_says_what_it_freed(filled: Workspace) -> None:
    with Store.open(filled, write=True) as store:
        store.record_sync(sample_rollout(9))
    payload = payload_of(run(filled, "gc", "--json"))
    assert (payload["schema"], payload["traces"]) == ("chase.store.gc/1", 1)
    assert run(filled, "gc").stdout.startswith("dropped 0 traces, freed ")


def test_export_writes_the_files_it_names(filled: Workspace, tmp_path: Path) -> None:
    payload = payload_of(run(filled, "export", "--out", str(tmp_path / "out"), "--json"))
    assert payload["schema"] == "chase.store.export/1"
    assert payload["files"]["rollouts.jsonl"] == 4  # type: ignore[index]
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(payload["files"])  # type: ignore[call-overload]
    assert isinstance(run(filled, "export", "--out", str(tmp_path / "out")).exception, UserError)
    result = run(filled, "export", "--out", str(tmp_path / "plain"), "--no-parquet")
    assert "rollouts.jsonl: 4 records" in result.stdout
    assert not (tmp_path / "plain" / "rollouts.parquet").exists()


@pytest.mark.parametrize("command", [["info"], ["verify"], ["gc"], ["export", "--out", "unused"]])
def test_a_folder_without_a_store_is_one_sentence_and_stays_empty(workspace: Workspace, command: list[str]) -> None:
    result = run(workspace, *command)
    assert isinstance(result.exception, SetupError)
    assert "no store yet" in str(result.exception)
    assert list(workspace.root.iterdir()) == []


def test_gc_while_another_writes_is_one_sentence(filled: Workspace) -> None:
    with Store.open(filled, write=True):
        result = run(filled, "gc")
    assert isinstance(result.exception, ChaseError)
    assert "is writing its store" in str(result.exception)
