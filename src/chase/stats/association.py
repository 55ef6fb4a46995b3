"""Whether something goes with being chosen: rank tests within blocks, and how many of them may be wrong.

A block holds what is compared with each other: the documents of a task, of which some are evidence, or the windows of a
document. Each item has a score, its mid-rank within its block between −½ and ½; the statistic of an observable is the
sum of the scores of the chosen items. Under the null the choice has nothing to do with the scores, so other choices of
as many items were as likely: the permutation test, exact for any scores where blocks are independent.

Where they are not (tasks share a document, or a source), they come in clusters, of unequal sizes. Drawing blocks anew
one by one then finds far too much, and so does turning the signs of whole clusters round, where scores are skewed: ten
documents that are all the evidence and none of which has a rare value are no surprise. What holds is that a cluster's
mean is 0 whatever its blocks share: Gaffke's bound on independent clusters (`bounded.py`) gives a second p-value, and
the larger one counts.

Permutations are drawn `DRAWS` times and the observed choice is counted among them, `(1 + hits) / (1 + draws)`, which
holds its level whatever the number of draws (Phipson and Smyth 2010, "Permutation P-values Should Never Be Zero").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from chase.stats.bounded import SCORES, interval, probability_at_most, weighted

DRAWS = 9_999
CHUNK = 1_000
"""Draws that are in memory at a time."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Items that are compared with each other, in a fixed order."""

    chosen: tuple[bool, ...]
    cluster: str
    """Blocks of one cluster are not independent."""

    @property
    def size(self) -> int:
        return len(self.chosen)

    @property
    def count(self) -> int:
        """Of chosen items."""
        return sum(self.chosen)


@dataclass(frozen=True, kw_only=True, slots=True)
class Superiority:
    """The probability that a chosen item has a higher value than another of its block; a tie counts one half."""

    value: float
    low: float
    high: float
    blocks: int
    """In which something is known of a chosen and of another item."""


class Choices:
    """What was chosen in each block, with the draws against which it is held. The same for all observables."""

    def __init__(self, blocks: Sequence[Block], *, seed: int = 0, draws: int = DRAWS) -> None:
        """Blocks in which all or none are chosen say nothing: leave them out."""
        self.blocks = tuple(blocks)
        self.draws = draws
        self._seed = seed
        self._chosen = np.array([flag for block in blocks for flag in block.chosen], dtype=bool)

    @cached_property
    def clusters(self) -> tuple[tuple[int, ...], ...]:
        """The places of the blocks of each cluster."""
        places: dict[str, list[int]] = {}
        for place, block in enumerate(self.blocks):
            places.setdefault(block.cluster, []).append(place)
        return tuple(map(tuple, places.values()))

    @property
    def independent(self) -> bool:
        return len(self.clusters) == len(self.blocks)

    def p_values(self, scores: Numbers) -> Numbers:
        """Two-sided, one for each column. `scores` has a row for each item, block after block."""
        if not self.blocks or not scores.shape[1]:
            return np.ones(scores.shape[1])
        observed = np.abs(scores[self._chosen].sum(axis=0)) - 1e-9
        hits = np.zeros(scores.shape[1])
        for labels in self._drawn:
            hits += (np.abs(labels.astype(np.float32) @ scores) >= observed).sum(axis=0)
        drawn: Numbers = (1 + hits) / (1 + self.draws)
        return drawn if self.independent else np.maximum(drawn, self._by_cluster(scores))

    def statistic(self, scores: Numbers) -> float:
        """The sum over the chosen items of one column."""
        return float(scores[self._chosen].sum())

    @cached_property
    def _drawn(self) -> list[NDArray[np.bool_]]:
        """As many of each block as were chosen, drawn anew."""
        rng = np.random.default_rng([self._seed, 1])
        parts = []
        for start in range(0, self.draws, CHUNK):
            rows = min(CHUNK, self.draws - start)
            columns = [_subsets(rng, rows, block.size, block.count) for block in self.blocks]
            parts.append(np.concatenate(columns, axis=1))
        return parts

    def _by_cluster(self, scores: Numbers) -> Numbers:
        """P-value of a mean over clusters of 0, one for each column. Clusters of any size count alike."""
        ends = np.cumsum([block.size for block in self.blocks])[:-1]
        parts = zip(np.split(scores, ends), np.split(self._chosen, ends), strict=True)
        blocks = np.array([part[flags].mean(axis=0) for part, flags in parts])
        means = np.array([blocks[list(own)].mean(axis=0) for own in self.clusters])
        return np.array([_mean_is_zero(means[:, place], scores[:, place]) for place in range(scores.shape[1])])

    def superiority(self, values: Sequence[float | None], *, level: float) -> Superiority | None:
        """The effect of one observable, with the wider of the intervals over blocks and over clusters.

        None where nothing is known of both a chosen and another item of any block.
        """
        by_block = self._by_block(values)
        known = [value for value in by_block if value is not None]
        if not known:
            return None
        owned = [[value for place in own if (value := by_block[place]) is not None] for own in self.clusters]
        means = [sum(own) / len(own) for own in owned if own]
        ranges = [interval(each, SCORES, level=level) for each in (known, means)]
        return Superiority(
            value=sum(known) / len(known),
            low=min(low for low, _ in ranges),
            high=max(high for _, high in ranges),
            blocks=len(known),
        )

    def _by_block(self, values: Sequence[float | None]) -> list[float | None]:
        found, start = [], 0
        for block in self.blocks:
            own = values[start : start + block.size]
            found.append(_superior(own, block.chosen))
            start += block.size
        return found

    def scores(self, values: Sequence[float | None]) -> list[float]:
        """Each item's mid-rank within its block, from −½ to ½; 0 where nothing is known of it."""
        found: list[float] = []
        start = 0
        for block in self.blocks:
            found += rank_scores(values[start : start + block.size])
            start += block.size
        return found


