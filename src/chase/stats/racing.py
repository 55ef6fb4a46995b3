"""Where a contrast very likely ends, from the tasks that are known of all its cells.

The tasks come in a random order, so those seen are a simple random sample of a set that is known to be finite: the mean
over all `n` of them is about normal around the mean over the `k` seen, with variance `s²/k · (n − k)/n`. What is known
for certain (`chase.stats.curtailment`) bounds it on both sides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from chase.stats.curtailment import Contrast, Range, certain


@dataclass(frozen=True, kw_only=True, slots=True)
class Likely:
    """Where a contrast ends but for a probability of `error` on each side."""

    error: float
    least: int
    """Tasks below which nothing but what is certain is said."""

    def __call__(self, contrast: Contrast, tasks: int) -> Range:
        sure = certain(contrast, tasks)
        common = set.intersection(*(set(cell) for _, cell in contrast))
        seen = len(common)
        if seen < self.least or seen == tasks:
            return sure
        values = [float(sum(sign * cell[task] for sign, cell in contrast)) for task in common]
        middle = sum(values) / seen
        margin = Fraction(self._margin(values, middle, tasks))
        exact = Fraction(middle)
        low, high = max(sure.low, exact - margin), min(sure.high, exact + margin)
        return Range(low=min(low, sure.high), high=max(high, sure.low))

    def _margin(self, values: list[float], middle: float, tasks: int) -> float:
        """One task that differs by a whole score is added to the spread: where no two seen tasks differ, others may."""
        seen = len(values)
        variance = (sum((value - middle) ** 2 for value in values) + 1) / seen
        left = (tasks - seen) / (tasks * seen)
        return NormalDist().inv_cdf(1 - self.error) * math.sqrt(variance * left)
