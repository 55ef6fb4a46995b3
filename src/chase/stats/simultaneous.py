"""Simultaneous intervals over several means of the same tasks, and how many tasks a question needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import NormalDist

from chase.stats.bounded import probability_at_most
from chase.stats.estimates import Estimate, Sample, estimate, weights_of

MOST_TASKS = 10**7
"""A question that needs more is not settled by tasks."""


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


def tasks_above(sample: Sample, bound: float, *, quantities: int = 1, level: float = 0.95) -> int | None:
    """How many tasks put the whole of a simultaneous interval above a bound, if they came out like those there are.

    None where the mean is not above it: then no number does.
    """
    values = [float(value) for value in sample.per_task.values()]
    if sum(values) / len(values) <= bound:
        return None
    alpha = (1 - level) / (2 * quantities)
    seen, border = weights_of(_mirrored(sample)), -sample.support[0]

    def settled(n: int) -> bool:
        more = tuple(each._replace(times=n / len(values) * each.times) for each in seen)
        return probability_at_most(-bound, more, border) > 1 - alpha

    return _least(settled)


def tasks_below(sample: Sample, bound: float, *, quantities: int = 1, level: float = 0.95) -> int | None:
    """The same for the whole of an interval below a bound."""
    return tasks_above(_mirrored(sample), -bound, quantities=quantities, level=level)


def _mirrored(sample: Sample) -> Sample:
    per_task = {task: -value for task, value in sample.per_task.items()}
    return replace(sample, per_task=per_task, support=(-sample.support[1], -sample.support[0]))


def _least(settled: Callable[[int], bool]) -> int | None:
    """The least number of tasks that settles, where every larger one does."""
    high = 1
    while not settled(high):
        high *= 2
        if high > MOST_TASKS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if settled(middle) else (middle, high)
    return high


def tasks_for_power(
    effect: float, spread: float, *, quantities: int = 1, level: float = 0.95, power: float = 0.9
) -> int:
    """How many tasks detect an effect (its lower bound is above 0) with this power.

    `spread` is the standard deviation between tasks of what is averaged; the interval is one of `quantities`.
    """
    if effect <= 0:
        raise ValueError("an effect to be detected is above 0")
    normal = NormalDist()
    z = normal.inv_cdf(1 - (1 - level) / (2 * quantities)) + normal.inv_cdf(power)
    return math.ceil((z * spread / effect) ** 2)
