"""The study of scans of dependent tasks: its committed result keeps what the page promises."""

from __future__ import annotations

import json
from pathlib import Path

from studies.reader_scores import RESULTS
from studies.scan_dependent import DESIGNS, LEVELS, summary

RESULT = json.loads((RESULTS / "scan_dependent.json").read_text(encoding="utf-8"))
PAGE = (Path(__file__).parents[1] / "docs" / "scan.md").read_text(encoding="utf-8")


def test_the_summary_is_of_the_rows_and_stands_on_the_page() -> None:
    assert summary(RESULT["rows"]) == RESULT["summary"]
    for name in DESIGNS:
        for level in LEVELS:
            false = RESULT["summary"][name][str(level)]["false"]["value"]
            assert f"| {name} | {level} | {100 * false:.1f} % (" in PAGE


def test_nothing_is_found_more_often_than_the_level_says_and_without_clusters_it_is() -> None:
    """Of 200 scans at 1 % more than 7 are beyond three sigma, at 5 % more than 19."""
    most = {0.95: 19 / 200, 0.99: 7 / 200}
    for found in RESULT["summary"].values():
        assert all(found[str(level)]["false"]["value"] <= most[level] for level in LEVELS)
    assert RESULT["summary"]["declared groups of like documents"]["0.99"]["false_undeclared"]["value"] > 0.3
