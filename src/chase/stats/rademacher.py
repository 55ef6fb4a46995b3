"""The Rademacher term `ℜ_D` of a search set, estimated on the harnesses and counterfactuals that were evaluated.

`ℜ_D` is an expectation over tasks of a supremum over *all* harnesses and *all* valid counterfactuals. What can be had
is the supremum over those that a run evaluated, on the tasks that it has, so the estimate is on the low side and a
bound that uses it is a plug-in and no guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
"""A row for each harness, or for each pair of harness and counterfactual; a column for each task, in the same order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rademacher:
    """`ℜ̂_D` with the standard error of its simulation, and over how much it is a maximum."""

    value: float
    se: float
    tasks: int
    harnesses: int
    pairs: int


def empirical_rademacher(released: Rows, destructions: Rows, *, seed: int, draws: int = 4000) -> Rademacher:
    """`E_σ max{sup_H |Σσ_i r_i|, sup_{H,b} |Σσ_i δ_{b,i}|} / n` (the definition before Lemma 1), over signs σ that the
    seed decides. `released` are scores under `B_rel`, `destructions` the task-level gain destructions.
    """
    n = released.shape[1]
    if not n or not len(released):
        raise ValueError("no harness was evaluated on any task")
    if destructions.size and destructions.shape[1] != n:
        raise ValueError("scores and gain destructions are not those of the same tasks")
    rows = np.concatenate([released, destructions]) if destructions.size else released
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=(draws, n))
    largest = np.abs(signs @ rows.T).max(axis=1) / n
    return Rademacher(
        value=float(largest.mean()),
        se=float(largest.std(ddof=1)) / math.sqrt(draws),
        tasks=n,
        harnesses=len(released),
        pairs=len(destructions),
    )
