"""Estimates from rollout scores: averaged within task first, then across tasks (the paper's `R̂`, `Ĝ`, `Δ̂`).

Point values are exact rationals, because thresholds are compared with them: at 16 tasks and five rollouts an estimate
of exactly 0.05 is common, and floating point would decide it by chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from chase.stats.bounded import Support, interval

PerTask = Mapping[str, Fraction]
"""Task → a number: a mean score, or a difference of mean scores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A mean over tasks with its standard error and interval. Everywhere the same shape in JSON.

    The interval is none of the standard error's: it is right for few tasks and at the borders (`bounded.py`).
    """

    value: float
    se: float
    n: int
    """Tasks."""
    low: float
    high: float
    level: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """What was measured, task by task, and between which borders a task's value lies."""

    per_task: PerTask
    support: Support


class UnequalCoverage(ValueError):
    """Two cells do not cover the same tasks with the same number of rollouts: they are not compared."""


def within_task_means(scores: Mapping[str, Sequence[float] | Sequence[Fraction]]) -> dict[str, Fraction]:
    """Each task's mean over its rollouts, exactly. Unequal numbers of rollouts are refused."""
    counts = {len(values) for values in scores.values()}
    if len(counts) > 1 or 0 in counts:
        raise UnequalCoverage(f"tasks have unequal numbers of rollouts: {sorted(counts)}")
    return {task: sum(map(Fraction, values), Fraction(0)) / len(values) for task, values in scores.items()}


def difference(left: PerTask, right: PerTask) -> dict[str, Fraction]:
    """Left minus right, task by task. Unequal coverage is refused."""
    if left.keys() != right.keys():
        missing = sorted(left.keys() ^ right.keys())
        raise UnequalCoverage(f"{len(missing)} tasks are in one cell only, e.g. {missing[0]}")
    return {task: left[task] - right[task] for task in left}


def mean(per_task: PerTask) -> Fraction:
    """The exact mean over tasks."""
    if not per_task:
        raise ValueError("no tasks to estimate from")
    return sum(per_task.values(), Fraction(0)) / len(per_task)


def z_score(differences: Sequence[float], *, least: int = 4) -> float:
    """The mean in standard errors; 0 where there are fewer than `least` or all are the same: nothing can be said."""
    n = len(differences)
    if n < least:
        return 0.0
    average = sum(differences) / n
    variance = sum((d - average) ** 2 for d in differences) / (n - 1)
    return average / math.sqrt(variance / n) if variance else 0.0


def estimate(per_task: PerTask, support: Support, *, level: float = 0.95) -> Estimate:
    """The mean over tasks, its standard error from the spread between tasks, and its interval within the borders."""
    value = mean(per_task)
    n = len(per_task)
    variance = sum(float(x - value) ** 2 for x in per_task.values()) / (n - 1) if n > 1 else 0.0
    low, high = interval(map(float, per_task.values()), support, level=level)
    return Estimate(value=float(value), se=math.sqrt(variance / n), n=n, low=low, high=high, level=level)
