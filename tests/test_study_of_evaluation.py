"""docs/statistics.md says what the committed study of evaluation found, and the scores that it kept say it too."""

from __future__ import annotations

import json
from pathlib import Path

from studies.evaluation import judged, table
from studies.reader_scores import RESULTS

FOUND = json.loads((RESULTS / "evaluation.json").read_text(encoding="utf-8"))
DECISIONS = json.loads((RESULTS / "evaluation_decisions.json").read_text(encoding="utf-8"))
PAGE = (Path(__file__).parents[1] / "docs" / "statistics.md").read_text(encoding="utf-8")


def test_every_line_of_the_table_stands_on_the_page() -> None:
    assert [line for line in table(FOUND) if line not in PAGE.splitlines()] == []


def test_it_found_what_was_asked_for() -> None:
    assert FOUND["curtailed"]["same choice"]["value"] == 1
    racing = FOUND["racing"]
    assert racing["decisions"] == len(DECISIONS) >= 200
    assert racing["same or within one task"]["value"] >= 0.9
    assert racing["violators"] > 50
    assert racing["violators admitted"] <= 0.05 * racing["violators"]
    assert racing["episodes of runs"]["share"] < FOUND["curtailed"]["episodes of runs"]["share"] < 1


def test_decisions_with_an_archive_are_judged_again_as_they_were() -> None:
    some = [row for row in DECISIONS if len(row["variants"]) > 2]
    rows = [row for decision in some for row in judged(decision)]
    assert len(some) > 5
    assert all(row["same"] for row in rows if row["kind"] == "curtailed")
    assert not any(row["admitted"] for row in rows)
    assert sum(row["episodes"] for row in rows) < sum(row["full"] for row in rows)
