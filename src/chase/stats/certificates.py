"""What sealed tasks certify about a fixed archive, by Hoeffding's inequality as the paper does and by betting.

Both say the same thing at the same level: with probability `1 − α/2` every `Δ_b` and every `G_b` of the archive is
within its bound, each side of each entry at `α/(4|A|)`. Where tasks come in clusters, these are what is independent:
Hoeffding's radii are those of `n² / Σ n_c²` tasks, and bets are on clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from chase.stats.betting import Values, lower_bounds, shuffled, upper_bounds
from chase.stats.bounded import DESTRUCTIONS, GAINS
from chase.stats.destruction import archive_summary, destruction
from chase.stats.estimates import INDEPENDENT, Clusters, PerTask, clustered, mean
from chase.stats.theorems import ArchiveBounds, destruction_radius, gain_radius, hoeffding_bounds

Order = Sequence[Sequence[str]]
"""Clusters of tasks, in the order of betting."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Certificate:
    """Bounds on `Γ_A` and `G_min,A` by both ways, from the same tasks."""

    hoeffding: ArchiveBounds
    betting: ArchiveBounds
    s_delta: float
    s_g: float
    """Hoeffding's radii."""
    archive_size: int
    n: int
    """Tasks."""
    alpha: float
    seed: int
    """Decided the order of betting, before the tasks were opened."""


def certificate(
    gains: Mapping[str, PerTask], *, released: str, alpha: float, seed: int, clusters: Clusters = INDEPENDENT
) -> Certificate:
    """The certificate of an archive, given each entry's gain task by task; the released benchmark is one of them."""
    summary, n, size = archive_summary(gains, released=released), len(gains[released]), len(gains)
    order = _order(gains[released], clusters, seed)
    effective = independent_tasks(order)
    return Certificate(
        hoeffding=hoeffding_bounds(
            gamma_hat=float(summary.gamma), g_min_hat=float(summary.g_min), n=effective, archive_size=size, alpha=alpha
        ),
        betting=_betting_bounds(gains, released, alpha / (4 * size), order),
        s_delta=destruction_radius(effective, size, alpha),
        s_g=gain_radius(effective, size, alpha),
        archive_size=size,
        n=n,
        alpha=alpha,
        seed=seed,
    )


def _betting_bounds(gains: Mapping[str, PerTask], released: str, each: float, order: Order) -> ArchiveBounds:
    """`Δ` of the released benchmark is 0 by definition and needs no bound."""
    destroyed = [destruction(gains[released], of) for name, of in gains.items() if name != released]
    upper, sizes = [0.0], [len(tasks) for tasks in order]
    if destroyed:
        upper += upper_bounds(_rows(destroyed, order), DESTRUCTIONS, each, sizes).tolist()
    return ArchiveBounds(
        gamma_upper=max(upper),
        g_min_lower=float(lower_bounds(_rows([*gains.values()], order), GAINS, each, sizes).min()),
    )


def neutral_certificate(
    released_gain: PerTask, neutral_gain: PerTask, *, alpha: float, seed: int, clusters: Clusters = INDEPENDENT
) -> tuple[ArchiveBounds, ArchiveBounds]:
    """`Δ_BS` and `G_0` measured under `B_0` itself, by Hoeffding and by betting: Theorem 1 for the archive {`B_0`},
    whose `Γ` is `Δ_BS` and whose `G_min` is `G_0`.
    """
    order = _order(released_gain, clusters, seed)
    sizes, lost = [len(tasks) for tasks in order], destruction(released_gain, neutral_gain)
    hoeffding = hoeffding_bounds(
        gamma_hat=float(mean(lost)),
        g_min_hat=float(mean(neutral_gain)),
        n=independent_tasks(order),
        archive_size=1,
        alpha=alpha,
    )
    betting = ArchiveBounds(
        gamma_upper=float(upper_bounds(_rows([lost], order), DESTRUCTIONS, alpha / 4, sizes)[0]),
        g_min_lower=float(lower_bounds(_rows([neutral_gain], order), GAINS, alpha / 4, sizes)[0]),
    )
    return hoeffding, betting


def independent_tasks(order: Order) -> float:
    """The number of independent tasks that have Hoeffding's radius of these clusters: `n² / Σ n_c²`."""
    sizes = [len(tasks) for tasks in order]
    return sum(sizes) ** 2 / sum(size**2 for size in sizes)


def _order(tasks: Iterable[str], clusters: Clusters, seed: int) -> Order:
    """The clusters in the order of betting, which their first tasks' ids decide."""
    by_first = {own[0]: own for own in clustered(sorted(tasks), clusters)}
    return [by_first[first] for first in shuffled(by_first, seed)]


def _rows(measured: Sequence[PerTask], order: Order) -> Values:
    sums = [[sum((per_task[task] for task in tasks), Fraction(0)) for tasks in order] for per_task in measured]
    return np.array([[float(value) for value in row] for row in sums])
