"""The store as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from store_samples import failed_rollout, fill, sample_rollout

from chase.core.errors import SetupError, UserError
from chase.core.keyed import digest
from chase.store import export
from chase.store.digests import rollout_digest
from chase.store.store import Store
from chase.store.workspace import Workspace


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    rollouts = [
        sample_rollout(number, score=number / 4, answer=f"é {number}", cost_usd=0.5 if number else None)
        for number in range(5)
    ]
    return fill(workspace, rollouts, 0.5, None)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_jsonl_and_parquet_agree(filled: Workspace, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / "out"
    with Store.open(filled, write=False) as store:
        written = store.export(out)
    assert written["rollouts.parquet"] == written["rollouts.jsonl"] == 6
    assert written["ledger.parquet"] == written["ledger.jsonl"] == 10
    for table in ("rollouts", "ledger"):
        assert pq.read_table(out / f"{table}.parquet").to_pylist() == read_lines(out / f"{table}.jsonl")
    assert sorted(path.name for path in out.iterdir()) == sorted(written)


def test_every_rollout_its_trace_and_its_unknowns_are_in_the_files(filled: Workspace, tmp_path: Path) -> None:
    with Store.open(filled, write=False) as store:
        store.export(tmp_path / "out", parquet=False)
    rollouts = {row["digest"]: row for row in read_lines(tmp_path / "out" / "rollouts.jsonl")}
    traces = {row["digest"]: row["trace"] for row in read_lines(tmp_path / "out" / "traces.jsonl")}
    assert not (tmp_path / "out" / "rollouts.parquet").exists()
    for number in range(5):
        rollout = sample_rollout(number)
        row = rollouts[rollout_digest(rollout.key)]
        assert (row["task"], row["index"], row["role"]) == (f"task-{number}", 0, "evo")
        assert (row["score"], row["answer"], row["served_models"]) == (number / 4, f"é {number}", ["served-1"])
        assert row["cost_usd"] == (0.5 if number else None)
        assert traces[row["trace"]] == rollout.trace
        assert digest(traces[row["trace"]]) == row["trace"]
    failed = rollouts[rollout_digest(failed_rollout(9).key)]
    assert (failed["status"], failed["score"], failed["reason"]) == ("failed", None, "provider-error")
    assert {row["cost_usd"] for row in read_lines(tmp_path / "out" / "ledger.jsonl")} == {0.5, None}
    assert read_lines(tmp_path / "out" / "runs.jsonl")[0]["config"] == {"seed": 1}
    assert read_lines(tmp_path / "out" / "seals.jsonl")[0]["hashes"] == {"final": "abc"}
    assert {row["reused"] for row in read_lines(tmp_path / "out" / "run_rollouts.jsonl")} == {False}


def test_without_pyarrow_parquet_is_refused_only_if_it_was_asked_for(
    filled: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "find_spec", lambda name: None)
    with Store.open(filled, write=False) as store:
        assert "rollouts.parquet" not in store.export(tmp_path / "out")
        with pytest.raises(SetupError, match=r"chase-harness\[parquet\]"):
            store.export(tmp_path / "other", parquet=True)
    assert not (tmp_path / "other").exists()


def test_a_file_in_the_way_is_refused(filled: Workspace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with Store.open(filled, write=False) as store:
        for out in (tmp_path / "file", tmp_path / "file" / "below"):
            with pytest.raises(UserError, match="not a folder"):
                store.export(out)


def test_an_export_that_fails_leaves_no_half_file(filled: Workspace, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "ledger.jsonl").mkdir(parents=True)  # a folder where a file is to go
    with Store.open(filled, write=False) as store, pytest.raises(SetupError, match="cannot write"):
        store.export(out)
    assert not list(out.glob(".*"))
