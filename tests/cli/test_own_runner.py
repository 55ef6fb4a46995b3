"""Somebody else's runner: benchmarks come out as files, its scores come back, and the verdict is an audit's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chase.benchmarks.officeqa.benchmark import OfficeQA
from chase.core.errors import UserError
from chase.core.values import FileView
from chase.runs.export import _write_documents, export_benchmark
from tests.benchmarks.documents.examples import example, folder
from tests.cli.commands import Commands, checked

PAGE = (Path(__file__).parents[2] / "docs" / "own-runner.md").read_text(encoding="utf-8")
DEPTH = {
    "benchmark": "syn-ledger",
    "operators": [{"name": "equalise", "arguments": {"aspect": "depth", "to": "high"}}],
}


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


@pytest.mark.slow
def test_the_pages_runner_goes_round_and_gets_the_verdict_that_the_page_shows(chase: Commands, tmp_path: Path) -> None:
    (runner,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "my_runner.py").write_text(runner)
    (tmp_path / "path-depth.json").write_text(json.dumps(DEPTH))
    assert chase("firewall", "check", "path-depth.json", "--benchmark", "syn-ledger@7").code == 0
    chase.json("bench", "export", "syn-ledger@7", "--out", "released")
    chase.json("bench", "export", "syn-ledger@7", "--variant", "path-depth.json", "--out", "changed")
    # Another process that has no chase: no path of this one, no site of the environment.
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "my_runner.py", "released", "changed"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    (tmp_path / "scores.csv").write_text(ran.stdout)
    finished = chase("analyze", "--scores", "scores.csv", "--baseline", "old")
    assert finished.code == 5
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert finished.out == shown
    payload = checked(chase("analyze", "--scores", "scores.csv", "--baseline", "old", "--json").out)
    assert payload["verdict"] == "not supported"
    assert payload["tasks"] == 112


def test_a_corpus_is_written_once_under_any_variant(officeqa: OfficeQA, tmp_path: Path) -> None:
    counts = {}
    for variant in ("released", "paper-b1"):
        place = tmp_path / variant
        place.mkdir()
        every = officeqa.tasks()
        counts[variant] = export_benchmark(officeqa, officeqa.variant(variant), every, place, lambda _: None)
        tasks = [json.loads(line) for line in (place / "tasks.jsonl").open()]
        assert len(tasks) == len(officeqa.tasks()) == counts[variant]["tasks"]
        assert {task["split"] for task in tasks} == set(officeqa.roles)
        assert all(task["answer"] and task["evidence"] for task in tasks)
        assert len({task["documents"] for task in tasks if task["split"] == "evo"}) == 1
        held = [json.loads(line) for line in (place / "manifest.jsonl").open()]
        ids = {file["document"] for row in held for file in row["files"]}
        assert {id_ for task in tasks for id_ in task["evidence"]} <= ids
        view = officeqa.view(tasks[0]["id"], officeqa.variant(variant))
        first = view.files[0]
        assert (place / tasks[0]["documents"] / first.path).read_text(encoding="utf-8") == first.text
        assert json.loads((place / "tools.json").read_text())
    assert counts["released"] == counts["paper-b1"]


def test_documents_of_ones_own_are_written_in_the_same_form_and_the_sealed_questions_are_not(
    chase: Commands, tmp_path: Path
) -> None:
    data, benchmark = ("--data", str(folder())), example()
    for variant in ("released", "plain-names"):
        written = chase.json("bench", "export", "documents", *data, "--variant", variant, "--out", variant)
        assert written["sealed"] == len(benchmark.tasks("cert"))
        tasks = [json.loads(line) for line in (tmp_path / variant / "tasks.jsonl").open()]
        assert {task["split"] for task in tasks} == {*benchmark.roles} - benchmark.sealed
        (held,) = (json.loads(line) for line in (tmp_path / variant / "manifest.jsonl").open())
        files = {file["document"]: file["path"] for file in held["files"]}
        view = benchmark.view(tasks[0]["id"], benchmark.variant(variant))
        assert list(files.items()) == [(file.id, file.path) for file in view.files]
        assert {id_ for task in tasks for id_ in task["evidence"]} <= files.keys()
        assert {task["documents"] for task in tasks} == {held["documents"]}
        for file in view.files[:5]:
            assert (tmp_path / variant / held["documents"] / file.path).read_text(encoding="utf-8") == file.text
        assert json.loads((tmp_path / variant / "tools.json").read_text())[0]["name"]


@pytest.mark.parametrize("path", ["../out.txt", "/etc/out.txt", "a/../../out.txt"])
def test_a_document_whose_name_leads_out_of_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(UserError, match="leads out of the folder"):
        _write_documents((FileView(id="x", path=path, read=lambda: "text"),), tmp_path / "in" / "side")
    assert list(tmp_path.rglob("out.txt")) == []
