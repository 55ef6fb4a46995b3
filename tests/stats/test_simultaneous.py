"""Intervals that hold together, and how many tasks a question needs: calibrated and powered as promised."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.stats.estimates import PerTask, estimate
from chase.stats.simultaneous import simultaneous, tasks_for_power, tasks_needed

DRAWS = 400


def per_task(values: np.ndarray) -> PerTask:
    return {f"t{i}": Fraction(float(value)) for i, value in enumerate(values)}


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
        found = simultaneous({str(q): per_task(values[:, q]) for q in range(quantities)})
        misses += any(not e.low <= 0 <= e.high for e in found.values())
    assert misses <= 34


def test_the_same_intervals_taken_singly_would_not_hold_together() -> None:
    """What the correction is for: four intervals of 95 % miss together far more often than one does."""
    misses = 0
    for seed in range(DRAWS):
        values = drawn(seed, tasks=48, quantities=4)
        alone = [estimate(per_task(values[:, q])) for q in range(4)]
        misses += any(not e.low <= 0 <= e.high for e in alone)
    assert misses > 45


# Shape


def test_one_quantity_has_its_own_interval_and_none_have_none() -> None:
    one = {"a": Fraction(1), "b": Fraction(0), "c": Fraction(1)}
    assert simultaneous({"x": one}) == {"x": estimate(one)}
    assert simultaneous({}) == {}


@given(st.integers(1, 30), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
def test_more_quantities_and_a_higher_level_make_intervals_wider(quantities: int, level: float) -> None:
    values = {f"t{i}": Fraction(i % 3, 2) for i in range(9)}

    def width(count: int, at: float) -> float:
        found = simultaneous({str(q): values for q in range(count)}, level=at)["0"]
        assert (found.value, found.se, found.n) == (estimate(values).value, estimate(values).se, 9)
        assert found.level == at
        return found.high - found.low

    assert width(quantities + 1, level) > width(quantities, level)
    assert width(quantities, level + 0.005) > width(quantities, level)


# How many tasks


def test_with_as_many_tasks_as_needed_the_radius_is_the_margin() -> None:
    """Resampled at the size it names, the interval's radius is just within the margin: on average over draws."""
    values = drawn(1, tasks=64, quantities=1)[:, 0]
    found = estimate(per_task(values))
    n = tasks_needed(found.se, found.n, margin=0.04, quantities=3)
    assert n is not None
    assert n > 64
    rng = np.random.default_rng(2)
    radii = []
    for _ in range(100):
        again = per_task(rng.choice(values, size=n))
        each = simultaneous({str(q): again for q in range(3)})["0"]
        radii.append((each.high - each.low) / 2)
    assert np.mean(radii) == pytest.approx(0.04, rel=0.03)


@given(st.floats(0.001, 0.5), st.integers(2, 500), st.floats(0.01, 0.5), st.integers(1, 20))
def test_tasks_needed_grow_with_precision_quantities_and_level(se: float, n: int, margin: float, count: int) -> None:
    def needed(**changes: float) -> int:
        arguments = {"margin": margin, "quantities": count, "level": 0.95, **changes}
        found = tasks_needed(se, n, **arguments)  # type: ignore[arg-type]
        assert found is not None
        return found

    assert needed() >= 2
    assert needed(margin=margin / 2) >= needed()
    assert needed(quantities=count + 1) >= needed()
    assert needed(level=0.99) >= needed()


def test_no_number_of_tasks_settles_a_margin_of_nothing() -> None:
    assert tasks_needed(0.1, 48, margin=0.0) is None
    assert tasks_needed(0.1, 48, margin=-0.1) is None
    assert tasks_needed(0.0, 48, margin=0.1) == 2


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
    one = per_task(values[0])
    assert simultaneous({str(q): one for q in range(quantities)})["0"].low == pytest.approx(lows[0])


def test_a_smaller_effect_needs_more_tasks_and_none_cannot_be_detected() -> None:
    counts = [tasks_for_power(effect, 0.3) for effect in (0.2, 0.1, 0.05)]
    assert counts == sorted(counts)
    assert counts[2] == pytest.approx(4 * counts[1], abs=4)
    with pytest.raises(ValueError, match="above 0"):
        tasks_for_power(0.0, 0.3)
