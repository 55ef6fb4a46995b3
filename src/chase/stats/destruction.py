"""Gain `G_b`, gain destruction `Δ_b`, and over an archive `Γ` and `G_min`, from per-task means."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from chase.stats.bounded import GAINS
from chase.stats.estimates import (
    INDEPENDENT,
    Clusters,
    Estimate,
    PerTask,
    UnequalCoverage,
    clustered,
    difference,
    estimate,
    mean,
)

RESAMPLES, IN_A_TAIL = 2000, 25
"""Of a bootstrap: the fewest, and those that are to lie beyond each end of its interval."""


def gain(harness: PerTask, initial: PerTask) -> dict[str, Fraction]:
    """`Ĝ_b(H; H_0)` task by task: both under the same benchmark."""
    return difference(harness, initial)


def destruction(released_gain: PerTask, counterfactual_gain: PerTask) -> dict[str, Fraction]:
    """`Δ̂_b(H; H_0) = Ĝ_rel − Ĝ_b` task by task."""
    return difference(released_gain, counterfactual_gain)


def within(value: Fraction, tolerance: str) -> bool:
    """Whether a constraint `value ≤ ε` holds, decided exactly; the tolerance is a decimal in text."""
    return value <= Fraction(tolerance)


def reaches(value: Fraction, threshold: str) -> bool:
    """Whether a confirmation `value ≥ η` holds, decided exactly."""
    return value >= Fraction(threshold)


def reached_by_noise(found: Estimate, threshold: str) -> float | None:
    """How often a set of so many tasks with this spread reaches a threshold where the true value is 0.

    By the normal approximation; None where no two tasks differ, so that the spread is not known.
    """
    return 1 - NormalDist(0.0, found.se).cdf(float(threshold)) if found.se > 0 else None


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveSummary:
    """`Γ̂` and `Ĝ_min` over an archive that holds the released benchmark. `g_min + gamma = g_rel` exactly."""

    g_rel: Fraction
    gamma: Fraction
    g_min: Fraction
    worst: str
    """The archive entry with the largest gain destruction."""


def archive_summary(gains: Mapping[str, PerTask], *, released: str) -> ArchiveSummary:
    """The summary over an archive, given each entry's per-task gain by name."""
    if released not in gains:
        raise ValueError(f"the archive has no entry '{released}': it always holds the released benchmark")
    means = {name: mean(difference(per_task, _zero(gains[released]))) for name, per_task in gains.items()}
    g_rel = means[released]
    worst = min(means, key=lambda name: (means[name], name != released))
    return ArchiveSummary(g_rel=g_rel, gamma=g_rel - means[worst], g_min=means[worst], worst=worst)


def _zero(like: PerTask) -> dict[str, Fraction]:
    return dict.fromkeys(like, Fraction(0))


def excess_search_gain(search_gain: PerTask, test_gain: PerTask) -> Fraction:
    """`Δ̂_TS`: the gain on the search tasks less the gain on held-out ones. The two sets share no task."""
    if search_gain.keys() & test_gain.keys():
        raise UnequalCoverage("search and test tasks overlap")
    return mean(search_gain) - mean(test_gain)


def excess_estimate(search_gain: PerTask, test_gain: PerTask, *, clusters: Clusters = INDEPENDENT) -> Estimate:
    """`Δ̂_TS` with its standard error: the two task sets are independent. `n` counts the tasks of both.

    Its interval is put together from theirs: the distances to their ends add up as squares (Newcombe 1998; Zou and
    Donner 2008).
    """
    search, test = (estimate(per_task, GAINS, clusters=clusters) for per_task in (search_gain, test_gain))
    value = float(excess_search_gain(search_gain, test_gain))
    below = math.hypot(search.value - search.low, test.high - test.value)
    above = math.hypot(search.high - search.value, test.value - test.low)
    n, se = search.n + test.n, math.hypot(search.se, test.se)
    return Estimate(value=value, se=se, n=n, low=value - below, high=value + above, level=search.level)


def log_odds_destruction(
    cells: Sequence[PerTask],
    *,
    seed: int,
    level: float = 0.95,
    resamples: int | None = None,
    clusters: Clusters = INDEPENDENT,
) -> Estimate:
    """`Δ` on the log-odds scale, a diagnostic: a gain that scales with the base rate has none.

    `cells` are the per-task means of (H released, H_0 released, H counterfactual, H_0 counterfactual). The interval is
    a seeded bootstrap over clusters of tasks, with as many resamples as its level needs.
    """
    tasks = sorted(cells[0])
    if any(sorted(cell) != tasks for cell in cells):
        raise UnequalCoverage("the four cells do not cover the same tasks")
    groups = clustered(tasks, clusters)
    sums = [[sum(float(cell[task]) for task in group) for group in groups] for cell in cells]
    sizes = [len(group) for group in groups]
    draw, draws = random.Random(seed), []
    for _ in range(resamples or max(RESAMPLES, math.ceil(2 * IN_A_TAIL / (1 - level)))):
        chosen = draw.choices(range(len(groups)), k=len(groups))
        draws.append(_log_odds([[column[i] for i in chosen] for column in sums], sum(sizes[i] for i in chosen)))
    draws.sort()
    count = len(draws)
    spread = sum(draws) / count
    se = math.sqrt(sum((x - spread) ** 2 for x in draws) / (count - 1))
    low = draws[int((1 - level) / 2 * count)]
    high = draws[min(count - 1, int((1 + level) / 2 * count))]
    return Estimate(value=_log_odds(sums, len(tasks)), se=se, n=len(tasks), low=low, high=high, level=level)


def _log_odds(columns: Sequence[Sequence[float]], tasks: int) -> float:
    """logit R_rel(H) − logit R_rel(H_0) − logit R_b(H) + logit R_b(H_0), smoothed by (k + ½)/(n + 1)."""
    logits = []
    for column in columns:
        rate = (sum(column) + 0.5) / (tasks + 1)
        logits.append(math.log(rate / (1 - rate)))
    released, initial, counterfactual, initial_counterfactual = logits
    return released - initial - counterfactual + initial_counterfactual
