"""The Rademacher terms of a run's search sets come from what it evaluated there, whole cells only."""

from __future__ import annotations

import numpy as np
import pytest

from chase.methods.search_sets import search_terms
from chase.stats.rademacher import empirical_rademacher
from chase.store.records import StoredRollout, Use, UsedRollout
from tests.store.store_samples import sample_key, sample_rollout

TASKS = ["a", "b", "c"]
SCORES = {
    ("h0", "id"): [1.0, 0.0, 0.0],
    ("h1", "id"): [1.0, 1.0, 0.5],
    ("h0", "phi"): [0.0, 0.0, 1.0],
    ("h1", "phi"): [0.0, 0.0, 0.0],
    ("h2", "id"): [0.0, 1.0, 1.0],
}


def used(role: str, harness: str, transformation: str, task: str, score: float, index: int = 0) -> UsedRollout:
    key = sample_key(task, role=role, harness=harness, transformation=transformation, index=index)
    made = sample_rollout(key=key, score=score)
    stored = StoredRollout(
        digest=f"{role}{harness}{transformation}{task}{index}", key=key, outcome=made.outcome, answer=None,
        usage=made.usage, served_models=(), trace_digest="", created_at="",
    )  # fmt: skip
    return UsedRollout(use=Use(run="r", method="chase"), reused=False, rollout=stored)


def of(role: str) -> list[UsedRollout]:
    return [
        used(role, *pair, task, score) for pair, row in SCORES.items() for task, score in zip(TASKS, row, strict=True)
    ]


def terms(rollouts: list[UsedRollout], **sets: list[str]) -> dict[str, object]:
    return dict(search_terms(rollouts, sets, initial="h0", released="id", seed=5))


def test_released_scores_and_every_pair_with_four_cells_are_in_it() -> None:
    """δ of h1 under phi: (1−1−0+0, 1−0−0+0, 0.5−0−0+1)."""
    released = np.array([SCORES[harness, "id"] for harness in ("h0", "h1", "h2")])
    expected = empirical_rademacher(released, np.array([[0.0, 1.0, 1.5]]), seed=5)
    assert terms(of("evo"), evo=TASKS) == {"evo": expected}
    assert (expected.harnesses, expected.pairs) == (3, 1)


def test_roles_are_apart_and_a_set_that_nobody_searched_on_has_none() -> None:
    found = terms([*of("evo"), *of("cert")], evo=TASKS, disc=TASKS)
    assert found == terms(of("evo"), evo=TASKS)


def test_rollouts_are_averaged_within_task_and_half_a_cell_counts_for_nothing() -> None:
    again = [used("evo", "h2", "id", task, 0.0, index=1) for task in TASKS]
    partly = [used("evo", "h3", "id", "a", 1.0)]
    uneven = [used("evo", "h0", "phi", "a", 1.0, index=1)]
    released = np.array([SCORES["h0", "id"], SCORES["h1", "id"], [0.0, 0.5, 0.5]])
    expected = empirical_rademacher(released, np.array([[0.0, 1.0, 1.5]]), seed=5)
    assert terms([*of("evo"), *again, *partly], evo=TASKS) == {"evo": expected}
    without = terms([*of("evo"), *uneven], evo=TASKS)["evo"]
    assert getattr(without, "pairs", None) == 0, "H_0 under phi has tasks with unequal numbers of rollouts"


@pytest.mark.parametrize("role", ["evo", "disc"])
def test_the_seed_decides_the_signs(role: str) -> None:
    assert terms(of(role), **{role: TASKS}) == terms(of(role), **{role: TASKS})
