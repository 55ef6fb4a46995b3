"""Intervals that hold together, and how many tasks a question needs: calibrated and powered as promised."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.stats.bounded import DESTRUCTIONS, GAINS, lower_bound, weighted
from chase.stats.estimates import Sample, estimate
from chase.stats.simultaneous import simultaneous, tasks_above, tasks_below, tasks_for_power

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


@pytest.mark.parametrize("bound", [0.0, 0.1])
def test_as_many_tasks_as_named_settle_it_and_one_less_does_not(bound: float) -> None:
    """Tasks that come out like those there are: every value as many times more."""
    values = [1.0] * 4 + [0.0] * 16
    needed = tasks_above(sample(values), bound, quantities=3)
    assert isinstance(needed, int)
    for n, settled in ((needed, True), (needed - 1, False)):
        low = lower_bound(weighted(values, n / 20), GAINS, 0.05 / 6)
        assert (low > bound) == settled
    assert tasks_below(sample([-value for value in values]), -bound, quantities=3) == needed
    assert tasks_above(sample(values), bound) == tasks_above(sample(values), bound, quantities=1, level=0.95) != needed
    below = sample([-value for value in values])
    assert tasks_below(below, -bound) == tasks_above(sample(values), bound)
    assert tasks_below(below, -bound, level=0.5) == tasks_above(sample(values), bound, level=0.5) < needed


def test_one_task_can_be_enough_and_ten_million_are_the_most() -> None:
    """One task of gain 1 leaves `1 − 2 · 0.975 = −0.95`."""
    assert tasks_above(sample([1.0]), -0.96) == 1
    assert tasks_above(sample([1.0]), -0.94) == 2
    uneven = sample([1.0, 0.0, 0.0, 0.0])
    counts = [tasks_above(uneven, 0.25 - distance) for distance in (0.001, 0.0003, 0.000245)]
    assert [count is not None and 500_000 < count < 10**7 for count in counts] == [True, True, False]
    assert counts[2] is None


def test_without_variation_the_number_is_what_the_borders_demand() -> None:
    """No task differed: a mean of at most 0.02 is shown by the n with `2 (1 − 0.0125^(1/n)) ≤ 0.02`."""
    none = Sample(per_task={"a": Fraction(0), "b": Fraction(0)}, support=DESTRUCTIONS)
    assert tasks_below(none, 0.02, quantities=2) == pytest.approx(math.log(0.0125) / math.log(0.99), rel=0.01)


@given(st.lists(st.sampled_from([-1, 0, 0, 1]), min_size=2, max_size=40), st.integers(1, 20))
def test_tasks_needed_grow_with_the_bound_the_quantities_and_the_level(values: list[int], count: int) -> None:
    def needed(bound: float = -0.5, quantities: int = count, level: float = 0.95) -> float:
        found = tasks_above(sample(list(map(float, values))), bound, quantities=quantities, level=level)
        return math.inf if found is None else found

    assert needed() >= 1
    assert needed(bound=-0.4) >= needed()
    assert needed(quantities=count + 1) >= needed()
    assert needed(level=0.99) >= needed()


def test_no_number_of_tasks_shows_what_the_mean_does_not() -> None:
    even = sample([1.0, -1.0])
    assert tasks_above(even, 0.0) is None
    assert tasks_below(even, 0.0) is None
    assert tasks_above(even, 0.1) is None


@pytest.mark.parametrize("quantities", [1, 4])
@pytest.mark.parametrize("power", [0.8, 0.9])
def test_an_effect_is_detected_with_the_power_that_was_asked_for(quantities: int, power: float) -> None:
    """Share of draws whose simultaneous lower bound is above 0; three sigma of 1,000 draws is under 4 points."""
    effect, spread = 0.08, 0.35
    n = tasks_for_power(effect, spread, quantities=quantities, power=power)
    values = np.random.default_rng(3).normal(effect, spread, size=(1000, n))
    radius = NormalDist().inv_cdf(1 - 0.05 / (2 * quantities))
    lows = values.mean(axis=1) - radius * values.std(axis=1, ddof=1) / n**0.5
    assert np.mean(lows > 0) == pytest.approx(power, abs=0.04)


def test_tasks_for_power_by_hand() -> None:
    """`((1.95996 + 1.28155) · 5)² = 262.7`, with two quantities `((2.24140 + 1.28155) · 5)² = 310.3`."""
    assert tasks_for_power(0.1, 0.5) == 263
    assert tasks_for_power(0.1, 0.5, quantities=2) == 311
    assert tasks_for_power(0.1, 0.5, level=0.9, power=0.8) == 155


def test_a_smaller_effect_needs_more_tasks_and_none_cannot_be_detected() -> None:
    counts = [tasks_for_power(effect, 0.3) for effect in (0.2, 0.1, 0.05)]
    assert counts == sorted(counts)
    assert counts[2] == pytest.approx(4 * counts[1], abs=4)
    with pytest.raises(ValueError, match="above 0"):
        tasks_for_power(0.0, 0.3)
