"""A repaired harness that loses nothing is not reported to lose; docs/repair.md has the committed figures."""

from __future__ import annotations

import json
from pathlib import Path

from studies.reader_scores import RESULTS
from studies.repair_inflation import SEARCHED, SIZES, Case, study, table

PAGE = (Path(__file__).parents[1] / "docs" / "repair.md").read_text(encoding="utf-8")
ROWS = json.loads((RESULTS / "repair_inflation.json").read_text(encoding="utf-8"))["rows"]


def test_the_table_stands_on_the_page() -> None:
    lines = list(table())
    assert len(lines) == 2 + len(SIZES) * len(SEARCHED)
    assert [line for line in lines if line not in PAGE.splitlines()] == []


def test_on_tasks_that_the_audit_did_not_use_nothing_is_added_to_a_true_zero() -> None:
    for row in ROWS:
        assert abs(row["reported"]["other_tasks"]) <= 3 * row["se"]["other_tasks"]
        assert row["reported"]["same_tasks"] < row["reported"]["former"]
        assert row["called_sure"]["other_tasks"] <= 0.05


def test_the_inflation_of_the_former_rule_is_seen_and_gone_in_a_small_run() -> None:
    found = study(Case(tasks=112, searched=4), repairs=20, seed=101)
    told = {name: value / found["se"][name] for name, value in found["reported"].items()}
    assert found["reported"]["former"] > 0.05
    assert found["reported"]["same_tasks"] < found["reported"]["former"]
    assert abs(told["other_tasks"]) < 2.5