def _mean_is_zero(means: Numbers, scores: Numbers) -> float:
    """The two-sided p-value of Gaffke's bound on clusters' means, which lie between the scores."""
    low, high = float(scores.min()), float(scores.max())
    if low == high:
        return 1.0
    kept = np.clip(means, low, high).tolist()
    above = probability_at_most(0.0, weighted(kept), high)
    below = probability_at_most(0.0, weighted(-mean for mean in kept), -low)
    return min(1.0, 2 * (1 - max(above, below)))


def _subsets(rng: np.random.Generator, rows: int, size: int, count: int) -> NDArray[np.bool_]:
    """In each row as many as said, anywhere."""
    keys = rng.random((rows, size))
    least = np.partition(keys, count - 1, axis=1)[:, count - 1 : count]
    chosen: NDArray[np.bool_] = keys <= least
    return chosen


def _superior(values: Sequence[float | None], chosen: Sequence[bool]) -> float | None:
    own = [v for v, flag in zip(values, chosen, strict=True) if flag and v is not None]
    others = [v for v, flag in zip(values, chosen, strict=True) if not flag and v is not None]
    if not own or not others:
        return None
    return sum((a > b) + (a == b) / 2 for a in own for b in others) / (len(own) * len(others))


def mid_ranks(values: Sequence[float]) -> list[float]:
    """Each value's rank from 0; equal ones share the middle of theirs."""
    count = Counter(values)
    below, ranks = 0, {}
    for value in sorted(count):
        ranks[value] = below + (count[value] - 1) / 2
        below += count[value]
    return [ranks[value] for value in values]


def rank_scores(values: Sequence[float | None]) -> list[float]:
    """Mid-ranks among the known values, from −½ to ½; 0 where a value is not known."""
    known = [value for value in values if value is not None]
    ranks = iter(mid_ranks(known))
    middle, span = (len(known) - 1) / 2, max(1, len(known) - 1)
    return [0.0 if value is None else (next(ranks) - middle) / span for value in values]


@dataclass(frozen=True, kw_only=True, slots=True)
class Correlation:
    """Of ranks among equals, with its interval by Fisher's transformation, which is approximate."""

    value: float
    low: float
    high: float
    p: float
    n: int
    """Rows that have an equal."""


def rank_correlations(
    columns: Mapping[str, Sequence[float]],
    target: Sequence[float],
    sizes: Sequence[int],
    *,
    level: float,
    seed: int = 0,
    draws: int = DRAWS,
) -> dict[str, Correlation]:
    """Each column's rank correlation with the target; its p-value from the target's values shuffled between equals.

    A row is the mean of so many values as `sizes` says, and varies accordingly: only rows of one size may change
    places. Ranks are over all rows and less their mean over those of a size; a row without an equal says nothing.
    """
    strata = _strata(sizes)
    n, free = sum(map(len, strata)), sum(len(stratum) - 1 for stratum in strata)
    if free < 3 or not columns:
        return {}
    places = np.concatenate(strata)
    matrix = np.array([_standard(column, strata) for column in columns.values()]).T
    wanted = _standard(target, strata)
    values = wanted @ matrix
    rng, hits = np.random.default_rng([seed, 3]), np.zeros(len(columns))
    for start in range(0, draws, CHUNK):
        rows = min(CHUNK, draws - start)
        shuffled = [rng.permuted(np.tile(wanted[stratum], (rows, 1)), axis=1) for stratum in strata]
        hits += (np.abs(np.concatenate(shuffled, axis=1) @ matrix[places]) >= np.abs(values) - 1e-9).sum(axis=0)
    z = NormalDist().inv_cdf(1 - (1 - level) / 2) / max(1, free - 2) ** 0.5
    found = {}
    for name, value, hit in zip(columns, values.tolist(), hits.tolist(), strict=True):
        middle = np.arctanh(np.clip(value, -0.999999, 0.999999))
        low, high = np.tanh(middle - z), np.tanh(middle + z)
        found[name] = Correlation(
            value=value, low=min(value, float(low)), high=max(value, float(high)), p=(1 + hit) / (1 + draws), n=n
        )
    return found


def _strata(sizes: Sequence[int]) -> list[NDArray[np.int64]]:
    """The places of each size that more than one row has."""
    found = [np.flatnonzero(np.array(sizes) == size) for size in sorted(set(sizes))]
    return [places for places in found if len(places) > 1]


def _standard(values: Sequence[float], strata: Sequence[NDArray[np.int64]]) -> Numbers:
    """Ranks with mean 0 in each stratum, 0 outside, and length 1; all 0 where the values of each are the same."""
    ranks, centred = np.array(mid_ranks(list(values))), np.zeros(len(values))
    for places in strata:
        centred[places] = ranks[places] - ranks[places].mean()
    length = float(np.sqrt((centred**2).sum()))
    return centred / length if length else centred


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values: with those at most α taken as findings, the chance of any false one is at most α.

    Holm's step-down procedure. It holds however the tests depend on each other.
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted, largest = [1.0] * len(p_values), 0.0
    for step, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[place]))
        adjusted[place] = largest
    return adjusted
