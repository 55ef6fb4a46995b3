"""Do intervals hold where tasks are not independent? Coverage and width by simulation.

`python -m studies.clusters` draws gains of -1, 0 and 1 in clusters of tasks, makes 95 % intervals of each sample with
the clusters (as results are told) and as if tasks were independent, and counts on which side the true mean is missed.
The bounds by betting, which are proved, are beside them. A few minutes on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chase.stats import betting
from chase.stats.bounded import GAINS, both_bounds, weighted, weighted_clusters
from chase.stats.estimates import FEW_CLUSTERS
from studies.reader_scores import write

LEVEL, SEED = 0.95, 131
TASKS = (112, 448)
UNEQUAL, UNEQUAL_SHARES = (1, 2, 4, 12), (0.4, 0.3, 0.2, 0.1)
Sizes = NDArray[np.int64]
Clusters = list[list[float]]
"""The gains of each one's tasks."""
Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Case:
    """How tasks come in clusters."""

    what: str
    sizes: Callable[[np.random.Generator, int], Sizes]
    """Of the clusters of so many tasks."""
    correlation: float
    won: float = 0.16
    lost: float = 0.04
    larger_gain: float = 0.0
    """What the tasks of clusters of more than two tasks gain beyond the others: their size then tells something."""

    def draw(self, rng: np.random.Generator, tasks: int) -> Clusters:
        """Each task has its cluster's draw with probability `√correlation`, and else one of its own."""
        found = []
        for size in self.sizes(rng, tasks).tolist():
            won = self.won + (self.larger_gain if size > 2 else 0.0)
            draws = rng.choice([-1, 0, 1], size=size + 1, p=[self.lost, 1 - self.lost - won, won])
            common = rng.random(size) < self.correlation**0.5
            found.append(np.where(common, draws[0], draws[1:]).astype(float).tolist())
        return found

    def mean(self) -> float:
        """Of a task."""
        gain = self.won - self.lost
        if not self.larger_gain:
            return gain
        shares = dict(zip(UNEQUAL, UNEQUAL_SHARES, strict=True))
        tasks = sum(size * share for size, share in shares.items())
        return gain + self.larger_gain * sum(size * share for size, share in shares.items() if size > 2) / tasks


def of(size: int) -> Callable[[np.random.Generator, int], Sizes]:
    return lambda _, tasks: np.full(tasks // size, size)


def few(count: int) -> Callable[[np.random.Generator, int], Sizes]:
    return lambda _, tasks: np.full(count, tasks // count)


def unequal(rng: np.random.Generator, tasks: int) -> Sizes:
    """About so many tasks: the clusters are drawn with their sizes."""
    return rng.choice(UNEQUAL, size=round(tasks / float(np.dot(UNEQUAL, UNEQUAL_SHARES))), p=UNEQUAL_SHARES)


def one_with_half(_: np.random.Generator, tasks: int) -> Sizes:
    return np.array([tasks // 2] + [1] * (tasks - tasks // 2))


CASES = {
    "independent": Case(what="independent", sizes=of(1), correlation=0.0),
    "fours": Case(what="clusters of four, correlation 0.3", sizes=of(4), correlation=0.3),
    "fours, equal": Case(what="clusters of four, tasks equal", sizes=of(4), correlation=1.0),
    "unequal": Case(what="clusters of 1, 2, 4, 12, correlation 0.3", sizes=unequal, correlation=0.3),
    "unequal, larger gain": Case(
        what="the same, larger ones gain 20 points more", sizes=unequal, correlation=0.3, larger_gain=0.2
    ),
    "unequal, rare losses": Case(
        what="the same sizes, all tasks of 3 % of the clusters lose and none gain",
        sizes=unequal,
        correlation=1.0,
        won=0.0,
        lost=0.03,
    ),
    "one with half": Case(
        what="one source with half of the tasks, correlation 0.3", sizes=one_with_half, correlation=0.3
    ),
    "one with half, equal": Case(
        what="one source with half of the tasks, its tasks equal", sizes=one_with_half, correlation=1.0
    ),
    "few": Case(what=f"{FEW_CLUSTERS} equal clusters, correlation 0.3", sizes=few(FEW_CLUSTERS), correlation=0.3),
    "eight": Case(what="8 equal clusters, correlation 0.3", sizes=few(8), correlation=0.3),
}


def clustered(clusters: Clusters) -> Interval:
    return both_bounds(weighted_clusters((sum(tasks), len(tasks)) for tasks in clusters), GAINS, level=LEVEL)


def as_independent(clusters: Clusters) -> Interval:
    return both_bounds(weighted(value for tasks in clusters for value in tasks), GAINS, level=LEVEL)


def by_betting(clusters: Clusters) -> Interval:
    sums, sizes = [[sum(tasks) for tasks in clusters]], [len(tasks) for tasks in clusters]
    each = (1 - LEVEL) / 2
    low, high = (bounds(sums, GAINS, each, sizes) for bounds in (betting.lower_bounds, betting.upper_bounds))
    return float(low[0]), float(high[0])


METHODS: Mapping[str, Callable[[Clusters], Interval]] = {
    "clusters": clustered,
    "independent": as_independent,
    "betting": by_betting,
}


def study(case: Case, tasks: int, draws: int) -> dict[str, Any]:
    """Of each method how often the mean is missed below and above, and how wide its intervals are on average."""
    rng, mean = np.random.default_rng(SEED), case.mean()
    samples = [case.draw(rng, tasks) for _ in range(draws)]
    found: dict[str, Any] = {"cluster_count": float(np.mean([len(sample) for sample in samples]))}
    for name, method in METHODS.items():
        ends = np.array([method(sample) for sample in samples])
        below, above = float(np.mean(mean < ends[:, 0])), float(np.mean(mean > ends[:, 1]))
        covered = round(1 - below - above, 4)
        width = round(float(np.mean(ends[:, 1] - ends[:, 0])), 4)
        found[name] = {"misses_below": below, "misses_above": above, "covered": covered, "width": width}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    cases = {}
    for name, case in CASES.items():
        sizes = {str(tasks): study(case, tasks, draws) for tasks in TASKS}
        cases[name] = {"what": case.what, "mean": case.mean(), "tasks": sizes}
        for tasks, found in sizes.items():
            told = ", ".join(f"{of} {100 * found[of]['covered']:.1f} % ({found[of]['width']:.3f})" for of in METHODS)
            print(f"{name:<20} {tasks:>3} tasks, {found['cluster_count']:.0f} clusters: {told}", flush=True)  # noqa: T201
    write("clusters", {"level": LEVEL, "draws": draws, "seed": SEED, "cases": cases})


if __name__ == "__main__":
    main()
