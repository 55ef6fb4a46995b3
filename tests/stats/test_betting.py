"""Bounds by betting: valid exactly where all outcomes can be counted, by simulation elsewhere, and tight."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from chase.stats.betting import lower_bound, lower_bounds, shuffled, upper_bound, upper_bounds
from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES

SPARSE = (0.0, -1.0, -2 / 3, -1 / 3, 1 / 3, 2 / 3, 1.0), (0.8, *[0.2 / 6] * 6)
"""Paired differences of three rollouts that are the same on four tasks of five."""
thirds = st.sampled_from([-1.0, -2 / 3, -1 / 3, 0.0, 1 / 3, 2 / 3, 1.0])
samples = st.lists(thirds, min_size=1, max_size=30)


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5])
def test_no_coin_is_missed_more_often_than_promised_counted_over_all_outcomes(alpha: float) -> None:
    """Eight tosses: the probability of every sequence whose bound is above the coin's mean, summed."""
    tosses = np.array(list(product((0.0, 1.0), repeat=8)))
    bounds = lower_bounds(tosses, SCORES, alpha)
    ones = tosses.sum(axis=1)
    for mean in np.unique(np.concatenate([bounds - 1e-9, np.linspace(0.01, 0.99, 25)])).clip(0, 1):
        chance = mean**ones * (1 - mean) ** (8 - ones)
        assert chance[bounds > mean].sum() <= alpha + 1e-9


@pytest.mark.parametrize("n", [24, 76])
@pytest.mark.parametrize("values", ["sparse", "skewed", "rare"])
def test_the_mean_is_missed_no_more_often_than_promised_in_simulation(n: int, values: str) -> None:
    levels, shares = {"sparse": SPARSE, "skewed": ((-0.5, 2.0), (0.8, 0.2)), "rare": ((0.0, 2.0), (0.96, 0.04))}[values]
    mean, draws = float(np.dot(levels, shares)), 1500
    drawn = np.random.default_rng(n).choice(levels, size=(draws, n), p=shares)
    for misses in (
        np.sum(lower_bounds(drawn, DESTRUCTIONS, 0.05) > mean),
        np.sum(upper_bounds(drawn, DESTRUCTIONS, 0.05) < mean),
    ):
        assert binom.sf(misses - 1, draws, 0.05) >= 0.01, "a one-sided 99 % test rejects a coverage of 95 %"


@pytest.mark.parametrize(("n", "share"), [(76, 0.35), (208, 0.25)])
def test_the_radius_on_sparse_differences_is_a_fraction_of_hoeffdings(n: int, share: float) -> None:
    """|A| = 2, α = 0.05: each side at α/8; Hoeffding's s_Δ is 0.7309 at 76 tasks and 0.4418 at 208."""
    drawn = np.random.default_rng(n).choice(SPARSE[0], size=(200, n), p=SPARSE[1])
    radius = np.mean(upper_bounds(drawn, DESTRUCTIONS, 0.05 / 8) - drawn.mean(axis=1))
    assert radius <= share * {76: 0.7309, 208: 0.4418}[n]


@given(samples, st.sampled_from([0.00625, 0.05, 0.3]))
def test_it_stays_between_border_and_mean_and_mirrors(values: list[float], alpha: float) -> None:
    low, high = lower_bound(values, GAINS, alpha), upper_bound(values, GAINS, alpha)
    assert -1 <= low <= np.mean(values) + 1e-9
    assert np.mean(values) - 1e-9 <= high <= 1
    assert lower_bound([-value for value in values], GAINS, alpha) == pytest.approx(-high)


@given(samples, st.floats(0.1, 3), st.floats(-2, 2))
def test_it_moves_with_the_scale(values: list[float], factor: float, shift: float) -> None:
    moved = [factor * value + shift for value in values]
    border = (shift - factor * (1 + 1e-9), shift + factor * (1 + 1e-9))
    assert lower_bound(moved, border, 0.05) == pytest.approx(
        factor * lower_bound(values, GAINS, 0.05) + shift, abs=1e-6
    )


def test_capital_reaches_its_mark_at_the_bound() -> None:
    """Written out for three values: bets from the values before, cut at 0.9 / m, the best moment counts."""
    values, alpha = [0.9, 1.0, 0.2], 0.4
    bound = lower_bound(values, SCORES, alpha)

    def best_capital(m: float) -> float:
        seen, squares, capital, best = 0.5, 0.25, 1.0, 0.0
        for place, value in enumerate(values, start=1):
            bet = (2 * np.log(1 / alpha) / (3 * squares / place)) ** 0.5
            capital *= 1 + min(bet, 0.9 / m) * (value - m)
            best = max(best, capital)
            seen += value
            squares += (value - seen / (place + 1)) ** 2
        return best

    assert best_capital(bound - 1e-6) >= 1 / alpha > best_capital(bound + 1e-6)
    assert bound < np.mean(values)


def test_rows_are_bounded_one_by_one() -> None:
    rows = [[0.0] * 6 + [1.0] * 3, [1.0] * 3 + [0.0] * 6, [0.5] * 9]
    assert list(upper_bounds(rows, SCORES, 0.2)) == [upper_bound(row, SCORES, 0.2) for row in rows]
    assert len({*upper_bounds(rows, SCORES, 0.2)}) == 3, "the order of the values counts"


def test_the_order_of_betting_is_the_seeds() -> None:
    tasks = [f"task{number}" for number in range(20)]
    assert shuffled(tasks, 1) == shuffled(tasks[::-1], 1) != shuffled(tasks, 2)
    assert sorted(shuffled(tasks, 1)) == sorted(tasks)


def test_what_cannot_be_bounded_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        lower_bound([], GAINS, 0.05)
    with pytest.raises(ValueError, match="beyond the borders"):
        upper_bound([1.5], GAINS, 0.05)
    with pytest.raises(ValueError, match="alpha"):
        upper_bound([0.5], GAINS, 0.0)
