"""Intervals for the mean of a bounded quantity that are right for few tasks and at the borders.

Gaffke's bound. Of `n` independent values in `[a, b]` the upper bound of the mean is a quantile of `Σ D_i x_i`, where
the `x_i` are the values and, once more, the border `b`, and `D` is drawn evenly from all weights that sum to 1
(Dirichlet, all parameters 1); the lower bound is the same with `a`. It asks for independence and the borders, and

- on values that are all `a` or `b` it is Clopper and Pearson's exact interval;
- where all `n` values are the same it reaches `1 − α^(1/n)` of the way to the border: what `n` allows;
- for many values it is the usual interval of mean and standard error, moved by about `(b − mean) / n`;
- it never leaves `[a, b]`.

Gaffke (2005), "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable";
Learned-Miller and Thomas (2019), "A New Confidence Interval for the Mean of a Bounded Random Variable", which compares
it with others. That it always covers as often as it says is proved on two values and conjectured in general: no
counterexample is known, and `python -m studies.intervals` looks for one on distributions like ours. Bounds by betting
(`betting.py`) are proved and somewhat wider: certificates use them.

Clusters. Where tasks depend on each other, `S_c − m n_c` takes the place of a value less `m`: a cluster's sum less what
its `n_c` tasks have where `m` is the mean. The border's weight is that of the largest cluster. Of clusters of one size
this is the bound of their means. Of clusters that are drawn with their sizes it is Gaffke's of values that are again
independent and bounded, `S_c − m n_c + n_max (b − m)` up to a sign, if the largest size is among those drawn. Given
unequal sizes it is simulated only (`python -m studies.clusters`).

The quantile is not simulated: `Σ D_i x_i ≤ m` exactly if a weighted sum of independent Gamma variables is at most 0,
and Lugannani and Rice's formula gives the probability of that (Daniels 1987, "Tail Probability Approximations").
On two values it errs to the safe side: of `α` it leaves 2 to 6 % unused where nearly all are the same, at any number of
tasks, and up to 10 % of few tasks. On three values it was found up to 3 % of `α` off to the other side. Either moves a
bound by about a hundredth of its distance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

Support = tuple[float, float]
"""The least and the greatest value that one task can have."""
SCORES: Support = (0.0, 1.0)
GAINS: Support = (-1.0, 1.0)
"""Of a difference of two scores."""
DESTRUCTIONS: Support = (-2.0, 2.0)
"""Of a difference of two gains."""


class Counted(NamedTuple):
    """A value and how often it is there. Of a cluster the value is its mean, and `size` how many tasks it has."""

    value: float
    times: float
    size: float = 1.0


Weighted = tuple[Counted, ...]
"""Distinct values, in their order."""

NEAR = 1e-4
"""So near to the middle the formula loses its digits, and the probability is one half."""
_NORMAL = NormalDist()


def interval(values: Iterable[float], support: Support, *, level: float = 0.95) -> tuple[float, float]:
    """The two-sided interval of the mean: each side is missed with probability at most `(1 − level) / 2`."""
    return both_bounds(weighted(values), support, level=level)


def both_bounds(values: Weighted, support: Support, *, level: float = 0.95) -> tuple[float, float]:
    """The same of values that are counted already."""
    each = (1 - level) / 2
    return lower_bound(values, support, each), upper_bound(values, support, each)


def weighted(values: Iterable[float], times: float = 1.0) -> Weighted:
    """Independent values as the functions below take them, as if each had been seen so many times."""
    return weighted_clusters(((value, 1) for value in values), times)


def weighted_clusters(clusters: Iterable[tuple[float, int]], times: float = 1.0) -> Weighted:
    """The same of clusters, each with the sum of its tasks' values and their number."""
    return weighted_counts(Counter((float(total), size) for total, size in clusters), times)


def weighted_counts(clusters: Mapping[tuple[float, int], int], times: float = 1.0) -> Weighted:
    """The same of clusters that are counted: (sum, number of tasks) → how many clusters have both."""
    if not clusters:
        raise ValueError("no values to make an interval of")
    counted = sorted((total / size, float(size), times * count) for (total, size), count in clusters.items())
    return tuple(Counted(value, count, size) for value, size, count in counted)


def upper_bound(values: Weighted, support: Support, alpha: float) -> float:
    """The mean is above this bound with probability at most `alpha`."""
    least, border = values[0].value, support[1]
    if least < support[0] or values[-1].value > border:
        raise ValueError("a value lies beyond the borders that it is said to have")
    if least == border:
        return border
    return _crossing(lambda m: probability_at_most(m, values, border), 1 - alpha, least, border)


def lower_bound(values: Weighted, support: Support, alpha: float) -> float:
    """The mean is below this bound with probability at most `alpha`."""
    mirrored = tuple(each._replace(value=-each.value) for each in reversed(values))
    return -upper_bound(mirrored, (-support[1], -support[0]), alpha)


def probability_at_most(m: float, values: Weighted, border: float) -> float:
    """The probability that `Σ D_c (S_c − m n_c) + D_0 n_max (border − m) ≤ 0`: of independent values, that
    `Σ D_i x_i ≤ m` with the border among the `x_i`.
    """
    largest = max(each.size for each in values)
    terms = [(size * (x - m), count) for x, count, size in (*values, Counted(border, 1.0, largest)) if x != m]
    if all(w < 0 for w, _ in terms):
        return 1.0
    if all(w > 0 for w, _ in terms):
        return 0.0
    s = _saddle(terms)
    exponent = sum(count * math.log1p(-w * s) for w, count in terms)
    r = math.copysign(math.sqrt(max(0.0, 2 * exponent)), s)
    v = s * math.sqrt(sum(count * (w / (1 - w * s)) ** 2 for w, count in terms))
    if abs(r) < NEAR:
        return 0.5
    return min(1.0, max(0.0, _NORMAL.cdf(r) + _NORMAL.pdf(r) * (1 / r - 1 / v)))


def _saddle(terms: Sequence[tuple[float, float]]) -> float:
    """Where `Π (1 − w s)^−c` is smallest between its poles: Newton's method, kept between what is known."""
    low, high = 1 / min(w for w, _ in terms), 1 / max(w for w, _ in terms)
    s = 0.0
    for _ in range(200):
        tilted = [(w / (1 - w * s), count) for w, count in terms]
        slope, curve = sum(c * w for w, c in tilted), sum(c * w * w for w, c in tilted)
        low, high = (s, high) if slope < 0 else (low, s)
        newton = s - slope / curve
        last, s = s, newton if low < newton < high else (low + high) / 2
        if abs(s - last) * math.sqrt(curve) < 1e-9:
            break
    return s


def _crossing(share: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Where a growing probability reaches what is wanted: the Illinois method on its normal quantiles."""
    target = _NORMAL.inv_cdf(wanted)

    def off(m: float) -> float:
        return _NORMAL.inv_cdf(min(1 - 1e-12, max(1e-12, share(m)))) - target

    below, above, kept, width = off(low), off(high), 0, high - low
    while high - low > 1e-10 * width:
        m = (low * above - high * below) / (above - below)
        found = off(m)
        if abs(found) < 1e-9:
            return m
        if found < 0:
            low, below, above, kept = m, found, above / 2 if kept < 0 else above, -1
        else:
            high, above, below, kept = m, found, below / 2 if kept > 0 else below, 1
    return high
