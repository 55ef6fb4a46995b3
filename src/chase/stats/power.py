"""What a confirmation can be expected to find: power, the tasks that it takes, and the noise that decides both.

A task's `Δ̂` varies between tasks by what the transformation really does to each (`between`) and by the chance of its
rollouts (`within`, of one rollout in each of the four cells; of R rollouts an R-th of it). More rollouts work on the
second alone, more tasks on both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from chase.stats.comparisons import student_quantile

USUAL_SCORE = 0.75
"""Where nothing is known of the noise, every score is taken to be this often right, each rollout on its own: the
standard error is then 0.10 at 16 tasks and five rollouts, and that of our studies was 0.09."""
MOST_TASKS = 10**6
CELLS = ("harness released", "baseline released", "harness counterfactual", "baseline counterfactual")
SIGNS = (1, -1, -1, 1)
"""Of the cells in a gain destruction."""

Rollouts = Mapping[str, Sequence[float]]
"""Task → the score of each rollout."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """Variances of a task's gain destruction."""

    between: float
    within: float

    def sd(self, rollouts: int) -> float:
        """The standard deviation between tasks of a mean over so many rollouts."""
        return math.sqrt(self.between + self.within / rollouts)


def usual_noise() -> Noise:
    """Four independent cells of 0/1 scores at the usual score, and no difference between tasks."""
    return Noise(between=0.0, within=4 * USUAL_SCORE * (1 - USUAL_SCORE))


def confirmation_power(effect: float, sd: float, tasks: int, alpha: float) -> float:
    """How often a one-sided paired test at `alpha` finds this effect on so many tasks: Student's approximation.

    Where no choice of signs is as rare as `alpha`, there is no power at all.
    """
    if tasks < 2 or 0.5**tasks > alpha:
        return 0.0
    if sd <= 0:
        return 1.0
    critical = student_quantile(tasks - 1, 1 - 2 * alpha)
    return 1 - NormalDist().cdf(critical - effect * math.sqrt(tasks) / sd)


def confirmation_tasks(effect: float, sd: float, alpha: float, power: float) -> int:
    """The least number of tasks on which this effect is found with this power."""
    if effect <= 0:
        raise ValueError("an effect to be found is above 0")
    low, high = 1, 2
    while confirmation_power(effect, sd, high, alpha) < power:
        low, high = high, 2 * high
        if high > MOST_TASKS:
            raise ValueError(f"more than {MOST_TASKS:,} tasks")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if confirmation_power(effect, sd, middle, alpha) >= power else (middle, high)
    return high


def noise_of(cells: Sequence[Rollouts]) -> dict[str, Noise]:
    """The noise of a gain destruction from its four cells' scores (`CELLS`), each task with the same rollouts, two at
    least: as `independent` rollouts would have it, and with `common` random numbers as these have it.
    """
    tasks = sorted(cells[0])
    rollouts = len(cells[0][tasks[0]])
    if rollouts < 2 or any(len(cell[task]) != rollouts for cell in cells for task in tasks):
        raise ValueError("noise within tasks is seen only where every task has at least two rollouts, as many in all")
    paired = [
        [sum(sign * cell[task][k] for sign, cell in zip(SIGNS, cells, strict=True)) for k in range(rollouts)]
        for task in tasks
    ]
    common = sum(map(_variance, paired)) / len(tasks)
    independent = sum(_variance(cell[task]) for cell in cells for task in tasks) / len(tasks)
    between = max(0.0, _variance([sum(values) / rollouts for values in paired]) - common / rollouts)
    return {
        "independent": Noise(between=between, within=independent),
        "common": Noise(between=between, within=common),
    }


def _variance(values: Sequence[float]) -> float:
    middle = sum(values) / len(values)
    return sum((value - middle) ** 2 for value in values) / (len(values) - 1)
