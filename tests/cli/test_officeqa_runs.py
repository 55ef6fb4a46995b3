"""OfficeQA from end to end on a small synthetic sample: evolve, audit and compare with the embedded model `lexical`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.officeqa.benchmark import open_officeqa
from chase.benchmarks.officeqa.releases import FOLDERS
from chase.core.events import Event
from chase.engine.processes import processes
from chase.protocol.transformation import OperatorList
from chase.runs.listening import Building, Silent
from chase.runs.opening import Opener
from chase.runs.settings import RolloutSettings
from tests.cli.commands import Commands

pytestmark = pytest.mark.slow

HARNESSES = Path(__file__).parents[2] / "configs" / "officeqa-harnesses"
ONCE = ("--rollouts", "evo=1,disc=1,conf=1,cert=1,prov2=1")


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


def on(data: Path) -> tuple[object, ...]:
    return ("--benchmark", "officeqa", "--data", data, "--model", "lexical", "--seed", 1)


def test_an_evolution_measures_the_other_corpus_with_the_sealed_tasks(chase: Commands, officeqa_data: Path) -> None:
    asked = ("evolve", *on(officeqa_data), "--rounds", 1, *ONCE)
    forecast = chase.json(*asked, "--dry-run")
    assert [row["role"] for row in forecast["rollouts"] if row["stage"] == "certification"] == ["cert", "prov2"]
    said = chase(*asked, "--json")
    found = json.loads(said.out)
    assert found["config"]["eta"] == "0.075"
    assert "the 19 sealed tasks are opened" in said.err  # 15 of Full, 4 of Pro V2
    for stage, sealed in (("certification", True), ("optimisation", False)):
        rows = [row["episodes"] for row in forecast["rollouts"] if (row["stage"] == "certification") is sealed]
        made = found["tokens"][stage]["rollouts"]
        assert sum(row["least"] for row in rows) <= made <= sum(row["most"] for row in rows)
    elsewhere = found["certification"]["elsewhere"]["prov2"]
    assert elsewhere["H*"]["n"] == 4
    assert elsewhere["gain"]["value"] == pytest.approx(elsewhere["H*"]["value"] - elsewhere["H0"]["value"])
    assert not any("simulated" in said for said in found["warnings"])
    assert any("plain program" in said for said in found["warnings"])
    shown = chase("certify", "latest")
    assert "R_prov2(H*)" in shown.out


def test_a_cap_that_leaves_no_room_for_the_other_corpus_leaves_the_seal_closed(
    chase: Commands, officeqa_data: Path
) -> None:
    asked = ("evolve", *on(officeqa_data), "--rounds", 1, *ONCE)
    searched = chase.json(*asked, "--no-certify")["tokens"]["optimisation"]
    for_certification_alone = searched["total"] + 17 * searched["total"] // searched["rollouts"]
    asked = (*asked, "--workspace", "another")
    stopped = chase(*asked, "--budget-tokens", for_certification_alone)
    assert stopped.code == 4, stopped.err
    assert "are opened" not in stopped.err
    assert chase(*asked, "--budget-tokens", 2 * for_certification_alone).code == 0


def test_a_run_is_certified_where_its_data_are_now(chase: Commands, officeqa_data: Path, tmp_path: Path) -> None:
    shutil.copytree(officeqa_data, tmp_path / "here")
    evolving = ("evolve", "--benchmark", "officeqa", "--data", "here", "--model", "lexical", "--preset", "pilot")
    chase.json(*evolving, "--no-certify")
    (tmp_path / "here").rename(tmp_path / "there")
    command = [sys.executable, "-m", "chase", "certify", "latest"]  # a process that has not opened the data yet
    gone = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert gone.returncode == 3
    assert "here is no folder" in gone.stderr
    shutil.copytree(tmp_path / "there", tmp_path / "other")
    bulletin = next((tmp_path / "other" / FOLDERS["full"]).iterdir())
    bulletin.write_text(bulletin.read_text() + "one more line\n")
    other = chase("certify", "latest", "--data", "other")
    assert other.code == 2
    assert "are opened" not in other.err
    assert chase.json("certify", "latest", "--data", "there")["certification"]["elsewhere"]["prov2"]["H*"]["n"] == 4


def test_a_run_finds_its_data_from_another_folder(
    chase: Commands, officeqa_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(officeqa_data, tmp_path / "here")
    evolving = ("evolve", "--benchmark", "officeqa", "--data", "here", "--model", "lexical", "--preset", "pilot")
    chase.json(*evolving, "--no-certify")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert chase.json("certify", "latest")["certification"]["tasks"] == 8


def test_a_pilot_shrinks_every_sealed_set(chase: Commands, officeqa_data: Path) -> None:
    asked = ("--benchmark", "officeqa", "--data", officeqa_data, "--model", "lexical", "--preset", "pilot", "--dry-run")
    for command in (("evolve",), ("compare", "--methods", "raw-harness")):
        rows = {row["role"]: row["episodes"] for row in chase.json(*command, *asked)["rollouts"]}
        assert (rows["cert"]["least"], rows["prov2"]["least"]) == (8, 4)  # 15 and 4 questions, one rollout each
    named = chase.json("evolve", *asked, "--split-sizes", "prov2=2", "--rollouts", "sealed=3")["rollouts"]
    assert {row["role"]: row["episodes"]["least"] for row in named if row["stage"] == "certification"} == {
        "cert": 24,
        "prov2": 6,
    }
    refused = chase("evolve", *asked, "--split-sizes", "prov2=5")
    assert refused.code == 2
    assert "prov2=5 must be a whole number from 2 to 4" in refused.sentence


def test_an_audit_of_the_papers_h1(chase: Commands, officeqa_data: Path) -> None:
    found = chase.json("audit", *on(officeqa_data), "--harness", HARNESSES / "h1", "--rounds", 1, "--rollouts", 1)
    assert found["verdict"] in ("supported", "partly supported", "not supported", "inconclusive", "no gain")
    assert found["confirm_tasks"] == 15


def test_a_comparison_has_the_papers_table_with_the_cross_corpus_column(chase: Commands, officeqa_data: Path) -> None:
    data = on(officeqa_data)[:-2]
    found = chase.json(
        "compare", *data, "--methods", "raw-harness,meta-harness,chase:eta=0", "--seeds", "1", "--rounds", 1, *ONCE,
        "--workers", 1,
    )  # fmt: skip
    assert [column["key"] for column in found["columns"]] == ["r_rel", "r_avg", "r_min", "g_rel", "gamma", "r_prov2"]
    assert found["methods"]["raw-harness"]["r_prov2"]["n"] == 4
    assert found["paper"]["methods"]["chase"] == {"r_prov2": 0.3037, "r_rel": 0.6886, "r_avg": 0.6842, "r_min": 0.6798}


def test_an_index_that_a_variant_needs_is_told_of(officeqa_data: Path) -> None:
    told: list[str] = []
    opener = Opener(Hears(told))
    benchmark = opener.benchmark(RolloutSettings(benchmark="officeqa", data=str(officeqa_data), model="lexical"))
    shifted = benchmark.allowlist["shift-passages"].make({"by": 35})
    environment = benchmark.environment(benchmark.tasks("evo")[0], OperatorList(operators=(shifted,), seed=0))
    environment.call("search", {"query": "receipts"})
    assert any(step.startswith("indexing documents") for step in told)


class Hears(Silent):
    def __init__(self, told: list[str]) -> None:
        self._told = told

    def told(self, event: Event) -> None:
        if isinstance(event, Building):
            self._told.append(event.step)


def test_two_processes_give_the_same_scores_as_one(
    chase: Commands, officeqa_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def counted(count: int, **opens: Any) -> Any:
        started.append(count)
        return processes(count, **opens)

    monkeypatch.setattr("chase.runs.life.processes", counted)
    monkeypatch.setattr("chase.runs.life.open_benchmark", open_officeqa)  # a worker opens the data for itself
    asked = ("compare", *on(officeqa_data)[:-2], "--methods", "raw-harness", "--seeds", "1", *ONCE)
    asked = (*asked, "--split-sizes", "evo=2,disc=2,conf=2,cert=4,prov2=2")
    one = chase.json(*asked, "--workers", 1, "--workspace", "one")
    two = chase.json(*asked, "--workers", 2, "--workspace", "two")
    assert started == [2]
    assert one["executed"] == two["executed"] > 0
    assert one["methods"] == two["methods"]
    assert one["methods"]["raw-harness"]["r_rel"]["n"] == 4
