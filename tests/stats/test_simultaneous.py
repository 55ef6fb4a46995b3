"""Intervals that hold together, and how many tasks a question needs: calibrated and powered as promised."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chase.stats.bounded import DESTRUCTIONS, GAINS, Counted, Support, Weighted, lower_bound, weighted
from chase.stats.estimates import Sample, estimate
from chase.stats.interval_power import MOST_VALUES, merged, three_values
from chase.stats.simultaneous import simultaneous, tasks_above, tasks_below, tasks_to_detect

DRAWS = 400


def sample(values: np.ndarray | list[float]) -> Sample:
    return Sample(per_task={f"t{i}": Fraction(float(value)) for i, value in enumerate(values)}, support=GAINS)


def drawn(seed: int, *, tasks: int, quantities: int) -> np.ndarray:
    """Means of five rollouts of a task less those of five others, as in a gain; correlated between quantities."""
    rng = np.random.default_rng(seed)
    base = rng.beta(4, 2, size=(tasks, 1))
    scores = [rng.binomial(5, np.repeat(base, quantities, axis=1)) / 5 for _ in range(2)]
    found: np.ndarray = scores[0] - scores[1]
    return found


# Calibration


@pytest.mark.parametrize("quantities", [1, 4])
def test_all_intervals_hold_together_as_often_as_promised(quantities: int) -> None:
    """Every true mean is 0. Of 400 draws at 95 % more than 34 misses (mean 20, sd 4.4) are beyond three sigma."""
    misses = 0
    for seed in range(DRAWS):
        values = drawn(seed, tasks=48, quantities=quantities)
        found = simultaneous({str(q): sample(values[:, q]) for q in range(quantities)})
        misses += any(not e.low <= 0 <= e.high for e in found.values())
    assert misses <= 34


def test_the_same_intervals_taken_singly_would_not_hold_together() -> None:
    """What the correction is for: four intervals of 95 % miss together far more often than one does."""
    misses = 0
    for seed in range(DRAWS // 4):
        values = drawn(seed, tasks=600, quantities=4)
        alone = [estimate(sample(values[:, q]).per_task, GAINS) for q in range(4)]
        misses += any(not e.low <= 0 <= e.high for e in alone)
    assert misses > 10


# Shape


def test_one_quantity_has_its_own_interval_and_none_have_none() -> None:
    one = sample([1.0, 0.0, 1.0])
    assert simultaneous({"x": one}) == {"x": estimate(one.per_task, GAINS)}
    assert simultaneous({}) == {}


def test_each_of_several_has_its_share_of_what_may_go_wrong() -> None:
    two = {"x": sample([1.0, 0.0, 1.0]), "y": sample([0.0, 0.0, 1.0])}
    for level, each in ((0.95, 0.975), (0.8, 0.9)):
        alone = {name: estimate(of.per_task, GAINS, level=each) for name, of in two.items()}
        found = simultaneous(two, level=level)
        assert {name: (e.low, e.high) for name, e in found.items()} == {
            name: pytest.approx((e.low, e.high)) for name, e in alone.items()
        }
    assert simultaneous(two) == simultaneous(two, level=0.95)


@given(st.integers(1, 30), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
def test_more_quantities_and_a_higher_level_make_intervals_wider(quantities: int, level: float) -> None:
    values = sample([i % 3 / 2 for i in range(9)])
    alone = estimate(values.per_task, GAINS)

    def width(count: int, at: float) -> float:
        found = simultaneous({str(q): values for q in range(count)}, level=at)["0"]
        assert (found.value, found.se, found.n) == (alone.value, alone.se, 9)
        assert found.level == at
        return found.high - found.low

    assert width(quantities + 1, level) > width(quantities, level)
    assert width(quantities, level + 0.005) > width(quantities, level)


# How many tasks


def settled(values: list[Counted], n: int, support: Support, bound: float, alpha: float, draws: int = 500) -> float:
    """The share of samples of so many clusters, drawn from those there are, of which the lower bound is above `bound`,
    by the bound itself.
    """
    rng, times = np.random.default_rng(104), np.array([each.times for each in values])
    found = []
    for counts in rng.multinomial(n, times / times.sum(), size=draws):
        seen = tuple(each._replace(times=count) for each, count in zip(values, counts, strict=True) if count)
        found.append(lower_bound(seen, support, alpha) > bound)
    return float(np.mean(found))


@pytest.mark.parametrize(("bound", "power"), [(0.0, 0.8), (0.05, 0.8), (0.0, 0.9)])
def test_as_many_tasks_as_named_settle_it_as_often_as_asked_for(bound: float, power: float) -> None:
    """Four sigma of 500 draws are 7 points; on a fifth less it settles less often."""
    values = [1.0] * 6 + [-1.0] * 1 + [0.0] * 33
    needed = tasks_above(sample(values), bound, quantities=3, power=power)
    assert isinstance(needed, int)
    there = list(weighted(values))
    assert settled(there, needed, GAINS, bound, 0.05 / 6) == pytest.approx(power, abs=0.07)
    assert settled(there, round(0.8 * needed), GAINS, bound, 0.05 / 6) < power - 0.02
    below = sample([-value for value in values])
    assert tasks_below(below, -bound, quantities=3, power=power) == needed


def test_clusters_are_drawn_whole() -> None:
    """Four equal tasks in each cluster are worth one."""
    values = [float(v) for v in [1, 1, 1, 0, 0, 0, 0, 0, -1, 0] for _ in range(4)]
    alone = sample(values)
    clusters = {f"t{i}": str(i // 4) for i in range(40)}
    needed = tasks_above(replace(alone, clusters=clusters), 0.0)
    assert isinstance(needed, int)
    there = [Counted(-1.0, 1.0, 4.0), Counted(0.0, 6.0, 4.0), Counted(1.0, 3.0, 4.0)]
    assert settled(there, round(needed / 4), GAINS, 0.0, 0.025) == pytest.approx(0.8, abs=0.07)
    independent = tasks_above(alone, 0.0)
    assert independent is not None
    assert needed == pytest.approx(4 * independent, rel=0.05)


def test_one_task_can_be_enough_and_ten_million_are_the_most() -> None:
    """One task of gain 1 leaves `1 − 2 · 0.975 = −0.95`."""
    assert tasks_above(sample([1.0]), -0.96) == 1
    assert tasks_above(sample([1.0]), -0.94) == 2
    uneven = sample([1.0, 0.0, 0.0, 0.0])
    counts = [tasks_above(uneven, 0.25 - distance) for distance in (0.001, 0.0005, 0.00035)]
    assert [count is not None and 500_000 < count < 10**7 for count in counts] == [True, True, False]
    assert counts[2] is None


def test_without_variation_the_number_is_what_the_borders_demand() -> None:
    """No task differed: a mean of at most 0.02 is shown by the n with `2 (1 − 0.0125^(1/n)) ≤ 0.02`."""
    none = Sample(per_task={"a": Fraction(0), "b": Fraction(0)}, support=DESTRUCTIONS)
    assert tasks_below(none, 0.02, quantities=2) == pytest.approx(math.log(0.0125) / math.log(0.99), rel=0.01)


@given(st.lists(st.sampled_from([-1, 0, 0, 1]), min_size=2, max_size=40), st.integers(1, 20))
@settings(max_examples=10)
def test_tasks_needed_grow_with_the_bound_the_quantities_and_the_level(values: list[int], count: int) -> None:
    def needed(bound: float = -0.5, quantities: int = count, level: float = 0.95) -> float:
        found = tasks_above(sample(list(map(float, values))), bound, quantities=quantities, level=level)
        return math.inf if found is None else found

    assert needed() >= 1
    assert needed(bound=-0.4) >= needed()
    assert needed(quantities=count + 1) >= needed()
    assert needed(level=0.99) >= needed()


def test_many_distinct_values_are_few_with_the_same_mean_and_nearly_the_same_spread() -> None:
    values = weighted(np.random.default_rng(105).normal(0.1, 0.2, size=500).tolist())
    few = merged(values)
    assert len(few) <= MOST_VALUES < len(values)

    def moments(of: Weighted) -> tuple[float, float, float]:
        times = sum(each.times for each in of)
        mean = sum(each.times * each.value for each in of) / times
        return times, mean, sum(each.times * (each.value - mean) ** 2 for each in of) / times

    assert moments(few)[:2] == pytest.approx(moments(values)[:2])
    assert moments(few)[2] == pytest.approx(moments(values)[2], rel=0.01)
    assert merged(values[:20]) == values[:20]


def test_no_number_of_tasks_shows_what_the_mean_does_not() -> None:
    even = sample([1.0, -1.0])
    assert tasks_above(even, 0.0) is None
    assert tasks_below(even, 0.0) is None
    assert tasks_above(even, 0.1) is None


@pytest.mark.parametrize(("effect", "spread"), [(0.15, 0.2), (0.15, 0.4), (0.08, 0.35), (0.05, 0.9), (0.3, 1.3)])
def test_a_destruction_is_detected_with_the_power_that_was_asked_for(effect: float, spread: float) -> None:
    """With the intervals that results are told with; the normal formula named 20 tasks in place of 84 in the first."""
    n = tasks_to_detect(effect, spread, quantities=4)
    values = list(three_values(effect, spread, DESTRUCTIONS))
    assert settled(values, n, DESTRUCTIONS, 0.0, 0.05 / 8, draws=400) == pytest.approx(0.8, abs=0.08)


def test_a_gain_takes_fewer_tasks_than_a_destruction_with_the_same_spread() -> None:
    """Its border is nearer."""
    assert tasks_to_detect(0.1, 0.3, GAINS) < tasks_to_detect(0.1, 0.3)


@pytest.mark.parametrize(("effect", "spread"), [(0.1, 0.05), (0.1, 0.5), (0.1, 0.995), (0.1, 1.5), (0.5, 0.0)])
def test_three_values_have_the_mean_and_the_spread(effect: float, spread: float) -> None:
    found = three_values(effect, spread, DESTRUCTIONS)
    mean = sum(x * share for x, share, _ in found)
    assert sum(share for _, share, _ in found) == pytest.approx(1.0)
    assert mean == pytest.approx(effect)
    assert sum(share * (x - mean) ** 2 for x, share, _ in found) == pytest.approx(spread**2)
    assert all(abs(x) <= 2 and share > 0 for x, share, _ in found)


def test_a_smaller_effect_needs_more_tasks_and_none_cannot_be_detected() -> None:
    counts = [tasks_to_detect(effect, 0.3) for effect in (0.2, 0.1, 0.05)]
    assert counts == sorted(counts)
    assert counts[2] < 4 * counts[1]
    for effect in (0.0, 2.1):
        with pytest.raises(ValueError, match="above 0 and at most 2"):
            tasks_to_detect(effect, 0.3)
    with pytest.raises(ValueError, match="more than"):
        tasks_to_detect(0.0001, 0.3)
