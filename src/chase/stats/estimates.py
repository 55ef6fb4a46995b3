"""Estimates from rollout scores: averaged within task first, then across tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A mean over tasks with its standard error and interval. Everywhere the same shape in JSON."""

    value: float
    se: float
    n: int
    """Tasks."""
    low: float
    high: float
    level: float


def within_task_means(scores: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Each task's mean over its rollouts. Unequal numbers of rollouts are refused: coverage must be the same."""
    counts = {len(values) for values in scores.values()}
    if len(counts) > 1 or 0 in counts:
        raise ValueError(f"tasks have unequal numbers of rollouts: {sorted(counts)}")
    return {task: fmean(values) for task, values in scores.items()}


def mean_estimate(per_task: Sequence[float], *, level: float = 0.95) -> Estimate:
    """The mean over tasks, with a normal interval from the spread between tasks (the paper's \\hat R)."""
    n = len(per_task)
    if n == 0:
        raise ValueError("no tasks to estimate from")
    value = fmean(per_task)
    variance = sum((x - value) ** 2 for x in per_task) / (n - 1) if n > 1 else 0.0
    se = math.sqrt(variance / n)
    radius = NormalDist().inv_cdf(0.5 + level / 2) * se
    return Estimate(value=value, se=se, n=n, low=value - radius, high=value + radius, level=level)
