"""The study of TAT-QA: a run on a small file of its shape, of our own making, and the pages by the committed result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from studies import reader_scores, running, tat_qa
from studies.tat_qa import LINES, by, percent, points, tables

ROOT = Path(__file__).parents[1]
RESULT = json.loads((ROOT / "studies" / "results" / "tat_qa.json").read_text())
PAGE = (ROOT / "docs" / "tat-qa.md").read_text(encoding="utf-8")
CONTEXTS = 12
GOODS = ("Ferry fares", "Moorings", "Lamp oil")


def context(number: int) -> dict[str, Any]:
    """A report of a harbour: figures of two years, and what a sentence says."""
    figures = {good: [37 * number + 11 * place + 5, 29 * number + 7 * place + 3] for place, good in enumerate(GOODS)}
    rows = [[good, *map(str, own)] for good, own in figures.items()]
    asked = [
        ("What were ferry fares in 2031?", [str(figures["Ferry fares"][0])], "span", "thousand"),
        ("What was the change in moorings in 2031 from 2030?", figures["Moorings"][0] - figures["Moorings"][1],
         "arithmetic", "thousand"),
        ("Who keeps the lamp?", [f"the keeper of pier {number}"], "span", ""),
    ]  # fmt: skip
    return {
        "table": {"uid": f"t{number}", "table": [["(in thousands)", "2031", "2030"], *rows]},
        "paragraphs": [{"uid": "p", "order": 1, "text": f"The lamp is lit by the keeper of pier {number}."}],
        "questions": [
            {"uid": f"q{number}-{place}", "question": question, "answer": answer, "answer_type": kind,
             "answer_from": "table", "scale": scale}
            for place, (question, answer, kind, scale) in enumerate(asked)
        ],
    }  # fmt: skip


@pytest.mark.slow
def test_a_run_on_a_small_file_of_the_same_shape_is_written_without_its_text_and_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (running, reader_scores):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    data = tmp_path / "dev.json"
    data.write_text(json.dumps([context(number) for number in range(CONTEXTS)]))
    tat_qa.main(["--data", str(data)])
    written = (tmp_path / "tat_qa.json").read_text()
    found = json.loads(written)
    assert found["data"]["questions"] == 3 * CONTEXTS
    assert found["data"]["documents"] == CONTEXTS
    sets = found["scores"]["by task set"]
    assert sum(one["n"] for one in sets.values()) == 3 * CONTEXTS
    assert set(found["scores"]["by type of answer"]) == {"span", "arithmetic"}
    assert found["scores"]["by scale"]["thousand"]["value"] == 1.0
    assert [(one["line"], one["searched"]) for one in found["audits"] if one["searched"]] == [
        (line, True) for line in LINES.values()
    ]
    assert not any(word in written for word in ("keeper", "Ferry", "ferry", "pier"))
    assert len(list(tables(found))) > 12
    rows = (tmp_path / "tat_qa.rows.jsonl").read_text().splitlines()
    (tmp_path / "tat_qa.rows.jsonl").write_text("\n".join(rows[:-1]) + "\n")
    capsys.readouterr()
    tat_qa.main(["--data", str(data)])
    assert "1/1 cases" in capsys.readouterr().err
    assert (tmp_path / "tat_qa.json").read_text() == written


def test_scores_are_means_over_questions_by_what_is_asked_for() -> None:
    rows = [{"task": f"t{place}", "kind": kind, "score": score} for place, (kind, score) in enumerate(
        [("span", 1.0), ("span", 0.0), ("count", 0.5)])]  # fmt: skip
    found = by(rows, lambda row: row["kind"])
    assert {name: (one["value"], one["n"]) for name, one in found.items()} == {"count": (0.5, 1), "span": (0.5, 2)}


def test_every_line_of_the_committed_result_stands_on_the_page() -> None:
    lines = list(tables(RESULT))
    assert len(lines) > 25
    assert [line for line in lines if line not in PAGE.splitlines()] == []
    assert RESULT["data"]["sha256"] in PAGE
    assert RESULT["commit"] in PAGE


def test_what_other_pages_say_of_it_is_the_committed_result() -> None:
    overview = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    fresh = RESULT["scores"]["by task set"]["disc, conf1, conf2, conf3"]
    assert percent(fresh) in overview
    for one in RESULT["audits"]:
        if one["searched"]:
            assert f"{points(one['g_rel'])} points" in overview
            assert f"*{one['verdict']}*" in overview
