"""`chase demo`: its flow at a few tasks, what it keeps, what it says, and that its workspaces can be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chase.cli import demo
from chase.runs.demo import METHODS, DemoPlan
from tests.cli.commands import Commands, checked


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(monkeypatch, capsys)


def audited(verdict: str, harness: str = "h", gain: float = 0.1) -> dict[str, Any]:
    return {"verdict": verdict, "harness": harness, "g_rel": {"value": gain}}


def test_the_demo_replaces_its_last_result_and_leaves_workspaces_that_work(
    chase: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "demo"
    out.mkdir()
    (out / demo.MARK).touch()
    (out / "results.json").write_text("old")
    payload = checked(chase("demo", "--out", out, "--quick", "--seeds", "1", "--json").out)
    assert json.loads((out / "results.json").read_text()) == payload
    assert [audit["name"] for audit in payload["audits"]][:2] in (["cheat", "honest"], ["honest", "cheat"])
    assert {row["row"]: row["seed"] for row in payload["evolved"]} == dict.fromkeys(METHODS, 1)
    assert all(share["n"] == 1 for share in payload["shares"].values())
    assert list(tmp_path.iterdir()) == [out]
    assert str(tmp_path) not in (out / "results.json").read_text()
    page = (out / "report" / "report.html").read_text()
    assert "simulated reader" in page
    assert str(tmp_path) not in page
    _every_workspace_works(chase, out, payload, monkeypatch)


def _every_workspace_works(
    chase: Commands, out: Path, payload: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(out)
    cheat = next(audit for audit in payload["audits"] if audit["name"] == "cheat")
    plan = DemoPlan(seed=demo.SEED, run_seeds=1, blocks=10, split_sizes=demo.FEW)
    again = chase(*demo.audit_command(plan), "--json")
    assert again.code in (0, 5), again.err
    assert json.loads(again.out)["run"] == cheat["run"]
    assert json.loads(again.out)["episodes"] == cheat["episodes"]
    for place in {cheat["workspace"], *(row["workspace"] for row in payload["evolved"])}:
        assert chase("trace", "list", "--workspace", place, "--limit", "1").code == 0
        assert chase("store", "verify", "--workspace", place).code == 0
    row = payload["evolved"][0]
    assert chase("evolve", "--resume", row["run"], "--workspace", row["workspace"]).code == 0


def _interrupted(out: Path) -> None:
    with demo.replacing(out) as folder:
        (folder / "results.json").write_text("half")
        assert (out / "results.json").read_text() == "old"
        raise KeyboardInterrupt


def test_a_result_is_kept_until_the_new_one_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    out.mkdir()
    (out / "results.json").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        _interrupted(out)
    assert (out / "results.json").read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]
    with demo.replacing(out) as folder:
        (folder / "results.json").write_text("new")
    assert (out / "results.json").read_text() == "new"


def test_what_a_killed_demo_left_is_cleared(tmp_path: Path) -> None:
    left = tmp_path / ".demo.new"
    left.mkdir()
    (left / demo.MARK).touch()
    (left / "half").touch()
    with demo.replacing(tmp_path / "demo") as folder:
        assert not (folder / "half").exists()


def test_the_demo_refuses_a_foreign_folder(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    for out in (tmp_path, tmp_path / "thesis.tex"):
        ended = chase("demo", "--out", out)
        assert (ended.code, ended.out) == (2, "")
        assert "Name another folder" in ended.sentence
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_what_was_learnt_follows_from_the_verdicts() -> None:
    mended: dict[str, Any] = {"repaired": {}}
    good = {
        "cheat": audited("not supported"),
        "honest": audited("supported", "x"),
        "repaired": audited("supported", "x"),
    }
    (said,) = demo.learnt(good, mended, {})
    assert "only the audit tells them apart" in said
    assert "is the honest harness again" in said
    (said,) = demo.learnt({**good, "cheat": audited("inconclusive")}, None, {})
    assert "did not tell the two apart" in said
    assert "inconclusive" in said
    assert "nothing that a repair could leave" in said
    (said,) = demo.learnt({**good, "repaired": audited("not supported", "y")}, mended, {})
    assert "Repaired, the cheat: its +10.0 points are not supported" in said


def test_shares_count_harnesses_that_name_a_cue_by_row() -> None:
    rows = [
        {"row": "without CHASE", "cues": ["path-depth"], "initial": False},
        {"row": "without CHASE", "cues": [], "initial": False},
        {"row": "with CHASE", "cues": [], "initial": True},
    ]
    assert demo.shares_of(rows) == {
        "without CHASE": {"leaning": 1, "initial": 0, "n": 2},
        "with CHASE": {"leaning": 0, "initial": 1, "n": 1},
    }
