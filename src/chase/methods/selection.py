"""Constrained selection: the harness with the highest released score among those that keep every constraint.

Equation (Proposer update) and (final selection) of the paper, on estimates. Comparisons are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from chase.stats.destruction import within


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """A harness's estimates on `D_evo`."""

    name: str
    released: Fraction
    """`R̂_rel`."""
    gain: Fraction
    """`Ĝ_rel` over `H_0`."""
    destruction: Mapping[str, Fraction]
    """`Δ̂_b` for every archived counterfactual."""

    def violated(self, epsilon: str | None) -> tuple[str, ...]:
        """The archived counterfactuals whose constraint `Δ̂_b ≤ ε` it breaks; without `ε` there are none."""
        if epsilon is None:
            return ()
        return tuple(name for name, delta in self.destruction.items() if not within(delta, epsilon))


def select(pool: Sequence[Standing], epsilon: str | None) -> Standing:
    """The feasible standing with the highest released score; ties go to the earlier one.

    `H_0` comes first in every pool and breaks no constraint, so there is always one.
    """
    feasible = [standing for standing in pool if not standing.violated(epsilon)]
    return max(feasible, key=lambda standing: standing.released)
