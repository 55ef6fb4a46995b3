"""The study of what a calibrated confirmation confirms: its code on few draws, and its committed result."""

from __future__ import annotations

import json

from studies.confirmation_nulls import CASES, TASKS, most, study
from studies.reader_scores import RESULTS

RESULT = json.loads((RESULTS / "confirmation_nulls.json").read_text())["cases"]


def test_an_effect_that_cancels_out_is_confirmed_by_signs_and_not_by_the_bound_of_its_mean() -> None:
    found = study(CASES["cancels out"], 16, 80)
    assert found["signs"] > 0.2
    assert found["mean"] == 0.0
    for tasks in TASKS:
        assert RESULT["cancels out"]["tasks"][str(tasks)]["mean"] <= 0.03
        assert RESULT["nothing"]["tasks"][str(tasks)]["signs"] <= 0.03


def test_no_test_of_a_mean_finds_15_points_on_16_tasks() -> None:
    """A loss of 2 on 6.98 % of the tasks makes the mean 0, and 31.4 % of sets of 16 have none."""
    assert abs(most(0.15, 16) - 0.05 / 3 / 0.314) < 0.0005
    for case in RESULT.values():
        for found in case["tasks"].values():
            assert found["mean"] <= found.get("most", 1.0)
