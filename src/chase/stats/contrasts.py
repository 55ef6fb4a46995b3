"""A gain under a counterfactual beside the released gain: what is destroyed, what the base rate explains, what is left.

Where everybody solves less, a gain shrinks although nothing was leant on. So a gain is compared with what it would be
at the counterfactual's base rate: `κ G_rel`, the least that the difference, the ratio and the log-odds scale expect
there (`κ ≤ 1`). What is below that is *unexplained*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from chase.stats.bounded import DESTRUCTIONS, GAINS, Support, Weighted, lower_bound, upper_bound
from chase.stats.estimates import Clusters, Estimate, PerTask, Sample, difference, estimate, mean, weights_of

SHARE_STEPS = 24
"""Halvings of the interval of a share."""
SHARES = (-1.0, 3.0)
"""Between which a destroyed share is looked for."""
HALF = Fraction(1, 2)
Bound = Callable[[Weighted, Support, float], float]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Scores with and without what is judged, task by task, under one variant."""

    more: PerTask
    """With it: the harness."""
    less: PerTask
    """Without it: the baseline."""

    @cached_property
    def gain(self) -> PerTask:
        return difference(self.more, self.less)


def averaged(tables: Sequence[PerTask]) -> dict[str, Fraction]:
    """Task by task the mean of several tables: of the draws of a probe, or of two ways to measure an edit."""
    first = tables[0]
    return {task: sum((table[task] for table in tables), Fraction(0)) / len(tables) for task in first}


def averaged_cells(cells: Sequence[Cell]) -> Cell:
    return Cell(more=averaged([cell.more for cell in cells]), less=averaged([cell.less for cell in cells]))


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """A gain as released and under one counterfactual, on the same tasks."""

    released: Cell
    changed: Cell
    clusters: Clusters = field(default_factory=dict)

    @cached_property
    def expected_share(self) -> float:
        """`κ`: the share of the released gain that the counterfactual's base rate leaves on the least kind scale."""
        base, base_changed = _rate(self.released.less), _rate(self.changed.less)
        gain = _rate(self.released.more) - base
        if gain <= 0:
            return 1.0
        odds = _logit(self.released.more) - _logit(self.released.less)
        on_odds = 1 / (1 + math.exp(-_logit(self.changed.less) - odds)) - base_changed
        return max(0.0, min(1.0, base_changed / base if base else 1.0, on_odds / gain))

    @property
    def destroyed(self) -> Sample:
        """`Δ_b = G_rel − G_b`."""
        return self._sample(difference(self.released.gain, self.changed.gain), DESTRUCTIONS)

    @property
    def unexplained(self) -> Sample:
        """`κ G_rel − G_b`: the destruction that the base rate does not explain."""
        return self._less(Fraction(self.expected_share), sign=-1)

    @property
    def half(self) -> Sample:
        """`G_b − G_rel / 2`: above 0 where at least half of the gain is left."""
        return self._less(HALF)

    @property
    def half_expected(self) -> Sample:
        """`G_b − κ G_rel / 2`: above 0 where at least half of what the base rate leaves is left."""
        return self._less(HALF * Fraction(self.expected_share))

    def share_destroyed(self, *, level: float) -> Estimate | None:
        """`Δ_b / G_rel` with its interval, from the contrasts that it bounds; None where the gain is not above 0."""
        gain = mean(self.released.gain)
        if gain <= 0:
            return None
        value, each = float(mean(self.destroyed.per_task) / gain), (1 - level) / 2
        low = _border(lambda share: self._bound(upper_bound, share, each) < 0, *SHARES)
        high = _border(lambda share: self._bound(lower_bound, share, each) <= 0, *SHARES)
        left = self._left(value)
        found = estimate(left.per_task, left.support, level=level, clusters=left.clusters)
        return replace(found, value=value, se=found.se / float(gain), low=min(low, value), high=max(high, value))

    def _left(self, share: float) -> Sample:
        """`G_b − (1 − share) G_rel`: below 0 where more than that share is destroyed."""
        return self._less(Fraction(1 - share))

    def _bound(self, bound: Bound, share: float, alpha: float) -> float:
        sample = self._left(share)
        return bound(weights_of(sample), sample.support, alpha)

    def _less(self, share: Fraction, sign: int = 1) -> Sample:
        """`± (G_b − share · G_rel)`."""
        released, changed = self.released.gain, self.changed.gain
        found = {task: sign * (changed[task] - share * released[task]) for task in released}
        border = 1 + abs(float(share))
        return self._sample(found, (-border, border))

    def _sample(self, per_task: Mapping[str, Fraction], support: tuple[float, float]) -> Sample:
        return Sample(per_task=per_task, support=support, clusters=self.clusters)


def gain_sample(cell: Cell, clusters: Clusters) -> Sample:
    return Sample(per_task=cell.gain, support=GAINS, clusters=clusters)


def _rate(scores: PerTask) -> float:
    return float(mean(scores))


def _logit(scores: PerTask) -> float:
    """Smoothed by `(k + ½) / (n + 1)`: near a floor or a ceiling it stays finite."""
    rate = (float(sum(scores.values())) + 0.5) / (len(scores) + 1)
    return math.log(rate / (1 - rate))


def _border(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest value up to which something holds that holds from `low` on and not at `high`."""
    for _ in range(SHARE_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
