"""Estimates: averaged within task first, exact where a threshold decides, refused over unequal coverage."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES
from chase.stats.destruction import (
    archive_summary,
    destruction,
    excess_estimate,
    excess_search_gain,
    gain,
    log_odds_destruction,
    reached_by_noise,
    reaches,
    within,
)
from chase.stats.estimates import UnequalCoverage, difference, estimate, mean, within_task_means

TASKS = [f"t{i}" for i in range(16)]
scores = st.lists(st.sampled_from([0.0, 1.0]), min_size=5, max_size=5)
cells = st.fixed_dictionaries(dict.fromkeys(TASKS, scores))


def test_rollouts_are_averaged_within_task_before_tasks_are() -> None:
    per_task = within_task_means({"a": [1.0, 0.0], "b": [1.0, 1.0]})
    assert per_task == {"a": Fraction(1, 2), "b": Fraction(1)}
    assert estimate(per_task, SCORES).value == 0.75


def test_unequal_numbers_of_rollouts_are_refused() -> None:
    with pytest.raises(UnequalCoverage, match="unequal numbers"):
        within_task_means({"a": [1.0, 0.0], "b": [1.0]})


def test_cells_over_different_tasks_are_not_compared() -> None:
    with pytest.raises(UnequalCoverage, match="one cell only"):
        difference({"a": Fraction(1)}, {"b": Fraction(1)})


def test_an_estimate_of_exactly_the_threshold_is_decided_exactly() -> None:
    # 4 of 80 rollouts: 0.05 exactly, which summed in floating point comes out below or above by rounding.
    per_task = within_task_means({task: [1.0 if i < 4 else 0.0, 0, 0, 0, 0] for i, task in enumerate(TASKS)})
    value = mean(per_task)
    assert value == Fraction(1, 20)
    assert reaches(value, "0.05")
    assert within(value, "0.05")
    assert not reaches(value - Fraction(1, 10**12), "0.05")
    assert not within(value + Fraction(1, 10**12), "0.05")


@given(cells, cells, cells, cells)
def test_surviving_gain_plus_destroyed_gain_is_the_released_gain(a, b, c, d) -> None:  # type: ignore[no-untyped-def]
    means = [within_task_means(cell) for cell in (a, b, c, d)]
    gains = {"released": gain(means[0], means[1]), "other": gain(means[2], means[3])}
    summary = archive_summary(gains, released="released")
    assert summary.g_min + summary.gamma == summary.g_rel
    assert summary.gamma == max(Fraction(0), mean(destruction(gains["released"], gains["other"])))


def test_an_archive_without_the_released_benchmark_is_refused() -> None:
    with pytest.raises(ValueError, match="always holds"):
        archive_summary({"other": {"a": Fraction(0)}}, released="released")


def test_a_standard_error_is_that_of_the_mean_over_tasks() -> None:
    found = estimate({"a": Fraction(0), "b": Fraction(1), "c": Fraction(0), "d": Fraction(1)}, SCORES)
    assert found.se == pytest.approx((1 / 3) ** 0.5 / 2)
    assert found.low < found.value < found.high


def test_the_interval_of_an_excess_is_put_together_from_both() -> None:
    search = {f"s{i}": Fraction(i % 2) for i in range(40)}
    test = {f"t{i}": Fraction(0) for i in range(10)}
    found = excess_estimate(search, test)
    one, other = estimate(search, GAINS), estimate(test, GAINS)
    assert (found.value, found.n, found.se) == (0.5, 50, one.se)
    assert found.low == pytest.approx(0.5 - math.hypot(0.5 - one.low, other.high))
    assert found.high == pytest.approx(0.5 + math.hypot(one.high - 0.5, other.low))
    assert found.low < 0.2, "ten tasks without any gain leave much open"


def test_excess_search_gain_needs_disjoint_sets() -> None:
    assert excess_search_gain({"a": Fraction(1, 2)}, {"b": Fraction(1, 4)}) == Fraction(1, 4)
    with pytest.raises(UnequalCoverage):
        excess_search_gain({"a": Fraction(1)}, {"a": Fraction(1)})


def test_a_gain_that_scales_with_the_base_rate_has_no_log_odds_destruction() -> None:
    def cell(rate: float) -> dict[str, Fraction]:
        return {f"t{i}": Fraction(1) if i < round(1000 * rate) else Fraction(0) for i in range(1000)}

    def odds(rate: float, factor: float) -> float:
        return factor * rate / (1 + (factor - 1) * rate)

    four = [cell(odds(0.5, 3)), cell(0.5), cell(odds(0.1, 3)), cell(0.1)]
    plain = mean(destruction(gain(four[0], four[1]), gain(four[2], four[3])))
    diagnostic = log_odds_destruction(four, seed=1, resamples=200)
    assert plain > Fraction(1, 20)
    assert abs(diagnostic.value) < 0.02
    assert diagnostic == log_odds_destruction(four, seed=1, resamples=200)


def test_what_noise_alone_would_confirm_follows_from_the_spread() -> None:
    """By hand: sixteen tasks with a standard error of 0.05 reach 0.05 in 15.9 % of draws, 0 in half of them."""
    found = estimate({f"t{i}": Fraction((-1) ** i, 5) for i in range(16)}, DESTRUCTIONS)
    assert found.se == pytest.approx(0.2 / 15**0.5)
    assert reached_by_noise(found, "0") == 0.5
    assert reached_by_noise(found, str(found.se)) == pytest.approx(0.158655, abs=1e-5)
    assert reached_by_noise(estimate({"a": Fraction(0), "b": Fraction(0)}, DESTRUCTIONS), "0.05") is None
