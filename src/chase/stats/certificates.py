"""What sealed tasks certify about a fixed archive, by Hoeffding's inequality as the paper does and by betting.

Both say the same thing at the same level: with probability `1 − α/2` every `Δ_b` and every `G_b` of the archive is
within its bound, each side of each entry at `α/(4|A|)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from chase.stats.betting import Values, lower_bounds, shuffled, upper_bounds
from chase.stats.bounded import DESTRUCTIONS, GAINS
from chase.stats.destruction import archive_summary, destruction
from chase.stats.estimates import PerTask
from chase.stats.theorems import ArchiveBounds, destruction_radius, gain_radius, hoeffding_bounds


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


def certificate(gains: Mapping[str, PerTask], *, released: str, alpha: float, seed: int) -> Certificate:
    """The certificate of an archive, given each entry's gain task by task; the released benchmark is one of them."""
    summary, n, size = archive_summary(gains, released=released), len(gains[released]), len(gains)
    return Certificate(
        hoeffding=hoeffding_bounds(
            gamma_hat=float(summary.gamma), g_min_hat=float(summary.g_min), n=n, archive_size=size, alpha=alpha
        ),
        betting=_betting_bounds(gains, released, alpha / (4 * size), seed),
        s_delta=destruction_radius(n, size, alpha),
        s_g=gain_radius(n, size, alpha),
        archive_size=size,
        n=n,
        alpha=alpha,
        seed=seed,
    )


def _betting_bounds(gains: Mapping[str, PerTask], released: str, each: float, seed: int) -> ArchiveBounds:
    """`Δ` of the released benchmark is 0 by definition and needs no bound."""
    order = shuffled(sorted(gains[released]), seed)
    destroyed = [destruction(gains[released], of) for name, of in gains.items() if name != released]
    upper = [0.0]
    if destroyed:
        upper += upper_bounds(_rows(destroyed, order), DESTRUCTIONS, each).tolist()
    return ArchiveBounds(
        gamma_upper=max(upper),
        g_min_lower=float(lower_bounds(_rows([*gains.values()], order), GAINS, each).min()),
    )


def neutral_certificate(
    released_gain: PerTask, neutral_gain: PerTask, *, alpha: float, seed: int
) -> tuple[ArchiveBounds, ArchiveBounds]:
    """`Δ_BS` and `G_0` measured under `B_0` itself, by Hoeffding and by betting: Theorem 1 for the archive {`B_0`},
    whose `Γ` is `Δ_BS` and whose `G_min` is `G_0`.
    """
    order = shuffled(sorted(released_gain), seed)
    destroyed = _rows([destruction(released_gain, neutral_gain)], order)
    gained = _rows([neutral_gain], order)
    hoeffding = hoeffding_bounds(
        gamma_hat=float(destroyed.mean()), g_min_hat=float(gained.mean()), n=len(order), archive_size=1, alpha=alpha
    )
    betting = ArchiveBounds(
        gamma_upper=float(upper_bounds(destroyed, DESTRUCTIONS, alpha / 4)[0]),
        g_min_lower=float(lower_bounds(gained, GAINS, alpha / 4)[0]),
    )
    return hoeffding, betting


def _rows(measured: Sequence[PerTask], order: list[str]) -> Values:
    return np.array([[float(per_task[task]) for task in order] for per_task in measured])
