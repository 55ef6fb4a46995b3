"""A calibrated test of gain destruction: paired within task, looked at several times, its error spent over the looks.

Sign flips. Where a transformation does nothing on any task, released and counterfactual benchmark can be exchanged
within a task, so each task's `Δ̂` is as likely as its negative, and so is all that is known of it at every look. The
test compares `Σ Δ̂_i` with `Σ ±Δ̂_i` over all signs (or 10,000 of them, drawn once, where there are more): its size is
exact whatever the scores are, at the borders too, where a test by Student's t is not; with drawn signs it is within the
error of the draw (0.13 points at 1.67 %). Dividing by the standard error changes nothing: it grows with the sum,
because `Σ Δ̂_i²` is the same for all signs. Tasks, not rollouts, are flipped: tasks are what is sampled; of tasks that
depend on each other, their clusters' sums. Effects that differ between tasks and cancel out on average are another
matter: they may be rejected far more often (`studies.confirmation_nulls`).

Looks. After some of the rollouts of every task the test may end early. A path of signs counts as rejected at the first
look where it is extreme, and over all looks together no more than `α` of the paths are (Lan and DeMets 1983, "Discrete
sequential boundaries for clinical trials", with exact conditional probabilities in place of normal ones). What a look
leaves unspent, because few tasks differ, later looks have. Ending early for want of an effect is not needed for the
size: the test is valid if one goes on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

MOST_FLIPS = 10_000
"""Signs that are tried; all of them for up to 13 tasks."""
PLANNED = 0.15
"""The gain destruction that power is told for."""
WANTED_POWER, POOR_POWER = 0.8, 0.5
TIES = 1e-6
"""The weight of what decides between equal sums."""
FUTILE_SIDE = 1.2815515655446004
"""Standard errors above an estimate that the truth exceeds one time in ten."""

Step = Literal["reject", "futile", "go on", "accept"]


def looks(rollouts: int) -> tuple[int, ...]:
    """After how many rollouts of every task the test looks: two fifths, four fifths, all."""
    return tuple(sorted({max(1, math.ceil(rollouts * share / 5)) for share in (2, 4)} | {rollouts}))


def spent(alpha: float, share: float) -> float:
    """How much of the error may be spent when this share of the rollouts is there."""
    return alpha * share


def round_alpha(alpha: float, rounds_left: int) -> float:
    """What a round may spend of what is left: an even share. A round without a test leaves its share to later ones."""
    return alpha / rounds_left


@dataclass(frozen=True, kw_only=True, slots=True)
class Looked:
    """What the last look of several says."""

    step: Step
    used: float
    """The error that was used so far, at most what may be spent."""
    p: float
    """The smallest error at which this look would have rejected, given the looks before it."""


def sequential_sign_flip(values: Sequence[Sequence[float]], limits: Sequence[float]) -> Looked:
    """The test at the last of some looks.

    `values[k]` has every task's `Δ̂` at look `k`, in the same order at each; `limits[k]` is the error that all looks up
    to it may have spent. An earlier look must not have rejected: then there would be no later one.
    """
    flips = _flips(len(values[0]))
    alive = np.ones(len(flips), dtype=bool)
    used, p = 0, 1.0
    for seen, limit in zip(values, limits, strict=True):
        sums = _statistic(flips, np.asarray(seen, dtype=float))
        p = (used + int((alive & (sums >= sums[0])).sum())) / len(flips)
        rejected = alive & (sums > _boundary(sums[alive], int(limit * len(flips) + 1e-9) - used))
        used += int(rejected.sum())
        if rejected[0]:
            return Looked(step="reject", used=used / len(flips), p=p)
        alive &= ~rejected
    return Looked(step="go on", used=used / len(flips), p=p)


def sequential_look(seen: Sequence[Sequence[float]], *, rollouts: int, alpha: float, least: float) -> Looked:
    """The last of the looks so far, and whether the test goes on.

    `seen[k]` has every task's `Δ̂` after `looks(rollouts)[k]` of its rollouts; `least` is what is looked for.
    """
    counts = looks(rollouts)[: len(seen)]
    found = sequential_sign_flip(seen, [spent(alpha, count / rollouts) for count in counts])
    if found.step == "reject":
        return found
    if counts[-1] == rollouts:
        return replace(found, step="accept")
    last = np.asarray(seen[-1], dtype=float)
    se = float(last.std(ddof=1)) / math.sqrt(len(last)) if len(last) > 1 else 0.0
    return replace(found, step="futile") if futile(float(last.mean()), se, least) else found


def futile(value: float, se: float, least: float) -> bool:
    """Whether there is no use in going on: the estimate is not above 0, or is below what is looked for by so much that
    the truth reaches it one time in ten at most.
    """
    return value <= 0 or value + FUTILE_SIDE * se < least


@lru_cache(maxsize=8)
def _flips(tasks: int) -> Any:
    """Signs of so many tasks, those as observed first: all of them, or a fixed draw."""
    if 2**tasks <= MOST_FLIPS:
        codes = np.arange(2**tasks)[:, None] >> np.arange(tasks)
        return 1.0 - 2.0 * (codes & 1)
    signs = np.random.default_rng(tasks).integers(0, 2, size=(MOST_FLIPS, tasks)) * 2.0 - 1.0
    signs[0] = 1.0
    return signs


def _statistic(flips: Any, seen: Any) -> Any:
    """The sum under every choice of signs; among equal sums, more where it comes from more tasks."""
    spread = np.sign(seen) * np.sqrt(np.abs(seen))
    return np.round(flips @ seen + TIES * (flips @ spread), 12)


def _boundary(sums: Any, most: int) -> float:
    """The least bound that no more than so many sums are above."""
    if most >= len(sums):
        return -math.inf
    place = len(sums) - 1 - most
    return float(np.partition(sums, place)[place])
