"""Whether something goes with being chosen: rank tests within blocks, and how many of them may be wrong.

A block holds what is compared with each other: the documents of a task, of which some are evidence, or the windows of a
document. Each item has a score, its mid-rank within its block between −½ and ½; the statistic of an observable is the
sum of the scores of the chosen items. Under the null the choice has nothing to do with the scores, so other choices of
as many items were as likely: the permutation test, exact for any scores. Where items of several blocks belong together
(one document is the evidence of many tasks), blocks are not independent, and the same sum is also taken apart by those
clusters, whose signs are as likely turned round. The larger of the p-values counts.

Both draw `DRAWS` times and count the observed choice among them, `(1 + hits) / (1 + draws)`, which holds its level
whatever the number of draws (Phipson and Smyth 2010, "Permutation P-values Should Never Be Zero").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from chase.stats.bounded import SCORES, interval

DRAWS = 9_999
CHUNK = 1_000
"""Draws that are in memory at a time."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Items that are compared with each other, in a fixed order."""

    chosen: tuple[bool, ...]
    clusters: Mapping[str, tuple[str, ...]]
    """What else an item belongs to, by kind: items of one cluster are not independent, whatever their blocks."""

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
    def clusterings(self) -> Mapping[str, NDArray[np.int64]]:
        """Kind → the cluster of each chosen item, of those that bind blocks together."""
        found = {}
        for kind in sorted({kind for block in self.blocks for kind in block.clusters}):
            members = [
                (place, name)
                for place, block in enumerate(self.blocks)
                for name, flag in zip(block.clusters[kind], block.chosen, strict=True)
                if flag
            ]
            if max(Counter(name for _, name in set(members)).values(), default=0) > 1:
                numbers = {name: number for number, name in enumerate(sorted({name for _, name in members}))}
                found[kind] = np.array([numbers[name] for _, name in members])
        return found

    def p_values(self, scores: Numbers) -> Numbers:
        """Two-sided, one for each column. `scores` has a row for each item, block after block."""
        if not self.blocks or not scores.shape[1]:
            return np.ones(scores.shape[1])
        observed = np.abs(scores[self._chosen].sum(axis=0)) - 1e-9
        hits = np.zeros(scores.shape[1])
        for labels in self._drawn:
            hits += (np.abs(labels.astype(np.float32) @ scores) >= observed).sum(axis=0)
        worst = (1 + hits) / (1 + self.draws)
        for kind, clusters in self.clusterings.items():
            worst = np.maximum(worst, self._by_sign(kind, clusters, scores[self._chosen], observed))
        return worst

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

    def _by_sign(self, kind: str, clusters: NDArray[np.int64], scores: Numbers, observed: Numbers) -> Numbers:
        """The same test with the signs of whole clusters turned round."""
        sums = np.zeros((int(clusters.max()) + 1, scores.shape[1]))
        np.add.at(sums, clusters, scores)
        rng = np.random.default_rng([self._seed, 2, len(kind), len(sums)])
        hits = np.zeros(scores.shape[1])
        for start in range(0, self.draws, CHUNK):
            signs = rng.integers(0, 2, (min(CHUNK, self.draws - start), len(sums))) * 2.0 - 1.0
            hits += (np.abs(signs @ sums) >= observed).sum(axis=0)
        counted: Numbers = (1 + hits) / (1 + self.draws)
        return counted

    def superiority(self, values: Sequence[float | None], *, level: float) -> Superiority | None:
        """The effect of one observable, with the widest of the intervals over blocks and over clusters.

        None where nothing is known of both a chosen and another item of any block.
        """
        by_block = self._by_block(values)
        known = {place: value for place, value in enumerate(by_block) if value is not None}
        if not known:
            return None
        ranges = [interval(known.values(), SCORES, level=level)]
        for clusters in self.clusterings.values():
            of_item = iter(clusters.tolist())
            owned: dict[int, list[float]] = {}
            for place, block in enumerate(self.blocks):
                for cluster in {next(of_item) for _ in range(block.count)}:
                    if place in known:
                        owned.setdefault(cluster, []).append(known[place])
            ranges.append(interval((sum(all_) / len(all_) for all_ in owned.values()), SCORES, level=level))
        return Superiority(
            value=sum(known.values()) / len(known),
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
    """Of ranks, with its interval by Fisher's transformation, which is approximate."""

    value: float
    low: float
    high: float
    p: float
    n: int


def rank_correlations(
    columns: Mapping[str, Sequence[float]], target: Sequence[float], *, level: float, seed: int = 0, draws: int = DRAWS
) -> dict[str, Correlation]:
    """Each column's rank correlation with the target; its p-value from the target's values shuffled between rows."""
    n = len(target)
    if n < 4 or not columns:
        return {}
    matrix = np.array([_standard(column) for column in columns.values()]).T
    wanted = _standard(target)
    values = wanted @ matrix
    rng, hits = np.random.default_rng([seed, 3]), np.zeros(len(columns))
    for start in range(0, draws, CHUNK):
        rows = np.tile(wanted, (min(CHUNK, draws - start), 1))
        hits += (np.abs(rng.permuted(rows, axis=1) @ matrix) >= np.abs(values) - 1e-9).sum(axis=0)
    z = NormalDist().inv_cdf(1 - (1 - level) / 2) / (n - 3) ** 0.5
    found = {}
    for name, value, hit in zip(columns, values.tolist(), hits.tolist(), strict=True):
        middle = np.arctanh(np.clip(value, -0.999999, 0.999999))
        low, high = np.tanh(middle - z), np.tanh(middle + z)
        found[name] = Correlation(
            value=value, low=min(value, float(low)), high=max(value, float(high)), p=(1 + hit) / (1 + draws), n=n
        )
    return found


def _standard(values: Sequence[float]) -> Numbers:
    """Ranks with mean 0 and length 1; all 0 where the values are the same."""
    ranks = np.array(mid_ranks(list(values))) - (len(values) - 1) / 2
    length = float(np.sqrt((ranks**2).sum()))
    return ranks / length if length else ranks


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
