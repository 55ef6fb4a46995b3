"""How many tasks a certificate takes, by Hoeffding's inequality and by betting.

The question is the one that certificates answer: a counterfactual destroys nothing, and `Γ_A` is to be proved to be
below some `delta`, by a bound that holds together with those of all other entries (each side at `α/(4|A|)`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from chase.stats import betting
from chase.stats.bounded import DESTRUCTIONS
from chase.stats.power import MOST_TASKS


def hoeffding_tasks(delta: float, *, alpha: float, archive_size: int) -> int:
    """Tasks at which the paper's radius of a gain destruction, `√(8 ln(4|A|/α) / n)`, is `delta`, for any noise."""
    return math.ceil(8 * math.log(4 * archive_size / alpha) / delta**2)


def tasks_by_hoeffding(delta: float, sd: float, *, alpha: float, archive_size: int, power: float) -> int:
    """Tasks at which `Δ̂ + s_Δ` is below `delta` with this power; `sd` is the deviation between tasks."""
    radius = math.sqrt(8 * math.log(4 * archive_size / alpha)) + _luck(power) * sd
    return max(2, math.ceil((radius / delta) ** 2))


def tasks_by_betting(delta: float, sd: float, *, alpha: float, archive_size: int, power: float) -> int:
    """The same for bounds by betting: where the capital of a typical course of values reaches what excludes `delta`.

    An approximation (values of 0 and ±1, or ±2 where the noise is larger, and variances that are learnt as expected);
    simulation comes within a tenth of the tasks.
    """
    each = alpha / (4 * archive_size)
    return _least(lambda n: _typical_capital(delta, sd, n, each, _luck(power)) >= math.log(1 / each))


def _typical_capital(delta: float, sd: float, n: int, alpha: float, luck: float) -> float:
    """The logarithm of the capital after `n` values with mean 0, betting against a mean of `delta`: all in units of the
    borders' distance, turned over so that the bet is on values above `m`. The values' mean is off by so much bad luck.
    """
    low, high = DESTRUCTIONS
    width = high - low
    jump = 1.0 if sd <= 1 else high
    rare = min(1.0, (sd / jump) ** 2)
    values = np.maximum(0.0, (high - np.array([-jump, 0.0, jump]) - luck * sd / math.sqrt(n)) / width)
    shares = np.array([rare / 2, 1 - rare, rare / 2])
    m = (high - delta) / width
    seen = np.arange(n)
    spread = (betting.PRIOR + seen * (sd / width) ** 2) / (seen + 1)
    stakes = np.minimum(np.sqrt(2 * math.log(1 / alpha) / (n * spread)), betting.CUT / m)
    return float(np.log1p(np.outer(stakes, values - m)).sum(axis=0) @ shares)


def _luck(power: float) -> float:
    """How many standard errors the mean may be off, that often no more."""
    return NormalDist().inv_cdf(power)


def _least(enough: Callable[[int], bool]) -> int:
    low, high = 1, 2
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_TASKS:
            raise ValueError(f"more than {MOST_TASKS:,} tasks")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
