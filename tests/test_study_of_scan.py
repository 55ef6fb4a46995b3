"""The study of the scan: its arithmetic on made-up rows, and the page's table by its committed result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from studies.scan import OTHERS, SEEDS, cases, summary

ROOT = Path(__file__).parents[1]
RESULT = json.loads((ROOT / "studies" / "results" / "scan.json").read_text())
FIVE = [["window"], ["path-depth"], ["hit-position"], ["name-length"], ["bar-count"]]
PAPER = ["filename", "depth", "rank", "position", "serialization"]


def row(findings: list[list[str]], variant: str = "released", **more: Any) -> dict[str, Any]:
    about = {"seed": 1, "planted": "", "level": 0.99, "remove": False, "features": PAPER, "tests": 40, "tasks": 112}
    return {**about, "variant": variant, "findings": findings, "removed": [], "together": None, "below": 2, **more}


def test_a_missing_feature_and_a_false_finding_are_counted() -> None:
    rows = [row(FIVE), row(FIVE[1:]), row([*FIVE, ["id-initial"]]), row([["id-final"]], "neutral"), row([], "neutral")]
    found = summary([*rows, row(FIVE, planted=OTHERS)])
    assert found["found"]["position"]["value"] == pytest.approx(3 / 4)
    assert found["all_five"]["paper"]["value"] == pytest.approx(2 / 3)
    assert found["exactly_five"]["value"] == pytest.approx(1 / 3)
    assert found["false_released"]["value"] == pytest.approx(1 / 4)
    assert found["false_neutral"]["0.99"]["value"] == pytest.approx(1 / 2)


def test_the_committed_result_is_of_all_cases_and_the_pages_table_is_its() -> None:
    assert len(RESULT["rows"]) == len(cases()) == 250
    assert RESULT["seeds"] == [SEEDS[0], SEEDS[-1]]
    assert summary(RESULT["rows"]) == RESULT["summary"]
    page = (ROOT / "docs" / "scan.md").read_text(encoding="utf-8")
    for said, planted in (("the paper's five", ""), ("five others", OTHERS)):
        for variant, level in (("released", 0.99), ("neutral", 0.99)):
            rows = [r for r in RESULT["rows"] if (r["planted"], r["variant"], r["level"]) == (planted, variant, level)]
            of = summary([*rows, row([], "neutral", level=0.95), *([row(FIVE)] if variant == "neutral" else [])])
            five = ""
            if variant == "released":
                five = f"{round(of['all_five']['others' if planted else 'paper']['value'] * len(rows))}"
                false = round(of["false_released"]["value"] * len(rows))
            else:
                false = sum(bool(r["findings"]) for r in rows)
            cells = " | ".join((said, variant, str(level), str(len(rows)), five, str(false)))
            assert f"| {cells} |".replace("|  |", "| |") in page
