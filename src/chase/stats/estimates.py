"""Estimates from rollout scores: averaged within task first, then across tasks (the paper's `R̂`, `Ĝ`, `Δ̂`).

Point values are exact rationals, because thresholds are compared with them: at 16 tasks and five rollouts an estimate
of exactly 0.05 is common, and floating point would decide it by chance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from chase.stats.bounded import Support, Weighted, lower_bound, upper_bound, weighted_clusters, weighted_counts

PerTask = Mapping[str, Fraction]
"""Task → a number: a mean score, or a difference of mean scores."""
Clusters = Mapping[str, str]
"""Task → the cluster that it belongs to. Clusters are independent of each other, tasks of one need not be; a task that
is not named is a cluster of its own."""
INDEPENDENT: Clusters = MappingProxyType({})
FEW_CLUSTERS = 20
"""Below it intervals still hold, and say little (`studies.clusters`)."""


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
    clusters: Clusters = field(default_factory=dict)


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


def clustered(tasks: Iterable[str], clusters: Clusters) -> list[list[str]]:
    """The tasks by cluster, in the order in which they come."""
    found: dict[tuple[str | None, str], list[str]] = {}
    for task in tasks:
        key = (clusters[task], "") if task in clusters else (None, task)
        found.setdefault(key, []).append(task)
    return list(found.values())


def cluster_count(tasks: Iterable[str], clusters: Clusters) -> int:
    """Number of independent clusters of the tasks."""
    return len(clustered(tasks, clusters))


def few_clusters(clusters: int, tasks: int) -> str | None:
    """A warning that intervals say little, where tasks are few clusters."""
    if clusters == tasks or clusters >= FEW_CLUSTERS:
        return None
    return f"the {tasks} tasks are only {clusters} independent clusters: with fewer than {FEW_CLUSTERS} little is sure"


def cluster_sums(per_task: PerTask, clusters: Clusters) -> list[tuple[Fraction, int]]:
    """Each cluster's sum and its number of tasks."""
    return [(_sum([per_task[task] for task in tasks]), len(tasks)) for tasks in clustered(per_task, clusters)]


def _sum(values: Sequence[Fraction]) -> Fraction:
    return values[0] if len(values) == 1 else sum(values, Fraction(0))


def weights_of(sample: Sample) -> Weighted:
    """A sample as the bounds in `bounded.py` take it."""
    return weighted_clusters((float(s), n) for s, n in cluster_sums(sample.per_task, sample.clusters))


def estimate(per_task: PerTask, support: Support, *, level: float = 0.95, clusters: Clusters = INDEPENDENT) -> Estimate:
    """The mean over tasks, its standard error from the spread between clusters, and its interval within the borders."""
    each = (1 - level) / 2
    sample = Sample(per_task=per_task, support=support, clusters=clusters)
    return between(sample, low=each, high=each, level=level)


def between(sample: Sample, *, low: float, high: float, level: float) -> Estimate:
    """A mean with a lower bound that is wrong with probability `low` at most, and an upper one with `high`."""
    if not sample.per_task:
        raise ValueError("no tasks to estimate from")
    sums = Counter(cluster_sums(sample.per_task, sample.clusters))
    n, count = len(sample.per_task), sums.total()
    value = sum((times * total for (total, _), times in sums.items()), Fraction(0)) / n
    off = (times * float(total - size * value) ** 2 for (total, size), times in sums.items())
    variance = sum(off) / (count - 1) if count > 1 else 0.0
    values = weighted_counts({(float(total), size): times for (total, size), times in sums.items()})
    return Estimate(
        value=float(value),
        se=math.sqrt(variance / count) * (count / n),
        n=n,
        low=lower_bound(values, sample.support, low),
        high=upper_bound(values, sample.support, high),
        level=level,
    )
