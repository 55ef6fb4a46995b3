"""docs/statistics.md and its picture say what the committed study of certificates found, and it found what it must."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from docs.make_radius import PICTURE, draw
from scipy.stats import binom
from studies.certificates import coverage, tables, worst_case
from studies.reader_scores import RESULTS

FOUND = json.loads((RESULTS / "certificates.json").read_text(encoding="utf-8"))
PAGE = (Path(__file__).parents[1] / "docs" / "statistics.md").read_text(encoding="utf-8")


def test_every_line_of_the_table_stands_on_the_page() -> None:
    lines = list(tables())
    assert len(lines) > 20
    assert [line for line in lines if line not in PAGE.splitlines()] == []


def test_the_picture_is_what_the_figures_draw() -> None:
    assert draw(FOUND["radius_by_n"]) == PICTURE.read_text(encoding="utf-8"), "run `python docs/make_radius.py`"


def test_no_coverage_is_rejected_at_24_76_and_208_tasks() -> None:
    assert FOUND["draws"] >= 5000
    for case in FOUND["cases"].values():
        assert case["coverage"].keys() == {"24", "76", "208"}
        for levels in case["coverage"].values():
            for alpha, found in levels.items():
                for side in ("misses_lower", "misses_upper"):
                    misses = round(found[side] * FOUND["draws"])
                    assert binom.sf(misses - 1, FOUND["draws"], float(alpha)) >= 0.01


@pytest.mark.parametrize(("n", "share"), [("76", 0.35), ("208", 0.25)])
def test_the_radius_on_sparse_differences_is_at_most_the_share_of_hoeffdings_that_was_asked_for(
    n: str, share: float
) -> None:
    found = FOUND["cases"]["sparse Δ"]["radius"][n]
    assert found["betting"] <= share * found["hoeffding"]


def test_a_fast_version_finds_the_same_and_would_notice_a_bound_that_promises_too_much() -> None:
    case = worst_case(24, 0.05)
    assert not coverage(case, 24, 0.05, draws=2000, seed=1)["rejected"]
    # The bounds of 5 % held to 1 %: a study that could not fail would say nothing.
    missed = coverage(case, 24, 0.05, draws=2000, seed=1)["misses_upper"]
    assert binom.sf(round(2000 * missed) - 1, 2000, 0.01) < 0.01
