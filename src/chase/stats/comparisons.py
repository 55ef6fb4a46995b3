"""Methods compared over tasks and over runs: each is a source of chance, and neither stands for the other.

A figure is the mean over run seeds and tasks. Its interval over tasks is that of the tasks' means over the seeds
(`bounded.py`): what other tasks would have given for these runs. Its interval over seeds is Student's: what other runs
would have given on these tasks. Other runs on other tasks vary by `V_T + V_S − V_TS`: the variance over tasks and that
over seeds both hold what a task does in one run only. Their interval is put together accordingly, from the distances of
both intervals' ends (Zou and Donner 2008); a difference counts as told from 0 where it leaves 0 out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

from chase.stats.bounded import Support
from chase.stats.estimates import Estimate, PerTask, UnequalCoverage, estimate, mean


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """A figure over tasks and over run seeds."""

    over_tasks: Estimate
    over_seeds: Estimate | None
    """`n` are seeds. None: of one run nothing is known about others."""
    over_both: Estimate
    """Of one run that over tasks."""
    by_seed: tuple[float, ...]

    @property
    def separated(self) -> bool:
        """It is told from 0, over tasks and seeds together."""
        return self.over_both.low > 0 or self.over_both.high < 0


def measured(per_seed: Sequence[PerTask], support: Support, *, level: float = 0.95) -> Measured:
    """The mean of the same tasks' figures in several runs."""
    by_seed = tuple(float(mean(per_task)) for per_task in per_seed)
    tasks, seeds = estimate(averaged(per_seed), support, level=level), over_seeds(by_seed, level=level)
    return Measured(
        over_tasks=tasks,
        over_seeds=seeds,
        over_both=tasks if seeds is None else _over_both(tasks, seeds, interaction(per_seed)),
        by_seed=by_seed,
    )


def interaction(per_seed: Sequence[PerTask]) -> float:
    """`V_TS`: what the variance of the mean owes to what tasks do in one seed only; 0 of one task or one seed."""
    tasks, seeds = averaged(per_seed), [mean(per_task) for per_task in per_seed]
    n, runs = len(tasks), len(seeds)
    if n < 2 or runs < 2:
        return 0.0
    middle = mean(tasks)
    left = sum(
        float(found[task] - value - of_seed + middle) ** 2
        for found, of_seed in zip(per_seed, seeds, strict=True)
        for task, value in tasks.items()
    )
    return left / ((n - 1) * (runs - 1)) / (n * runs)


def _over_both(tasks: Estimate, seeds: Estimate, shared: float) -> Estimate:
    """`V_T + V_S − V_TS`, and as much of the ends' squared distances; never less than either by itself."""
    normal = NormalDist().inv_cdf((1 + tasks.level) / 2)

    def together(one: float, other: float, twice: float) -> float:
        return math.sqrt(max(one**2, other**2, one**2 + other**2 - twice))

    value = tasks.value
    below = together(value - tasks.low, seeds.value - seeds.low, normal**2 * shared)
    above = together(tasks.high - value, seeds.high - seeds.value, normal**2 * shared)
    return replace(tasks, se=together(tasks.se, seeds.se, shared), low=value - below, high=value + above)


def averaged(per_seed: Sequence[PerTask]) -> dict[str, Fraction]:
    """Each task's mean over the seeds. Unequal coverage is refused."""
    if any(per_task.keys() != per_seed[0].keys() for per_task in per_seed):
        raise UnequalCoverage("the seeds do not cover the same tasks")
    return {task: sum((found[task] for found in per_seed), Fraction(0)) / len(per_seed) for task in per_seed[0]}


def over_seeds(values: Sequence[float], *, level: float = 0.95) -> Estimate | None:
    """The mean over seeds with Student's interval; None where there is one."""
    n = len(values)
    if n < 2:
        return None
    middle = sum(values) / n
    se = math.sqrt(sum((value - middle) ** 2 for value in values) / (n - 1) / n)
    radius = student_quantile(n - 1, level) * se
    return Estimate(value=middle, se=se, n=n, low=middle - radius, high=middle + radius, level=level)


def student_quantile(degrees: int, level: float = 0.95) -> float:
    """What the absolute value of Student's t stays below with the probability of the level."""
    low, high = 0.0, 1.0
    while _student_within(high, degrees) < level:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _student_within(middle, degrees) < level else (low, middle)
    return high


def _student_within(t: float, degrees: int) -> float:
    """`P(|T| ≤ t)`: for whole degrees of freedom a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = degrees % 2
    term, total = (math.cos(angle), 0.0) if odd else (1.0, 0.0)
    for k in range(1 + odd, degrees, 2):
        total += term
        term *= square * k / (k + 1)
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
