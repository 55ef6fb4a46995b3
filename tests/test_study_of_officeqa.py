"""The study of the paper's transformations on the paper's `H_1`: its arithmetic, and a run on a tiny sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from studies import officeqa_paper, reader_scores, report, running
from studies.officeqa_paper import INITIAL, TRANSFORMATIONS, figures, means_of

Scores = dict[tuple[str, str], list[int]]


def made_up(scores: Scores) -> list[dict[str, Any]]:
    return [
        {"harness": harness, "variant": variant, "task": f"t{place}", "score": score, "reason": "answered"}
        for (harness, variant), values in scores.items()
        for place, score in enumerate(values)
    ]


def test_gains_and_gain_destruction_are_the_papers_differences() -> None:
    initial = {(INITIAL, name): [0, 0, 0, 1] for name in TRANSFORMATIONS}
    h1 = {("h1", "released"): [1, 1, 0, 1], ("h1", "b1"): [0, 0, 0, 1], ("h1", "ten-line shift"): [1, 0, 0, 1]}
    found = figures(means_of(made_up(initial | h1)), "h1")
    assert {name: row["gain"]["value"] for name, row in found.items()} == {
        "released": 0.5,
        "b1": 0.0,
        "ten-line shift": 0.25,
    }
    assert "gain_destruction" not in found["released"]
    for name, lost in (("b1", 0.5), ("ten-line shift", 0.25)):
        told = found[name]["gain_destruction"]
        assert (told["value"], told["n"], told["level"]) == (lost, 4, 0.95)
        assert told["low"] < lost < told["high"]
    assert found["b1"]["score"]["value"] == found["b1"]["initial_score"]["value"] == 0.25


def test_the_transformations_are_the_papers() -> None:
    assert {name: list(operators) for name, operators in TRANSFORMATIONS.items()} == {
        "released": [],
        "b1": [{"name": "wrap-text", "arguments": {}}],
        "ten-line shift": [{"name": "shift-passages", "arguments": {"by": 10}}],
    }


def test_scores_that_do_not_cover_the_same_questions_are_not_compared() -> None:
    rows = made_up({(name, variant): [0, 1] for name in (INITIAL, "h1") for variant in TRANSFORMATIONS})
    with pytest.raises(ValueError, match="tasks are in one cell only"):
        figures(means_of(rows[:-1]), "h1")


def test_a_run_on_a_tiny_sample_is_written_and_goes_on_where_it_stopped(
    officeqa_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (running, reader_scores, report):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    monkeypatch.setattr(officeqa_paper, "ROLES", ("conf1",))
    monkeypatch.setattr(officeqa_paper, "PARTS", 1)
    officeqa_paper.main(["--data", str(officeqa_data)])
    found = json.loads((tmp_path / "officeqa_paper.json").read_text())
    assert (found["tasks"], found["sample"]["synthetic"]) == (5, True)
    assert set(found["harnesses"]["h1"]) == set(TRANSFORMATIONS)
    assert found["harnesses"]["h1"]["b1"]["gain_destruction"]["n"] == 5
    rows = (tmp_path / "officeqa_paper.rows.jsonl").read_text().splitlines()
    assert len(rows) == 6
    (tmp_path / "officeqa_paper.rows.jsonl").write_text("\n".join(rows[:5]) + "\n")
    capsys.readouterr()
    monkeypatch.setattr(officeqa_paper, "check", lambda _: None)  # it was checked
    officeqa_paper.main(["--data", str(officeqa_data)])
    assert "1/1 cases" in capsys.readouterr().err
    assert json.loads((tmp_path / "officeqa_paper.json").read_text()) == found
    _, _, *lines = report.officeqa_paper()
    assert [line.split(" | ")[:2] for line in lines] == [["| h1", name] for name in TRANSFORMATIONS]
    assert lines[0].endswith("| - | 5 |")
