"""What tasks can show: checked by simulation with the intervals that results are told with."""

from __future__ import annotations

import numpy as np
import pytest

from chase.stats.bounded import DESTRUCTIONS, GAINS, Support, lower_bound, probability_at_most, weighted_clusters
from chase.stats.detectable import Design, dependent_sum, detectable
from chase.stats.interval_power import Drawn, resampled

DRAWS = 600


def changes(rng: np.random.Generator, shape: tuple[int, ...], effect: float) -> np.ndarray:
    return rng.choice([-1.0, 0.0, 1.0], size=shape, p=[0.04, 0.92 - effect, 0.04 + effect])


def clusters_of(rng: np.random.Generator, count: int, size: int, effect: float, parts: int) -> np.ndarray:
    """Sums over clusters whose tasks are a common draw so often that their correlation is 0.3."""

    def tasks(shape: tuple[int, int]) -> np.ndarray:
        noise = changes(rng, shape, 0.0) if parts == 2 else 0.0
        found: np.ndarray = changes(rng, shape, effect) + noise
        return found

    shared = rng.random((count, size)) < 0.3**0.5
    found: np.ndarray = np.where(shared, tasks((count, 1)), tasks((count, size))).sum(axis=1)
    return found


def shown(effect: float, *, count: int, size: int, support: Support, alpha: float) -> float:
    rng, parts = np.random.default_rng(102), 2 if support == DESTRUCTIONS else 1
    found = []
    for _ in range(DRAWS):
        sums = clusters_of(rng, count, size, effect, parts)
        found.append(lower_bound(weighted_clusters((float(s), size) for s in sums), support, alpha) > 0)
    return float(np.mean(found))


@pytest.mark.parametrize(("count", "size"), [(112, 1), (60, 4)])
def test_what_is_called_detectable_is_shown_four_times_in_five(count: int, size: int) -> None:
    """Three and a half sigma of 600 draws are 5.7 points."""
    found = detectable([size] * count, quantities=3)
    assert found.gain is not None
    assert found.destruction is not None
    assert (found.tasks, found.clusters) == (count * size, count)
    gains = shown(found.gain, count=count, size=size, support=GAINS, alpha=0.025)
    destructions = shown(found.destruction, count=count, size=size, support=DESTRUCTIONS, alpha=0.025 / 3)
    assert gains == pytest.approx(0.8, abs=0.057)
    assert destructions == pytest.approx(0.8, abs=0.057)


def test_more_tasks_rollouts_and_less_noise_show_less_and_clusters_and_levels_more() -> None:
    def smallest(tasks: int | list[int] = 240, *, quantities: int = 1, level: float = 0.95, **more: float) -> float:
        design = Design(**more)  # type: ignore[arg-type]
        found = detectable(tasks, quantities=quantities, level=level, design=design).destruction
        assert found is not None
        return found

    base = smallest()
    assert smallest(480) < base
    assert smallest(rollouts=5) < base
    assert smallest(lost_share=0.02) < base
    assert smallest([4] * 60) > base
    assert smallest([4] * 60, correlation=0.0) < smallest([4] * 60)
    assert smallest(quantities=4) > base
    assert smallest(level=0.99) > base
    assert smallest() == base


def test_what_there_is_no_room_for_is_not_detectable() -> None:
    """On 48 tasks no gain below 21 points is shown, and a baseline of 75 % leaves no more."""
    assert detectable(48).gain is None
    assert detectable(48, design=Design(base_rate=0.3)).gain is not None
    half_in_one = detectable([224] + [1] * 224)
    assert (half_in_one.gain, half_in_one.destruction) == (None, None)
    assert half_in_one.clusters == 225


def test_a_design_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lost_share=0\.2"):
        Design(base_rate=0.1, lost_share=0.2)
    with pytest.raises(ValueError, match="no tasks"):
        detectable([])


# Its parts


def test_a_dependent_sum_has_the_mean_and_the_correlation_that_is_asked_for() -> None:
    shares, count = np.array([0.1, 0.7, 0.2]), 7
    values = np.arange(3)
    mean = float(shares @ values)
    variance = float(shares @ (values - mean) ** 2)
    for correlation in (0.0, 0.3, 1.0):
        found = dependent_sum(shares, count, correlation)
        sums = np.arange(len(found))
        assert found @ sums == pytest.approx(count * mean)
        expected = count * variance * (1 + (count - 1) * correlation)
        assert found @ (sums - count * mean) ** 2 == pytest.approx(expected)


def test_samples_settle_where_the_bound_itself_says_so() -> None:
    rng = np.random.default_rng(103)
    values = weighted_clusters([(1.0, 2), (2.0, 2), (-1.0, 3), (0.0, 1)])
    drawn = resampled(values, GAINS[0], 0.05, 24, 300)
    settled = drawn.settled(0.1)
    assert 30 < settled.sum() < 270
    for row in rng.choice(300, size=60, replace=False):
        counts = drawn.counts[row]
        sample = tuple(each._replace(times=n) for each, n in zip(values, counts, strict=True) if n)
        assert (lower_bound(sample, GAINS, 0.1) > 0.05) == settled[row]


def test_a_sample_that_is_nowhere_above_the_bound_does_not_settle() -> None:
    drawn = Drawn(above=np.array([[0.0, 0.5]]), counts=np.array([[9.0, 0.0]]), border=np.array([1.0]))
    assert not drawn.settled(0.4).any()
    assert probability_at_most(0.0, weighted_clusters([(0.0, 1)]), 1.0) == 0.0


@pytest.mark.parametrize("tasks", [1, 2, 3, 6])
def test_a_handful_of_tasks_shows_nothing(tasks: int) -> None:
    found = detectable(tasks, quantities=2)
    assert (found.gain, found.destruction) == (None, None)
