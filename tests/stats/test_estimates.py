"""Estimates: averaged within task first, exact where a threshold decides, refused over unequal coverage."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES, interval
from chase.stats.destruction import (
    ArchiveSummary,
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
from chase.stats.estimates import UnequalCoverage, difference, estimate, mean, within_task_means, z_score

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


def test_a_task_without_a_rollout_and_no_task_at_all_have_no_mean() -> None:
    with pytest.raises(UnequalCoverage, match=r"unequal numbers of rollouts: \[0\]"):
        within_task_means({"a": [], "b": []})
    with pytest.raises(ValueError, match="no tasks"):
        mean({})


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


def test_the_worst_entry_is_named_and_of_equal_ones_the_released_benchmark() -> None:
    per_task = {name: {"t": Fraction(value, 10)} for name, value in {"b1": 3, "released": 3, "b2": 1, "b3": 2}.items()}
    assert archive_summary(per_task, released="released").worst == "b2"
    assert archive_summary({name: per_task[name] for name in ("b1", "released")}, released="released") == (
        ArchiveSummary(g_rel=Fraction(3, 10), gamma=Fraction(0), g_min=Fraction(3, 10), worst="released")
    )


def test_an_archive_without_the_released_benchmark_is_refused() -> None:
    with pytest.raises(ValueError, match="always holds"):
        archive_summary({"other": {"a": Fraction(0)}}, released="released")


def test_a_standard_error_is_that_of_the_mean_over_tasks() -> None:
    found = estimate({"a": Fraction(0), "b": Fraction(1), "c": Fraction(0), "d": Fraction(1)}, SCORES)
    assert found.se == pytest.approx((1 / 3) ** 0.5 / 2)
    assert found.low < found.value < found.high


def test_one_task_has_no_spread_and_a_level_is_the_intervals() -> None:
    one = estimate({"a": Fraction(1, 2)}, SCORES, level=0.5)
    assert (one.value, one.se, one.n, one.level) == (0.5, 0.0, 1, 0.5)
    assert (one.low, one.high) == interval([0.5], SCORES, level=0.5)
    usual = estimate({"a": Fraction(0), "b": Fraction(1)}, SCORES)
    assert (usual.level, usual.low, usual.high) == (0.95, *interval([0.0, 1.0], SCORES, level=0.95))


def test_a_mean_in_standard_errors_by_hand_and_nothing_where_nothing_can_be_said() -> None:
    """1, 2, 3, 6 have mean 3 and variance 14/3: 3 / √(14/12)."""
    assert z_score([1, 2, 3, 6]) == pytest.approx(3 / (14 / 12) ** 0.5)
    assert z_score([1, 2, 3]) == 0.0
    assert z_score([1, 2, 3], least=3) == pytest.approx(2 / (1 / 3) ** 0.5)
    assert z_score([2, 2, 2, 2]) == 0.0


def test_the_interval_of_an_excess_is_put_together_from_both() -> None:
    search = {f"s{i}": Fraction(i % 2) for i in range(40)}
    test = {f"t{i}": Fraction(0) for i in range(10)}
    found = excess_estimate(search, test)
    one, other = estimate(search, GAINS), estimate(test, GAINS)
    assert (found.value, found.n, found.se) == (0.5, 50, one.se)
    assert found.low == pytest.approx(0.5 - math.hypot(0.5 - one.low, other.high))
    assert found.high == pytest.approx(0.5 + math.hypot(one.high - 0.5, other.low))
    assert found.low < 0.2, "ten tasks without any gain leave much open"
    assert found.level == 0.95


def test_an_excess_adds_up_the_spread_of_both() -> None:
    search = {f"s{i}": Fraction(i % 2) for i in range(8)}
    test = {f"t{i}": Fraction(1 if i < 3 else -1) for i in range(12)}
    found, one, other = excess_estimate(search, test), estimate(search, GAINS), estimate(test, GAINS)
    assert (found.value, found.n) == (1.0, 20)
    assert found.se == pytest.approx(math.hypot(one.se, other.se))
    assert found.low == pytest.approx(1.0 - math.hypot(0.5 - one.low, other.high + 0.5))
    assert found.high == pytest.approx(1.0 + math.hypot(one.high - 0.5, -0.5 - other.low))


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


def solved(*tasks: int) -> dict[str, Fraction]:
    return {f"t{i}": Fraction(i in tasks) for i in range(4)}


def test_log_odds_by_hand_and_their_spread_over_every_draw_of_tasks() -> None:
    """(k + ½)/(n + 1) of 3, 1, 2 and 2 of four tasks are odds of 7/3, 3/7, 1 and 1. All 256 draws are gone through."""
    four = [solved(0, 1, 2), solved(0), solved(1, 3), solved(0, 1)]
    found = log_odds_destruction(four, seed=1)
    assert found.value == pytest.approx(2 * math.log(7 / 3))
    assert (found.n, found.level) == (4, 0.95)

    def log_odds(drawn: tuple[int, ...]) -> float:
        counts = [sum(cell[f"t{i}"] for i in drawn) for cell in four]
        logits = [math.log((k + 0.5) / (4 - k + 0.5)) for k in map(float, counts)]
        return logits[0] - logits[1] - logits[2] + logits[3]

    every = sorted(log_odds(drawn) for drawn in product(range(4), repeat=4))
    assert found.se == pytest.approx(stdev(every), rel=0.05)
    assert every[2] - 1e-9 <= found.low <= every[10] + 1e-9, "2.5 % are 6.4 of 256"
    assert every[245] - 1e-9 <= found.high <= every[253] + 1e-9
    narrow = log_odds_destruction(four, seed=1, level=0.5)
    assert every[56] - 1e-9 <= narrow.low <= every[72] + 1e-9
    assert every[184] - 1e-9 <= narrow.high <= every[200] + 1e-9
    assert log_odds_destruction(four, seed=2) != found == log_odds_destruction(four, seed=1, resamples=2000)


def test_log_odds_of_cells_over_different_tasks_are_refused() -> None:
    with pytest.raises(UnequalCoverage, match="same tasks"):
        log_odds_destruction([{"a": Fraction(1)}] * 3 + [{"b": Fraction(1)}], seed=1)


def test_what_noise_alone_would_confirm_follows_from_the_spread() -> None:
    """By hand: sixteen tasks with a standard error of 0.05 reach 0.05 in 15.9 % of draws, 0 in half of them."""
    found = estimate({f"t{i}": Fraction((-1) ** i, 5) for i in range(16)}, DESTRUCTIONS)
    assert found.se == pytest.approx(0.2 / 15**0.5)
    assert reached_by_noise(found, "0") == 0.5
    assert reached_by_noise(found, str(found.se)) == pytest.approx(0.158655, abs=1e-5)
    assert reached_by_noise(estimate({"a": Fraction(0), "b": Fraction(0)}, DESTRUCTIONS), "0.05") is None
