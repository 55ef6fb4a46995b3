"""Intervals of bounded means: exact on two values, what n allows without variation, honest at every size."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES, interval, probability_at_most, upper_bound, weighted

thirds = st.sampled_from([-1.0, -2 / 3, -1 / 3, 0.0, 1 / 3, 2 / 3, 1.0])


@pytest.mark.parametrize(("n", "k"), [(1, 0), (2, 1), (5, 5), (12, 0), (12, 11), (48, 3), (208, 104), (448, 5)])
def test_on_two_values_it_is_clopper_and_pearsons(n: int, k: int) -> None:
    low, high = interval([1.0] * k + [0.0] * (n - k), SCORES)
    exact = (0.0 if k == 0 else beta.ppf(0.025, k, n - k + 1), 1.0 if k == n else beta.ppf(0.975, k + 1, n - k))
    assert low == pytest.approx(exact[0], abs=0.003)
    assert high == pytest.approx(exact[1], abs=0.003)
    assert low <= exact[0] + 1e-9, "it errs to the safe side"
    assert high >= exact[1] - 1e-9


@pytest.mark.parametrize("alpha", [0.1, 0.025, 0.0016])
@pytest.mark.parametrize("n", [1, 5, 24, 448])
def test_its_formula_meets_alpha_within_a_tenth_and_to_the_safe_side(n: int, alpha: float) -> None:
    """Exactly, on two values; where all but one are the same it stays 2 to 6 % below, however many there are."""
    met = []
    for ones in sorted({*range(0, n, max(1, n // 40)), n - 1}):
        bound = upper_bound(weighted([1.0] * ones + [0.0] * (n - ones)), SCORES, alpha)
        met.append(beta.sf(bound, ones + 1, n - ones) / alpha)
    assert min(met) > 0.9
    assert max(met) < 1.001
    assert met[-1] < 0.985


@pytest.mark.parametrize(("n", "radius"), [(1, 0.975), (2, 0.842), (12, 0.265), (48, 0.074), (448, 0.0082)])
def test_without_any_difference_the_interval_is_what_n_allows(n: int, radius: float) -> None:
    """`1 − 0.025^(1/n)` of the way to the border: a shortcut may be behind the tasks that were not drawn."""
    low, high = interval([0.0] * n, GAINS)
    assert (-low, high) == pytest.approx((radius, radius), rel=0.01)
    assert interval([0.0] * n, DESTRUCTIONS)[1] == pytest.approx(2 * high)


@given(st.lists(thirds, min_size=1, max_size=30), st.sampled_from([0.5, 0.9, 0.95, 0.9995]))
def test_it_holds_the_mean_stays_within_the_borders_and_widens_with_the_level(
    values: list[float], level: float
) -> None:
    low, high = interval(values, GAINS, level=level)
    assert -1 <= low <= np.mean(values) + 1e-9
    assert np.mean(values) - 1e-9 <= high <= 1
    wider = interval(values, GAINS, level=level + (1 - level) / 2)
    assert wider[0] <= low
    assert wider[1] >= high
    assert interval([-value for value in values], GAINS, level=level) == pytest.approx((-high, -low))


@given(st.lists(thirds, min_size=2, max_size=30))
def test_a_higher_value_never_lowers_it(values: list[float]) -> None:
    raised = [1.0, *values[1:]]
    assert interval(raised, GAINS)[0] >= interval(values, GAINS)[0] - 1e-7
    assert interval(raised, GAINS)[1] >= interval(values, GAINS)[1] - 1e-7


def test_with_many_tasks_it_is_the_usual_one_moved_by_the_distance_to_the_border_over_n() -> None:
    values = np.random.default_rng(1).choice([-1.0, 0.0, 0.0, 0.0, 1.0], size=2000, p=[0.05, 0.3, 0.3, 0.2, 0.15])
    low, high = interval(values, GAINS)
    radius = 1.959964 * values.std(ddof=1) / 2000**0.5
    assert high == pytest.approx(values.mean() + radius + (1 - values.mean()) / 2001, abs=0.0004)
    assert low == pytest.approx(values.mean() - radius - (1 + values.mean()) / 2001, abs=0.0004)


def test_a_quantile_is_that_of_drawn_weights() -> None:
    values = [-1.0, 0.0, 0.0, 0.0, 1 / 3, 2.0]
    drawn = np.random.default_rng(2).dirichlet(np.ones(7), size=200_000) @ np.array([*values, 2.0])
    for m in (-0.2, 0.9, 1.2):
        assert probability_at_most(m, weighted(values), 2.0) == pytest.approx(np.mean(drawn <= m), abs=0.003)


def test_the_borders_are_those_of_scores_and_their_differences() -> None:
    assert (SCORES, GAINS, DESTRUCTIONS) == ((0.0, 1.0), (-1.0, 1.0), (-2.0, 2.0))


@pytest.mark.parametrize("m", [0.05, 0.3, 0.45, 0.499, 0.5, 0.501, 0.55, 0.7, 0.95])
def test_one_value_and_the_border_are_weighted_evenly(m: float) -> None:
    """Of a single 0 and the border 1 the weighted sum is uniform, in the middle too, where the formula gives out."""
    assert probability_at_most(m, weighted([0.0]), 1.0) == pytest.approx(m, abs=0.005)


def test_a_sum_of_weights_lies_between_what_is_weighted() -> None:
    values = weighted([0.25, 0.5])
    assert [probability_at_most(m, values, 1.0) for m in (0.0, 0.25, 1.0, 2.0)] == [0.0, 0.0, 1.0, 1.0]
    assert 0.0 < probability_at_most(0.5, values, 1.0) < 0.5, "a value that is hit exactly takes no part"


def test_values_are_counted_in_their_order_as_often_as_is_said() -> None:
    assert weighted([1.0, -1.0, 1.0]) == ((-1.0, 1.0, 1.0), (1.0, 2.0, 1.0))
    assert weighted([1.0, -1.0, 1.0], 0.5) == ((-1.0, 0.5, 1.0), (1.0, 1.0, 1.0))


def test_a_value_beyond_the_borders_is_refused() -> None:
    for value in (-0.1, 1.1):
        with pytest.raises(ValueError, match="beyond the borders"):
            interval([0.5, value], SCORES)
    with pytest.raises(ValueError, match="no values"):
        interval([], SCORES)


# Coverage, exactly: over everything that can be drawn


def misses(values: tuple[float, ...], shares: tuple[float, ...], n: int) -> tuple[float, float]:
    """The probabilities that the mean is below and above the interval, summed over all samples of n."""
    mean = sum(v * p for v, p in zip(values, shares, strict=True))
    below = above = 0.0
    for counts in product(range(n + 1), repeat=len(values) - 1):
        if (rest := n - sum(counts)) < 0:
            continue
        probability, left = 1.0, n
        for count, share in zip((*counts, rest), shares, strict=True):
            probability *= comb(left, count) * share**count
            left -= count
        drawn = [v for v, count in zip(values, (*counts, rest), strict=True) for _ in range(count)]
        low, high = interval(drawn, (-1.0, 1.0))
        below += probability * (mean < low)
        above += probability * (mean > high)
    return below, above


@pytest.mark.parametrize("n", [2, 5, 12])
@pytest.mark.parametrize("discordant", [(0.01, 0.0), (0.0, 0.2), (0.05, 0.05), (0.02, 0.2), (0.3, 0.4)])
def test_each_side_is_missed_no_more_often_than_it_says(n: int, discordant: tuple[float, float]) -> None:
    lost, won = discordant
    below, above = misses((-1.0, 0.0, 1.0), (lost, 1 - lost - won, won), n)
    assert below <= 0.025
    assert above <= 0.025
