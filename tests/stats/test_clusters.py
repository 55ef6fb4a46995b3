"""Clusters of dependent tasks in every bound: by hand, and against what is known of independent values."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from statistics import stdev

import numpy as np
import pytest

from chase.stats import betting, bounded
from chase.stats.bounded import GAINS, SCORES, weighted, weighted_clusters
from chase.stats.certificates import certificate, independent_tasks, neutral_certificate
from chase.stats.destruction import excess_estimate, log_odds_destruction
from chase.stats.estimates import Sample, cluster_count, cluster_sums, clustered, estimate, few_clusters, weights_of
from chase.stats.simultaneous import simultaneous

TASKS = {"a": Fraction(1), "b": Fraction(1), "c": Fraction(0), "d": Fraction(-1), "e": Fraction(0)}
CLUSTERS = {"a": "x", "b": "x", "c": "y", "d": "y"}
"""Sums 2 and −1 of two tasks each, and e by itself."""


# Estimates


def test_a_task_that_is_not_named_is_a_cluster_of_its_own() -> None:
    assert clustered(TASKS, CLUSTERS) == [["a", "b"], ["c", "d"], ["e"]]
    assert cluster_sums(TASKS, CLUSTERS) == [(2, 2), (-1, 2), (0, 1)]
    assert (cluster_count(TASKS, CLUSTERS), cluster_count(TASKS, {})) == (3, 5)
    assert cluster_count(["e", "f"], {"f": "e"}) == 2, "a cluster may be named like a task"
    assert cluster_count(["e", "f"], {"e": "", "f": ""}) == 1


def test_a_standard_error_comes_from_the_spread_between_clusters() -> None:
    """Mean 1/5: the sums are 2 − 2/5, −1 − 2/5 and −1/5 off; their spread over two, by √3 clusters of 5/3 tasks."""
    found = estimate(TASKS, GAINS, clusters=CLUSTERS)
    off = [1.6, -1.4, -0.2]
    assert found.se == pytest.approx((sum(x * x for x in off) / 2 * 3) ** 0.5 / 5)
    assert (found.value, found.n) == (0.2, 5)
    alone = estimate(TASKS, GAINS)
    assert (alone.value, alone.low > found.low, alone.high < found.high) == (0.2, True, True)


def test_equal_tasks_of_a_cluster_are_worth_one() -> None:
    values = [Fraction(i % 3 - 1) for i in range(12)]
    once = estimate({str(i): value for i, value in enumerate(values)}, GAINS)
    often = {f"{i}-{k}": value for i, value in enumerate(values) for k in range(4)}
    found = estimate(often, GAINS, clusters={task: task.split("-")[0] for task in often})
    assert (found.low, found.high) == pytest.approx((once.low, once.high))
    assert found.se == pytest.approx(once.se)


# Gaffke's bound


def test_of_equal_clusters_it_is_the_bound_of_their_means() -> None:
    sums = [3.0, -1.0, 0.0, 2.0, 0.0]
    found = bounded.both_bounds(weighted_clusters((s, 4) for s in sums), GAINS)
    assert found == pytest.approx(bounded.both_bounds(weighted(s / 4 for s in sums), GAINS))


def test_of_unequal_clusters_the_border_weighs_as_much_as_the_largest() -> None:
    """`Σ D_c (S_c − m n_c) + D_0 n_max (b − m)` by draws of `D`."""
    clusters = [(3.0, 4), (-1.0, 2), (0.0, 1), (1.0, 1)]
    drawn = np.random.default_rng(109).exponential(size=(200_000, 5))
    for m in (0.2, 0.5, 0.8):
        terms = [*(total - m * size for total, size in clusters), 4 * (1.0 - m)]
        expected = np.mean(drawn @ np.array(terms) <= 0)
        found = bounded.probability_at_most(m, weighted_clusters(clusters), 1.0)
        assert found == pytest.approx(expected, abs=0.01)


def test_samples_and_simultaneous_intervals_keep_their_clusters() -> None:
    sample = Sample(per_task=TASKS, support=GAINS, clusters=CLUSTERS)
    assert weights_of(sample) == ((-0.5, 1, 2), (0.0, 1, 1), (1.0, 1, 2))
    both = simultaneous({"x": sample, "y": Sample(per_task=TASKS, support=GAINS)})
    assert both["x"].low == pytest.approx(estimate(TASKS, GAINS, level=0.975, clusters=CLUSTERS).low)
    assert both["x"].low < both["y"].low


# Betting and certificates


def test_bets_on_equal_clusters_are_those_on_their_means() -> None:
    sums = np.array([[3.0, -1.0, 0.0, 2.0, 0.0]])
    found = betting.lower_bounds(sums, GAINS, 0.1, [4] * 5)
    assert found == pytest.approx(betting.lower_bounds(sums / 4, GAINS, 0.1))


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_no_coin_of_clusters_is_missed_more_often_than_promised_counted_over_all_outcomes(alpha: float) -> None:
    """Eight clusters of one to three equal tasks each: the probability of every outcome whose bound is too high."""
    sizes = np.array([1, 3, 2, 1, 3, 1, 2, 3])
    tosses = np.array(list(product((0.0, 1.0), repeat=8)))
    bounds = betting.lower_bounds(tosses * sizes, SCORES, alpha, sizes.tolist())
    ones = tosses.sum(axis=1)
    for mean in np.linspace(0.02, 0.98, 49):
        assert (mean**ones * (1 - mean) ** (8 - ones))[bounds > mean].sum() <= alpha + 1e-9
    assert bounds.max() > 0.3


def test_a_bet_on_a_smaller_cluster_is_on_its_own_tasks() -> None:
    """All is won, in clusters of ten tasks and of one: the capital of bets on `S_c − m n_c`, one after the other."""
    sizes, alpha = [10, 1] * 10, 0.1
    (found,) = betting.lower_bounds([[float(size) for size in sizes]], SCORES, alpha, sizes)

    def capital(m: float) -> float:
        tasks, won, squares, total, most = 0.0, 0.5, betting.PRIOR, 1.0, 1.0
        for place, size in enumerate(sizes):
            share = size / 10
            stake = min((2 * np.log(1 / alpha) / (len(sizes) * squares / (place + 1))) ** 0.5, betting.CUT / m)
            total *= 1 + stake * (share - m * share)
            most, tasks, won = max(most, total), tasks + share, won + share
            squares += (share - won / (1 + tasks) * share) ** 2
        return most

    assert capital(found - 0.001) > 1 / alpha > capital(found + 0.001)


def test_a_value_beyond_what_its_cluster_can_have_is_refused() -> None:
    with pytest.raises(ValueError, match="beyond the borders"):
        betting.lower_bounds([[2.5, 1.0]], SCORES, 0.1, [2, 1])


def test_hoeffdings_radius_is_that_of_fewer_independent_tasks() -> None:
    """Four clusters of ten tasks are four: 40² / 4 · 10²."""
    tasks = [f"t{number:02}" for number in range(40)]
    gains = {"released": dict.fromkeys(tasks, Fraction(1)), "b": {t: Fraction(i % 2) for i, t in enumerate(tasks)}}
    clusters = {task: task[1] for task in tasks}
    assert independent_tasks([["a", "b", "c"], ["d"]]) == 16 / 10
    alone = certificate(gains, released="released", alpha=0.05, seed=1)
    found = certificate(gains, released="released", alpha=0.05, seed=1, clusters=clusters)
    assert found.s_delta == pytest.approx(alone.s_delta * 10**0.5)
    assert found.betting.gamma_upper > alone.betting.gamma_upper
    assert (found.n, found.hoeffding.gamma_upper) == (40, pytest.approx(0.5 + found.s_delta))
    sums = [[5.0] * 4]
    assert found.betting.gamma_upper == pytest.approx(
        float(betting.upper_bounds(sums, (-2.0, 2.0), 0.05 / 8, [10] * 4)[0])
    )
    both = [neutral_certificate(gains["released"], gains["b"], alpha=0.05, seed=1, clusters=c) for c in ({}, clusters)]
    assert all(wide.gamma_upper > narrow.gamma_upper for narrow, wide in zip(*both, strict=True))


# The log-odds and the excess


def test_the_bootstrap_draws_clusters() -> None:
    """Two clusters of two tasks: of the four draws two are the sample, and two have one cluster twice."""
    cell = {"a": Fraction(1), "b": Fraction(1), "c": Fraction(0), "d": Fraction(0)}
    half = {"a": Fraction(1), "b": Fraction(0), "c": Fraction(1), "d": Fraction(0)}
    clusters = {"a": "x", "b": "x", "c": "y", "d": "y"}
    found = log_odds_destruction([cell, half, half, half], seed=1, clusters=clusters)
    ends = [-np.log(9), 0.0, 0.0, np.log(9)]  # 4.5 to 0.5 of four tasks
    assert (found.low, found.high) == pytest.approx((ends[0], ends[3]))
    assert found.se == pytest.approx(stdev(ends) * (3 / 4) ** 0.5, rel=0.05)
    alone = log_odds_destruction([cell, half, half, half], seed=1)
    assert alone.se < found.se


def test_an_excess_has_the_clusters_of_both_sets() -> None:
    search, test = TASKS, {f"t{i}": Fraction(i % 2) for i in range(8)}
    clusters = {**CLUSTERS, **{f"t{i}": str(i % 2) for i in range(8)}}
    alone, found = excess_estimate(search, test), excess_estimate(search, test, clusters=clusters)
    assert found.value == alone.value
    assert found.low < alone.low
    assert found.high > alone.high
    assert found.se > alone.se


@pytest.mark.parametrize(("clusters", "tasks", "few"), [(19, 40, True), (20, 40, False), (12, 12, False)])
def test_few_clusters_are_told_and_few_independent_tasks_are_not(clusters: int, tasks: int, few: bool) -> None:
    assert (few_clusters(clusters, tasks) is not None) == few
