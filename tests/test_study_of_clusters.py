"""The study of clusters: its code on few draws, and its committed result."""

from __future__ import annotations

import json

import numpy as np
import pytest
from studies.clusters import CASES, METHODS, TASKS, study
from studies.reader_scores import RESULTS

RESULT = json.loads((RESULTS / "clusters.json").read_text())


@pytest.mark.parametrize(("name", "independent_at_most"), [("fours", 0.93), ("one with half, equal", 0.5)])
def test_intervals_of_clusters_cover_and_those_of_independent_tasks_do_not(
    name: str, independent_at_most: float
) -> None:
    """Of 150 draws at 95 % fewer than 134 are beyond three sigma."""
    found = study(CASES[name], TASKS[0], 150)
    assert found["clusters"]["covered"] >= 134 / 150
    assert found["independent"]["covered"] <= independent_at_most
    assert found["independent"]["width"] < found["clusters"]["width"]


@pytest.mark.parametrize("name", CASES)
def test_a_case_has_the_mean_that_it_says(name: str) -> None:
    """Within four standard errors, from the spread between clusters."""
    case, rng = CASES[name], np.random.default_rng(132)
    clusters = [tasks for _ in range(40) for tasks in case.draw(rng, TASKS[1])]
    off = [sum(tasks) - case.mean() * len(tasks) for tasks in clusters]
    assert abs(sum(off)) < 4 * float(np.linalg.norm(off))


def test_no_case_is_missed_more_often_than_is_said() -> None:
    """Of 2,000 draws at 2.5 % more than 78 on one side are beyond four sigma."""
    assert RESULT["draws"] == 2000
    assert list(RESULT["cases"]) == list(CASES)
    for case in RESULT["cases"].values():
        for found in case["tasks"].values():
            for method in ("clusters", "betting"):
                assert max(found[method]["misses_below"], found[method]["misses_above"]) <= 0.039
            assert set(METHODS) < set(found)
