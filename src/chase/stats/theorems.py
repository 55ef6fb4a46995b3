"""Theorem 1 of the paper, and what Theorems 1 to 3 have in common: its bounds on `B_0` from a finite archive.

Every function takes numbers and answers with numbers. A theorem holds under Condition S1 ("Theory and Proofs"), which
nobody can compute: task-level vectors independent, harness and archive fixed before the tasks are opened. What can be
checked is refused where it is impossible (`Impossible`), and told where it makes a bound say nothing (`vacuous`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

PLUG_IN = "plug-in, not a guarantee"
"""The label of a bound that uses an estimate of ρ or r in the place of the supremum."""
VACUOUS = "vacuous"
"""The label of a bound that excludes nothing that was possible before."""
LARGEST_DESTRUCTION, LEAST_GAIN = 2.0, -1.0
"""No gain destruction is above the one and no gain below the other, whatever was measured."""


class Impossible(ValueError):
    """A number that the paper's statement cannot have; says which, and what it must be."""

    def __init__(self, name: str, value: float, must: str) -> None:
        super().__init__(f"{name}={value:g} {must}")
        self.name, self.value, self.must = name, value, must


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveBounds:
    """What holds of a fixed archive whatever K is: `Γ_A ≤ gamma_upper` and `G_min,A ≥ g_min_lower`, together, with
    probability `1 − α/2` (the last display of Theorem 1's proof before `B_0` comes in).
    """

    gamma_upper: float
    g_min_lower: float


@dataclass(frozen=True, kw_only=True, slots=True)
class NeutralBounds:
    """Theorem 1: `Δ_BS ≤ delta_bs_upper` and `G_0 ≥ g0_lower`, together, with probability `1 − α/2`."""

    delta_bs_upper: float
    g0_lower: float

    @property
    def vacuous(self) -> tuple[str, ...]:
        """The names of the bounds that say nothing: every `Δ_BS` is at most 2 and every `G_0` at least −1."""
        said = {
            "delta_bs_upper": self.delta_bs_upper < LARGEST_DESTRUCTION,
            "g0_lower": self.g0_lower > LEAST_GAIN,
        }
        return tuple(name for name, something in said.items() if not something)


def destruction_radius(n: float, archive_size: int, alpha: float) -> float:
    """`s_Δ = √(8 log(4|A|/α)/n)`, one-sided and for all entries together (proof of Theorem 1)."""
    return math.sqrt(8 * _log_of_entries(n, archive_size, alpha) / n)


def gain_radius(n: float, archive_size: int, alpha: float) -> float:
    """`s_G = √(2 log(4|A|/α)/n)`, half of `s_Δ`: gains lie in [−1, 1] and gain destructions in [−2, 2]."""
    return math.sqrt(2 * _log_of_entries(n, archive_size, alpha) / n)


def hoeffding_bounds(*, gamma_hat: float, g_min_hat: float, n: float, archive_size: int, alpha: float) -> ArchiveBounds:
    """`Γ_A ≤ Γ̂ + s_Δ` and `G_min,A ≥ Ĝ_min − s_G` (proof of Theorem 1)."""
    between("gamma_hat", gamma_hat, -2, 2)
    between("g_min_hat", g_min_hat, -1, 1)
    return ArchiveBounds(
        gamma_upper=gamma_hat + destruction_radius(n, archive_size, alpha),
        g_min_lower=g_min_hat - gain_radius(n, archive_size, alpha),
    )


def neutral_bounds(archive: ArchiveBounds, *, k: int, rho: float = 0.0) -> NeutralBounds:
    """Theorem 1 from bounds on the archive, whichever intervals they come from.

    `Δ_BS ≤ KΓ_A + (K − 1)ρ` (Equation A.3) and `G_0 ≥ G_min,A − (K − 1)(Γ_A + ρ)`, with the bounds put in for `Γ_A`
    and `G_min,A`. At `K = 1`, where `B_0` is in the archive, no term has ρ.
    """
    at_least("k", k, 1)
    at_least("rho", rho, 0)
    excess = (k - 1) * rho if k > 1 else 0.0
    spread = (k - 1) * archive.gamma_upper + excess
    return NeutralBounds(
        delta_bs_upper=k * archive.gamma_upper + excess,
        g0_lower=archive.g_min_lower - spread if k > 1 else archive.g_min_lower,
    )


def _log_of_entries(n: float, archive_size: int, alpha: float) -> float:
    at_least("n", n, 1)
    at_least("archive_size", archive_size, 1)
    a_share("alpha", alpha)
    return math.log(4 * archive_size / alpha)


def a_share(name: str, value: float) -> None:
    """Refuse what is not strictly between 0 and 1."""
    if not 0 < value < 1:
        raise Impossible(name, value, "must lie between 0 and 1, such as 0.05")


def at_least(name: str, value: float, least: float) -> None:
    """Refuse what is below, infinite or no number."""
    if not (value >= least and math.isfinite(value)):
        raise Impossible(name, value, f"must be a number of at least {least:g}")


def between(name: str, value: float, low: float, high: float) -> None:
    """Refuse what is outside; scores and gains are fractions."""
    if not low <= value <= high:
        raise Impossible(name, value, f"must lie between {low:g} and {high:g}: a fraction, not percent")
