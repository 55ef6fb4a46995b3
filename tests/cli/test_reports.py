"""`chase runs`, `chase show` and `chase report`: what they print and write, and what they refuse."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.report.files import MARK
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.cli.commands import Commands
from tests.report.finished_runs import Runs

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report")]


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs: Runs) -> Commands:
    monkeypatch.chdir(runs.root)
    return Commands(monkeypatch, capsys)


def test_runs_are_listed_with_a_conclusion(chase: Commands, runs: Runs) -> None:
    found = chase.json("runs")
    assert [run["id"] for run in found["runs"]] == [runs.comparison, runs.audit, runs.evolution]
    assert found["runs"][0]["conclusion"] == "2 methods, 1 seeds"
    printed = chase("runs", "--command", "audit").out
    assert runs.audit in printed
    assert "(simulated)" in printed
    assert runs.evolution not in printed
    assert "no runs" in chase("runs", "--status", "paused").out


@pytest.mark.parametrize("kind", ["evolution", "audit", "comparison"])
def test_a_run_is_shown_in_tables(chase: Commands, runs: Runs, kind: str) -> None:
    run = getattr(runs, kind)
    found = chase.json("show", run)
    assert found["run"]["id"] == run
    assert found["badges"] == ["simulated reader"]
    assert {"results", "tokens", "provenance"} <= {section["id"] for section in found["sections"]}
    printed = chase("show", run).out
    assert found["verdict"]["sentence"] in printed
    assert "simulated reader" in printed
    only = chase.json("show", run, "--section", "tokens")
    assert [section["id"] for section in only["sections"]] == ["tokens"]
    refused = chase("show", run, "--section", "token")
    assert refused.code == 2
    assert "Did you mean 'tokens'?" in refused.err


@pytest.mark.parametrize("kind", ["evolution", "audit", "comparison"])
def test_a_report_has_a_page_and_every_table_and_figure_as_files(
    chase: Commands, runs: Runs, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / "out"
    found = chase.json("report", getattr(runs, kind), "--out", out)
    page = Path(found["page"]).read_text()
    assert "simulated reader" in page
    assert found["verdict"]["label"] in page
    files = {path.name for path in (out / "tables").iterdir()}
    assert files == {f"{name}.{ending}" for name in found["tables"] for ending in ("md", "tex", "csv")}
    figures = {path.name for path in (out / "figures").iterdir()}
    assert figures == {f"{name}.{ending}" for name in found["figures"] for ending in ("svg", "png")}
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in (out / "figures").glob("*.png"))
    assert (out / "config.toml").exists()


def test_the_selection_tables_are_the_papers(chase: Commands, runs: Runs, tmp_path: Path) -> None:
    chase.json("report", runs.evolution, "--out", tmp_path / "out")
    with (tmp_path / "out" / "tables" / "selection-round-2.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {"g_rel", "g_b1", "delta_b1", "pass"} <= rows[0].keys()
    for row in rows:
        assert float(row["g_rel"]) - float(row["g_b1"]) == pytest.approx(float(row["delta_b1"]))
    text = (tmp_path / "out" / "tables" / "selection-round-2.md").read_text()
    assert "Ĝ_rel | Ĝ_b1 | Δ̂_b1 | Pass" in text


def test_a_report_shows_what_an_agent_sees_before_and_after(chase: Commands, runs: Runs, tmp_path: Path) -> None:
    chase.json("report", runs.audit, "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    shown = page[page.index("What an agent sees</h2>") : page.index("The benchmark</h2>")]
    assert "c1: folder depths swapped" in shown
    before, after = re.findall(r"<h3>(?:as released|under the counterfactual)</h3><pre>(.*?)</pre>", shown)[:2]
    paths = [set(re.findall(r"[a-z0-9-]+(?:/[a-z0-9-]+)*/[a-z0-9-]+\.[a-z]+", side)) for side in (before, after)]
    assert paths[0]
    assert paths[1]
    assert paths[0] != paths[1]


def test_a_report_tells_no_expected_answer_and_no_evidence(
    chase: Commands, runs: Runs, tmp_path: Path, ledger: SynLedger
) -> None:
    chase.json("report", runs.evolution, "--out", tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    task = ledger.subject.check_tasks[0]
    assert f"&#34;answer&#34;: {ledger.subject.answer(task)}" not in page
    tables = "".join(path.read_text() for path in (tmp_path / "out" / "tables").glob("*.csv"))
    for task in ledger.tasks("cert"):
        for document in ledger.evidence(task):
            assert document not in tables


def test_a_folder_that_is_no_report_is_left_alone(chase: Commands, runs: Runs, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    refused = chase("report", runs.audit, "--out", tmp_path / "mine")
    assert refused.code == 2
    assert "holds something that is no report" in refused.err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_an_earlier_report_gives_way_and_a_failed_one_leaves_it(
    chase: Commands, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    chase.json("report", runs.evolution, "--out", out)
    assert (out / MARK).exists()
    before = (out / "report.html").read_text()
    with monkeypatch.context() as patch:
        patch.setattr("chase.report.raster.png", lambda drawing: 1 / 0)
        assert chase("report", runs.audit, "--out", out).code == 1
    assert (out / "report.html").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    chase.json("report", runs.audit, "--out", out)
    assert runs.audit in (out / "report.html").read_text()
    assert not (out / "tables" / "selection-round-1.csv").exists()


def test_an_unfinished_run_is_reported_as_far_as_it_is(chase: Commands, runs: Runs, tmp_path: Path) -> None:
    own = runs.copied(tmp_path)
    with Store.open(Workspace(own.root), write=True) as store:
        store.set_run_status(own.evolution, "paused")
    found = chase.json("report", own.evolution, "--out", tmp_path / "out", "--workspace", own.root)
    assert found["verdict"]["label"] == "not finished"
    assert "selection-round-1" in found["tables"]
    assert "not finished" in chase("show", own.evolution, "--workspace", own.root).out


def test_what_has_no_report_is_refused_by_its_command(chase: Commands, runs: Runs, tmp_path: Path) -> None:
    own = runs.copied(tmp_path)
    with Store.open(Workspace(own.root), write=True) as store:
        store.create_run("strange-1", {"command": "strange", "benchmark": "syn-ledger@7", "model": "sim:reader"})
    refused = chase("report", "strange-1", "--out", tmp_path / "out", "--workspace", own.root)
    assert refused.code == 2
    assert "`chase strange`" in refused.err
    assert "no run 'nobody'" in chase("report", "nobody", "--out", tmp_path / "out").err


def test_rollouts_and_repairs_have_short_reports(chase: Commands, runs: Runs, tmp_path: Path) -> None:
    place = ("--workspace", runs.copied(tmp_path).root)
    command = ("rollout", "--benchmark", "syn-ledger@7", "--model", "sim:reader", "--split", "conf1", "--rollouts", 1)
    scored = chase.json(*command, "--harness", runs.root / "cheat", *place)
    found = chase.json("show", scored["run"], *place)
    assert f"{100 * scored['score']['value']:.1f} %" in found["verdict"]["sentence"]
    assert len(next(t for s in found["sections"] for t in s["tables"] if t["name"] == "tasks")["data"]) == 16
    assert "results" in chase.json("report", scored["run"], "--out", tmp_path / "out", *place)["tables"]
    mended = chase.json("repair", "--audit", runs.audit, "--out", tmp_path / "fixed", *place)
    assert mended["reason"] in chase.json("show", mended["run"], *place)["verdict"]["sentence"]
