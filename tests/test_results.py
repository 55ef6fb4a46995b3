"""docs/results.md and docs/faults.md say what the committed results say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from studies.reader_scores import RESULTS
from studies.report import FAULTS, TABLES

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "results.md").read_text()


@pytest.mark.parametrize("name", [name for name in TABLES if (RESULTS / f"{name}.json").exists()])
def test_every_line_of_a_study_stands_on_the_page(name: str) -> None:
    lines = list(TABLES[name]())
    assert len(lines) > 3
    assert [line for line in lines if line not in PAGE.splitlines()] == []


def test_every_line_of_the_study_of_faults_stands_on_its_page_and_nothing_was_lost() -> None:
    lines = [line for table in FAULTS.values() for line in table()]
    assert len(lines) > 16
    assert [line for line in lines if line not in (DOCS / "faults.md").read_text().splitlines()] == []
    rows = json.loads((RESULTS / "faults.json").read_text())["rows"]
    assert all(row["same"] == row["rollouts"] and not row["lost"] and not row["doubled"] for row in rows)
    for run in json.loads((RESULTS / "faults.json").read_text())["run"]["rows"]:
        assert run["scores"] == run["rollouts"]
        assert all(run[key] for key in ("final", "archive", "selections", "certified", "same_ledger"))
