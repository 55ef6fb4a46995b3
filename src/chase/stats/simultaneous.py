"""Simultaneous intervals over several means of the same tasks, and how many tasks a question needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from chase.stats.bounded import DESTRUCTIONS, Support, Weighted
from chase.stats.estimates import Estimate, Sample, estimate, weights_of
from chase.stats.interval_power import POWER, merged, reaches_power, resampled, three_values

MOST_TASKS = 10**7
"""A question that needs more is not settled by tasks."""
NEAR_ENOUGH = 0.01
"""Of a number of tasks, what it may be too large by."""


def simultaneous(samples: Mapping[str, Sample], *, level: float = 0.95) -> dict[str, Estimate]:
    """Each mean with an interval such that all hold together with at least this level (Bonferroni).

    The level stated in each estimate is the joint one.
    """
    if not samples:
        return {}
    each = 1 - (1 - level) / len(samples)
    return {
        name: replace(estimate(sample.per_task, sample.support, level=each, clusters=sample.clusters), level=level)
        for name, sample in samples.items()
    }


def tasks_above(
    sample: Sample, bound: float, *, quantities: int = 1, level: float = 0.95, power: float = POWER
) -> int | None:
    """Number of tasks that puts a whole simultaneous interval above a bound with this power, if they are drawn from
    those there are: whole clusters at a time, where there are clusters.

    None where the mean is not above it: then no number does.
    """
    alpha = (1 - level) / (2 * quantities)
    return _tasks(merged(weights_of(sample)), sample.support, bound, alpha=alpha, power=power)


def tasks_below(
    sample: Sample, bound: float, *, quantities: int = 1, level: float = 0.95, power: float = POWER
) -> int | None:
    """The same for the whole of an interval below a bound."""
    return tasks_above(_mirrored(sample), -bound, quantities=quantities, level=level, power=power)


def _mirrored(sample: Sample) -> Sample:
    per_task = {task: -value for task, value in sample.per_task.items()}
    return replace(sample, per_task=per_task, support=(-sample.support[1], -sample.support[0]))


def tasks_to_detect(
    effect: float,
    spread: float,
    support: Support = DESTRUCTIONS,
    *,
    quantities: int = 1,
    level: float = 0.95,
    power: float = POWER,
) -> int:
    """Number of tasks that detects an effect (its lower bound is above 0) with this power.

    `spread` is the standard deviation between tasks of what is averaged; the interval is one of `quantities`. Tasks are
    independent and their values three at most (`three_values`).
    """
    values, alpha = three_values(effect, spread, support), (1 - level) / (2 * quantities)
    found = _tasks(values, support, 0.0, alpha=alpha, power=power)
    if found is None:
        raise ValueError(f"more than {MOST_TASKS:,} tasks")
    return found


def _tasks(values: Weighted, support: Support, bound: float, *, alpha: float, power: float) -> int | None:
    """The tasks of the least number of clusters, drawn from these, that settles with the power."""
    count = sum(each.times for each in values)
    tasks = sum(each.times * each.size for each in values)
    if sum(each.times * each.size * each.value for each in values) / tasks <= bound:
        return None

    def settled(clusters: int) -> bool:
        return reaches_power(lambda draws: resampled(values, support[0], bound, clusters, draws), alpha, power)

    clusters = _least(settled, math.floor(MOST_TASKS * count / tasks))
    return None if clusters is None else math.ceil(clusters * tasks / count)


def _least(settled: Callable[[int], bool], most: int) -> int | None:
    """The least number that settles, where every larger one does; to within a hundredth."""
    high = 1
    while not settled(high):
        high *= 2
        if high > most:
            return None
    low = high // 2
    while high - low > max(1, NEAR_ENOUGH * high):
        middle = (low + high) // 2
        low, high = (low, middle) if settled(middle) else (middle, high)
    return high
