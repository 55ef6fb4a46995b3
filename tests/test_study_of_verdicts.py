"""The study of verdicts: its code on few draws, and its committed result."""

from __future__ import annotations

import json

import pytest
from studies.reader_scores import RESULTS
from studies.verdicts import COUNTS, SHARES, SIZES, cases, table, words, wrong

RESULT = json.loads((RESULTS / "verdicts.json").read_text(encoding="utf-8"))
HALF = {"gain": 0.3, "n": 112, "clustered": False, "draws": 40, "share": 0.5, "scales": False}


@pytest.mark.parametrize("count", COUNTS)
def test_half_is_seldom_called_wrongly_and_was_often(count: int) -> None:
    """Of 40 draws at 5 % more than 7 are beyond three sigma."""
    (row,) = words({**HALF, "counterfactuals": count})
    assert sum(row["now"].values()) == sum(row["before"].values()) == 40
    assert wrong(row, row["now"]) <= 7
    assert wrong(row, row["before"]) >= 10


def test_a_gain_that_only_scales_accuses_nobody() -> None:
    (row,) = words({**HALF, "counterfactuals": 1, "share": 0.0, "scales": True, "draws": 20})
    assert wrong(row, row["now"]) <= 5
    assert wrong(row, row["before"]) >= 10


def test_no_word_of_the_result_is_wrong_more_often_than_the_level_says() -> None:
    rows = RESULT["rows"]
    assert len(rows) == len(cases(400)) == 2 * len(SIZES) * len(COUNTS) * 2 * (len(SHARES) + 1)
    assert max(wrong(row, row["now"]) / row["draws"] for row in rows) <= 0.05
    assert max(wrong(row, row["before"]) / row["draws"] for row in rows) > 0.9
    assert table(rows) == RESULT["table"]
