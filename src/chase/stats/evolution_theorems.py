"""Lemma 1 and Theorems 2 and 3 of the paper: what rounds of search and confirmation allow to conclude.

All three hold on the same event, of probability `1 − α/2` (Lemma 1). They need the search radius `r`, in which the
Rademacher term `ℜ_D` is unknown for any real class of harnesses: `rademacher.py` has an estimate, and whatever uses it
is a plug-in and no guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from chase.stats.theorems import LARGEST_DESTRUCTION, Impossible, a_share, at_least

LARGEST_SHORTFALL = 1.0
"""No harness scores more than this below another, whatever was measured."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSet:
    """`D_evo` or `D_disc`: its size and its Rademacher term `ℜ_D`."""

    n: int
    rademacher: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfirmedRounds:
    """Theorem 2: at most `most` rounds are confirmed; `most` is infinite where a float cannot hold it."""

    most: float
    rounds: int

    @property
    def stops(self) -> bool:
        """The consequence: `T > (C/(γ − r))^d`, so at least one round of `T` is not confirmed."""
        return self.rounds > self.most

    @property
    def vacuous(self) -> bool:
        """No more than `T` rounds are confirmed anyway."""
        return not self.stops


@dataclass(frozen=True, kw_only=True, slots=True)
class UnconfirmedRound:
    """Theorem 3 at a round with `Conf_t = 0`: `sup Δ_b(H_t) < destruction_upper` over all of `B_val`, and
    `G_rel(H_t)` is at most `shortfall` below the best harness whose every `Δ_b` is at most `comparison_tolerance`.
    """

    destruction_upper: float
    shortfall: float
    """`2r`."""
    comparison_tolerance: float
    """`ε − r`."""

    @property
    def empty_comparison(self) -> bool:
        """Whether no harness is compared with. `B_rel` is in `B_val` and every `Δ_rel` is 0: below 0 nothing is left,
        and from 0 on `H_0` is there.
        """
        return self.comparison_tolerance < 0

    @property
    def vacuous(self) -> tuple[str, ...]:
        """The names of the inequalities that say nothing."""
        said = {
            "destruction_upper": self.destruction_upper <= LARGEST_DESTRUCTION,
            "shortfall": not self.empty_comparison and self.shortfall < LARGEST_SHORTFALL,
        }
        return tuple(name for name, something in said.items() if not something)


def search_radius(sets: Iterable[SearchSet], alpha: float) -> float:
    """`r = max_D {2ℜ_D + √(8 log(8/α)/|D|)}` over evo and disc (Equation A.1)."""
    return max(2 * _complexity(held) + _deviation(held.n, alpha) for held in sets)


def confirmation_radius(n: int, rounds: int, alpha: float) -> float:
    """`x_t = √(8 log(8T/α)/|D_conf,t|)` (Equation A.1)."""
    at_least("n", n, 1)
    at_least("rounds", rounds, 1)
    a_share("alpha", alpha)
    return math.sqrt(8 * math.log(8 * rounds / alpha) / n)


def confirmation_threshold(*, epsilon: float, gamma: float, radius: float) -> float:
    """`η_conf,t = ε + γ + x_t`: the threshold that Theorems 2 and 3 are about. No Δ̂ is above 2."""
    at_least("epsilon", epsilon, 0)
    a_margin(gamma)
    return epsilon + gamma + radius


def confirmed_rounds(*, c: float, d: float, gamma: float, r: float, rounds: int) -> ConfirmedRounds | None:
    """Theorem 2's bound `(C/(γ − r))^d`; None where `r ≥ γ`: then the theorem does not apply.

    `C` and `d` are those of the packing condition, an assumption about the harnesses that could be proposed.
    """
    at_least("c", c, 1)
    if not 0 < d < math.inf:
        raise Impossible("d", d, "must be a number above 0")
    a_margin(gamma)
    at_least("r", r, 0)
    at_least("rounds", rounds, 1)
    if r >= gamma:
        return None
    try:
        most = (c / (gamma - r)) ** d
    except OverflowError:
        most = math.inf
    return ConfirmedRounds(most=most, rounds=rounds)


def unconfirmed_round(*, epsilon: float, gamma: float, r: float, radius: float) -> UnconfirmedRound:
    """Theorem 3: `ε + γ + 2r + 2x_t`, and `2r` against harnesses with every `Δ_b ≤ ε − r`."""
    at_least("epsilon", epsilon, 0)
    a_margin(gamma)
    at_least("r", r, 0)
    return UnconfirmedRound(
        destruction_upper=epsilon + gamma + 2 * r + 2 * radius, shortfall=2 * r, comparison_tolerance=epsilon - r
    )


def a_margin(gamma: float) -> None:
    """Refuse a `γ` that is not in (0, 1]."""
    if not 0 < gamma <= 1:
        raise Impossible("gamma", gamma, "must lie above 0 and be at most 1")


def _complexity(held: SearchSet) -> float:
    at_least("rademacher", held.rademacher, 0)
    return held.rademacher


def _deviation(n: int, alpha: float) -> float:
    at_least("n", n, 1)
    a_share("alpha", alpha)
    return math.sqrt(8 * math.log(8 / alpha) / n)
