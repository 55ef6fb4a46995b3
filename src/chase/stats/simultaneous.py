"""Simultaneous intervals over several means of the same tasks, and how many tasks a question needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import NormalDist

from chase.stats.estimates import Estimate, PerTask, estimate

MOST_TASKS = 10**9
"""A question that needs more is not settled by tasks."""


def simultaneous(quantities: Mapping[str, PerTask], *, level: float = 0.95) -> dict[str, Estimate]:
    """Each mean with an interval such that all hold together with at least this level (Bonferroni).

    The level stated in each estimate is the joint one.
    """
    if not quantities:
        return {}
    each = 1 - (1 - level) / len(quantities)
    return {name: replace(estimate(per_task, level=each), level=level) for name, per_task in quantities.items()}


def tasks_needed(se: float, n: int, *, margin: float, quantities: int = 1, level: float = 0.95) -> int | None:
    """How many tasks make a simultaneous interval's radius smaller than a margin; None where no number does."""
    if margin <= 0:
        return None
    radius = NormalDist().inv_cdf(1 - (1 - level) / (2 * quantities))
    ratio = radius * se / margin
    needed = n * ratio * ratio
    return max(2, math.ceil(needed)) if needed <= MOST_TASKS else None


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
