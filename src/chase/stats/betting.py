"""Confidence bounds by betting for the mean of a bounded quantity: proved at every number of tasks, and tight.

Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting", hedged capital. Against a
supposed mean `m` somebody bets on the values one after the other, each bet decided by the values before it. Where `m`
is the mean the game is fair, so with probability `1 − α` the capital never reaches `1/α` times its start (Ville's
inequality); every `m` against which it did is excluded. Betting that values are higher gives a lower bound, betting
that they are lower an upper one. Nothing is asked of the values but independence, one mean, and their borders.

The bets are the paper's predictable plug-in for a fixed number of values, `λ_i = √(2 log(1/α) / (n σ̂²_{i−1}))`, cut off
at `CUT / m` so that the capital stays positive. Which bets are made decides the width and never the validity. So does
the order of the values, which must not be chosen after they are seen: `shuffled` takes one that a seed decides.

Where tasks come in clusters, one bet is on a whole cluster: `S_c − m n_c`, its sum less what `m` makes of its `n_c`
tasks, is as fair a game where `m` is the mean of each task, and lies within `n_max` times the borders' distance, so
that the same cut keeps the capital positive. Clusters are independent of each other, tasks of one need not be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chase.core.keyed import sorted_by_key
from chase.stats.bounded import Support

CUT = 0.9
"""Of the capital, what one bet may lose at most. The paper names 1/2 and 3/4; on values like ours this is about a tenth
narrower where most of them are the same, and 1 % wider at worst (`studies.certificates`).
"""
PRIOR = 0.25
"""The variance before the first value, counted as one value: the largest that values in [0, 1] can have."""
STEPS = 50
"""Halvings: the bound is off by less than the borders' distance times 2^−50, to the safe side."""

TINY = 1e-300
"""No supposed mean is 0: a bet of any size could be made against it."""

Values = NDArray[np.float64]


def lower_bounds(values: ArrayLike, support: Support, alpha: float, sizes: Sequence[int] | None = None) -> Values:
    """For each row of values, in the order of betting: the mean is below the bound with probability at most `alpha`.

    With `sizes` the values are sums over clusters of so many tasks each, and the bound is that of a task's mean.
    """
    low, high = support
    rows = np.asarray(values, dtype=np.float64)
    tasks = np.ones(rows.shape[-1]) if sizes is None else np.asarray(sizes, dtype=np.float64)
    _check(rows, tasks, support, alpha)
    largest = tasks.max()
    scaled = (rows - low * tasks) / ((high - low) * largest)
    return low + (high - low) * _lower(scaled, tasks / largest, alpha)


def upper_bounds(values: ArrayLike, support: Support, alpha: float, sizes: Sequence[int] | None = None) -> Values:
    """The same from above: the mean is above the bound with probability at most `alpha`."""
    low, high = support
    return -lower_bounds(-np.asarray(values, dtype=np.float64), (-high, -low), alpha, sizes)


def lower_bound(values: Sequence[float], support: Support, alpha: float) -> float:
    """The lower bound of one sample."""
    return float(lower_bounds([list(values)], support, alpha)[0])


def upper_bound(values: Sequence[float], support: Support, alpha: float) -> float:
    """The upper bound of one sample."""
    return float(upper_bounds([list(values)], support, alpha)[0])


def shuffled(tasks: Iterable[str], seed: int) -> list[str]:
    """The order of betting: the seed and the tasks' ids decide it, and nothing that was measured."""
    return sorted_by_key(tasks, "order of betting", seed)


def _lower(x: Values, sizes: Values, alpha: float) -> Values:
    """Lower bounds of rows of clusters, each in [0, its size], the largest of which is 1. The capital falls as `m`
    grows, so that halving finds where it is enough.

    Above its own mean no bound is given, though luck in the order of the values may allow it.
    """
    bets = _bets(x, sizes, alpha)
    wanted = np.log(1 / alpha)
    excluded, kept = np.zeros(len(x)), x.sum(axis=1) / sizes.sum()
    for _ in range(STEPS):
        m = (excluded + kept) / 2
        enough = _most_capital(x, sizes, bets, m) >= wanted
        excluded, kept = np.where(enough, m, excluded), np.where(enough, kept, m)
    return excluded


def _bets(x: Values, sizes: Values, alpha: float) -> Values:
    """Before each cluster of a row: what is bet, from the spread of the clusters before it."""
    n = x.shape[1]
    seen = np.arange(2, n + 2)
    means = (0.5 + np.cumsum(x, axis=1)) / (1 + np.cumsum(sizes))
    spread = (PRIOR + np.cumsum((x - means * sizes) ** 2, axis=1)) / seen
    before = np.concatenate([np.full((len(x), 1), PRIOR), spread[:, :-1]], axis=1)
    return cast(Values, np.sqrt(2 * np.log(1 / alpha) / (n * before)))


def _most_capital(x: Values, sizes: Values, bets: Values, m: Values) -> Values:
    """The logarithm of the largest capital on the way, betting that the mean is above `m`."""
    column = np.maximum(m, TINY)[:, None]
    stakes = np.minimum(bets, CUT / column)
    return cast(Values, np.cumsum(np.log1p(stakes * (x - column * sizes)), axis=1).max(axis=1))


def _check(rows: Values, sizes: Values, support: Support, alpha: float) -> None:
    if rows.ndim != 2 or not rows.shape[1]:
        raise ValueError("no values to make a bound of")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha:g} must lie between 0 and 1")
    if not np.all((rows >= support[0] * sizes) & (rows <= support[1] * sizes)):
        raise ValueError("a value lies beyond the borders that it is said to have")
