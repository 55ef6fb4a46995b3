"""The power of the intervals that results are told with: how often a lower bound of Gaffke's (`bounded.py`) is above
a bound, over samples from a stated distribution.

Simulated with a fixed seed for each number of clusters, so that the same question has the same answer. What is
asked of each sample is what `probability_at_most` asks, of all samples at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from chase.stats.bounded import DESTRUCTIONS, NEAR, Counted, Support, Weighted

DRAWS = 2000
"""Simulated samples: 80 % comes out with a standard error of 0.9 points."""
FIRST = 400
"""Of these, the samples that are enough where the power is far from the one that is wanted."""
FAR = 0.08
"""Four standard errors of the first ones."""
POWER = 0.8
STEPS = 100
"""Of Newton's method at most."""
MOST_VALUES = 64
"""Of clusters of one size: neighbours beyond them are taken together, which leaves 99.8 % of a normal variance."""

Values = NDArray[np.float64]
_cdf = np.vectorize(NormalDist().cdf, otypes=[float])


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """Simulated samples, one a row: their clusters' distances from a bound, how often each is there, and the distance
    of the border on the other side.
    """

    above: Values
    """Each cluster's sum less what its tasks have at the bound."""
    counts: Values
    border: Values
    """The border's contribution to the other side, a number for each row."""

    def settled(self, alpha: float) -> NDArray[np.bool_]:
        """Check for each row that its lower bound at `alpha` is above the bound."""
        weights = np.where(self.counts > 0, -self.above, 0.0)
        found = np.zeros(len(self.counts), dtype=bool)
        open_rows = weights.min(axis=1) < 0
        if open_rows.any():
            w = np.column_stack([weights[open_rows], self.border[open_rows]])
            counts = np.column_stack([self.counts[open_rows], np.ones(int(open_rows.sum()))])
            found[open_rows] = _below_zero(w, counts) > 1 - alpha
        return found


def _below_zero(w: Values, counts: Values) -> Values:
    """The probability that `Σ w_i` times independent Gamma variables is at most 0, row by row (Lugannani and Rice)."""
    s = _saddles(w, counts)[:, None]
    exponent = (counts * np.log1p(-w * s)).sum(axis=1)
    r = np.sign(s[:, 0]) * np.sqrt(np.maximum(0.0, 2 * exponent))
    v = s[:, 0] * np.sqrt((counts * (w / (1 - w * s)) ** 2).sum(axis=1))
    near = np.abs(r) < NEAR
    r, v = np.where(near, 1.0, r), np.where(near, 1.0, v)
    density = np.exp(-r * r / 2) / np.sqrt(2 * np.pi)
    found: Values = np.where(near, 0.5, _cdf(r) + density * (1 / r - 1 / v))
    return found


def _saddles(w: Values, counts: Values) -> Values:
    """Find where each row's `Π (1 − w s)^−c` is smallest between its poles: Newton's method, kept in brackets."""
    low, high = 1 / w.min(axis=1), 1 / w.max(axis=1)
    s = np.zeros(len(w))
    for _ in range(STEPS):
        tilted = w / (1 - w * s[:, None])
        slope, curve = (counts * tilted).sum(axis=1), (counts * tilted * tilted).sum(axis=1)
        low, high = np.where(slope < 0, s, low), np.where(slope < 0, high, s)
        newton = s - slope / curve
        last, s = s, np.where((low < newton) & (newton < high), newton, (low + high) / 2)
        if (np.abs(s - last) * np.sqrt(curve)).max() < 1e-7:
            break
    return s


def resampled(values: Weighted, lowest: float, bound: float, clusters: int, draws: int) -> Drawn:
    """Samples of so many clusters, drawn from those there are."""
    shares = np.array([each.times for each in values])
    sizes = np.array([each.size for each in values])
    rng = np.random.default_rng(clusters)
    counts = rng.multinomial(clusters, shares / shares.sum(), size=draws).astype(float)
    above = sizes * (np.array([each.value for each in values]) - bound)
    largest = np.where(counts > 0, sizes, 0.0).max(axis=1)
    return Drawn(above=np.broadcast_to(above, counts.shape), counts=counts, border=largest * (bound - lowest))


def merged(values: Weighted) -> Weighted:
    """The same mean with at most so many values of each size: neighbours are taken together."""
    by_size: dict[float, list[Counted]] = {}
    for each in values:
        by_size.setdefault(each.size, []).append(each)
    return tuple(kept for own in by_size.values() for kept in _merged(own))


def _merged(own: list[Counted]) -> list[Counted]:
    if len(own) <= MOST_VALUES:
        return own
    step, seen = sum(each.times for each in own) / MOST_VALUES, 0.0
    bins: dict[int, list[Counted]] = {}
    for each in own:
        bins.setdefault(int((seen + each.times / 2) / step), []).append(each)
        seen += each.times
    found = []
    for some in bins.values():
        times = sum(each.times for each in some)
        found.append(Counted(sum(each.times * each.value for each in some) / times, times, own[0].size))
    return found


def reaches_power(draw: Callable[[int], Drawn], alpha: float, power: float) -> bool:
    """Check that so large a share of samples settles; `draw` makes as many as it is asked for."""
    quick = float(draw(FIRST).settled(alpha).mean())
    if abs(quick - power) > FAR:
        return quick > power
    return float(draw(DRAWS).settled(alpha).mean()) >= power


def detection_power(effect: float, spread: float, tasks: int, alpha: float, support: Support = DESTRUCTIONS) -> float:
    """Power of the lower bound at `alpha` of so many independent tasks to be above 0, where the mean is `effect` and
    `spread` the standard deviation between tasks (`three_values`).
    """
    values = three_values(effect, spread, support)
    return float(resampled(values, support[0], 0.0, tasks, DRAWS).settled(alpha).mean())


def three_values(mean: float, spread: float, support: Support) -> Weighted:
    """A distribution with this mean above 0 and this spread: nothing, and as much lost as won beside what is won more.

    The value is 1 where the spread allows it. A larger spread has the border instead, the largest one its own; a
    smaller one has no losses.
    """
    most = support[1]
    if not 0 < mean <= most:
        raise ValueError(f"an effect to be detected is above 0 and at most {most:g}")
    square = min(spread**2 + mean**2, most**2)
    value = 1.0 if square <= 1 else most
    value = min(value, square / mean)
    won, lost = (square / value**2 + mean / value) / 2, (square / value**2 - mean / value) / 2
    shares = {-value: max(0.0, lost), 0.0: 1 - won - lost, value: won}
    return tuple(Counted(x, share) for x, share in shares.items() if share > 1e-12)
