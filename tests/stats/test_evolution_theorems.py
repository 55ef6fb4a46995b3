"""Lemma 1 and Theorems 2 and 3 against hand calculations; the Rademacher term against sums over all signs."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.stats.evolution_theorems import (
    SearchSet,
    confirmation_radius,
    confirmation_threshold,
    confirmed_rounds,
    search_radius,
    unconfirmed_round,
)
from chase.stats.rademacher import empirical_rademacher
from chase.stats.theorems import Impossible

sizes, rounds, shares = st.integers(1, 5000), st.integers(1, 20), st.floats(1e-6, 0.999)
terms, margins = st.floats(0, 1), st.floats(0.01, 1)


@pytest.mark.parametrize(
    ("n", "rounds", "x"),
    [(16, 3, 1.7570), (24, 3, 1.4345), (48, 3, 1.0144), (16, 1, 1.5930)],  # √(8 log(8T/0.05) / n)
)
def test_the_confirmation_radius_is_that_of_hand_calculations(n: int, rounds: int, x: float) -> None:
    assert confirmation_radius(n, rounds, 0.05) == pytest.approx(x, abs=5e-5)


def test_the_threshold_is_tolerance_margin_and_radius() -> None:
    assert confirmation_threshold(epsilon=0.05, gamma=0.1, radius=1.757) == pytest.approx(1.907)


def test_the_search_radius_is_the_maximum_over_both_sets_not_that_of_the_smaller_one() -> None:
    """evo: 2 · 0.1 + √(8 log 160 / 32) = 1.3264; disc: 2 · 0.3 + √(8 log 160 / 64) = 1.3965."""
    evo, disc = SearchSet(n=32, rademacher=0.1), SearchSet(n=64, rademacher=0.3)
    assert search_radius([evo], 0.05) == pytest.approx(1.3264, abs=5e-5)
    assert search_radius([evo, disc], 0.05) == search_radius([disc, evo], 0.05) == pytest.approx(1.3965, abs=5e-5)


def test_theorem_2_is_the_packing_bound_and_its_consequence_needs_more_rounds_than_it() -> None:
    """C = 2, d = 1.5, γ − r = 0.5: 4^1.5 = 8."""
    for rounds, stops in ((8, False), (9, True)):
        found = confirmed_rounds(c=2, d=1.5, gamma=0.9, r=0.4, rounds=rounds)
        assert found is not None
        assert found.most == pytest.approx(8.0)
        assert (found.stops, found.vacuous) == (stops, not stops)


@pytest.mark.parametrize("r", [0.3, 0.4, 1.5])
def test_theorem_2_does_not_apply_where_the_radius_is_not_below_the_margin(r: float) -> None:
    assert confirmed_rounds(c=2, d=1, gamma=0.3, r=r, rounds=3) is None


def test_a_packing_bound_beyond_all_numbers_is_infinite_and_vacuous() -> None:
    found = confirmed_rounds(c=1e10, d=1000, gamma=0.5, r=0.4, rounds=20)
    assert found is not None
    assert found.most == math.inf
    assert found.vacuous


def test_theorem_3_is_that_of_a_hand_calculation() -> None:
    """ε + γ + 2r + 2x = 0.05 + 0.3 + 0.04 + 0.0444; H_t is 0.04 at most below harnesses with every Δ ≤ 0.03."""
    radius = confirmation_radius(100_000, 3, 0.05)
    found = unconfirmed_round(epsilon=0.05, gamma=0.3, r=0.02, radius=radius)
    assert found.destruction_upper == pytest.approx(0.43445, abs=5e-6)
    assert (found.shortfall, found.comparison_tolerance) == pytest.approx((0.04, 0.03))
    assert not found.empty_comparison
    assert found.vacuous == ()


def test_theorem_3_at_the_papers_sizes_says_nothing() -> None:
    """16 tasks: 2x alone is 3.5. And r is above ε, so no harness is left to compare with: Δ_rel is 0 for all."""
    radius = confirmation_radius(16, 3, 0.05)
    found = unconfirmed_round(epsilon=0.05, gamma=0.1, r=0.06, radius=radius)
    assert found.empty_comparison
    assert found.vacuous == ("destruction_upper", "shortfall")
    near = unconfirmed_round(epsilon=0.6, gamma=0.1, r=0.55, radius=0.0)
    assert near.vacuous == ("shortfall",), "no harness scores more than 1 below another"


@given(sizes, rounds, shares, terms)
def test_the_radii_shrink_with_n_and_alpha_and_grow_with_rounds_and_complexity(
    n: int, rounds: int, alpha: float, term: float
) -> None:
    x, r = confirmation_radius(n, rounds, alpha), search_radius([SearchSet(n=n, rademacher=term)], alpha)
    assert confirmation_radius(n + 1, rounds, alpha) < x < confirmation_radius(n, rounds + 1, alpha)
    assert confirmation_radius(n, rounds, alpha / 2) > x
    assert search_radius([SearchSet(n=n + 1, rademacher=term)], alpha) < r
    assert search_radius([SearchSet(n=n, rademacher=term)], alpha / 2) > r
    assert search_radius([SearchSet(n=n, rademacher=term + 0.1)], alpha) == pytest.approx(r + 0.2)


@given(st.floats(1, 5), st.floats(0.1, 3), margins, st.floats(0, 0.99), rounds)
def test_more_rounds_can_be_confirmed_where_the_margin_is_nearer_to_the_radius(
    c: float, d: float, gamma: float, share: float, rounds: int
) -> None:
    near = confirmed_rounds(c=c, d=d, gamma=gamma, r=share * gamma, rounds=rounds)
    far = confirmed_rounds(c=c, d=d, gamma=gamma, r=0.5 * share * gamma, rounds=rounds)
    assert near is not None
    assert far is not None
    assert near.most >= far.most >= 1


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("c", {"c": 0.5}), ("d", {"d": 0.0}), ("gamma", {"gamma": 0.0}), ("gamma", {"gamma": 1.2}), ("r", {"r": -1.0}),
        ("rounds", {"rounds": 0}),
    ],
)  # fmt: skip
def test_impossible_constants_are_refused_by_name(name: str, wrong: dict[str, float]) -> None:
    with pytest.raises(Impossible) as refused:
        confirmed_rounds(**{"c": 2, "d": 1, "gamma": 0.5, "r": 0.1, "rounds": 3, **wrong})  # type: ignore[arg-type]
    assert refused.value.name == name


def by_all_signs(rows: np.ndarray) -> float:
    """The expectation over signs, summed over all of them."""
    n = rows.shape[1]
    return float(np.mean([max(abs(rows @ np.array(signs))) / n for signs in product((-1, 1), repeat=n)]))


def test_the_rademacher_term_covers_scores_and_gain_destructions() -> None:
    scores = np.array([[1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.5]])
    destructions = np.array([[2.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    found = empirical_rademacher(scores, destructions, seed=1)
    exact = by_all_signs(np.concatenate([scores, destructions]))
    assert found.value == pytest.approx(exact, abs=4 * found.se)
    assert exact > by_all_signs(scores) + 20 * found.se
    assert (found.tasks, found.harnesses, found.pairs) == (4, 2, 2)
    assert (
        found
        == empirical_rademacher(scores, destructions, seed=1)
        != empirical_rademacher(scores, destructions, seed=2)
    )


def test_one_harness_on_one_task_has_its_score_and_no_counterfactual_changes_nothing() -> None:
    found = empirical_rademacher(np.array([[0.75]]), np.empty((0, 1)), seed=3)
    assert (found.value, found.se) == (0.75, 0.0)


def test_rows_of_other_tasks_are_refused() -> None:
    with pytest.raises(ValueError, match="same tasks"):
        empirical_rademacher(np.ones((1, 3)), np.ones((1, 2)), seed=0)
    with pytest.raises(ValueError, match="no harness"):
        empirical_rademacher(np.empty((0, 3)), np.ones((1, 3)), seed=0)
