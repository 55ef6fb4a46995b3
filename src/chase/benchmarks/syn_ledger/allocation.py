"""The deterministic allocator of tasks to task sets. It sees no score and no trajectory.

From each of blocks 2–7 one eight-task subset goes to a confirmation set: one or two tasks of every family and
exactly 14 of 16 favorable evidence documents for every feature. Among those, the ranges of family counts
(confirmation sets and `D_cert`) are minimised, then the pairwise imbalance, then a seeded hash decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from chase.benchmarks.syn_ledger.combinatorics import BLOCK, MIXED, PAIRS, imbalance, unfavorable_pairs
from chase.core.errors import IntegrityError
from chase.core.keyed import key_bits

ROLES = ("evo", "disc", "conf1", "conf2", "conf3", "cert")
FAMILY_COUNT = 5
SUBSET = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The subset of a block that stands for all subsets with the same counts: the first by seeded hash."""

    configurations: tuple[int, ...]
    families: tuple[int, ...]
    pairs: tuple[int, ...]
    place: int
    """Place among the block's valid subsets in the order of the hash."""


@lru_cache(maxsize=1)
def balanced_subsets() -> tuple[tuple[int, ...], ...]:
    """Every eight configurations with exactly two of each feature's mixed set: 14 of 16 favorable."""
    halves = [_half_subsets(range(16)), _half_subsets(range(16, BLOCK))]
    found = []
    for (size, counts), subsets in halves[0].items():
        rest = (SUBSET - size, tuple(2 - count for count in counts))
        found += [low + high for low in subsets for high in halves[1].get(rest, ())]
    return tuple(sorted(found))


def _pattern(families: NDArray[np.integer], pairs: NDArray[np.integer]) -> NDArray[np.int64]:
    """Each row's counts as one number, three bits a count: equal numbers mean equal counts below eight."""
    counts = np.hstack([families, pairs]).astype(np.int64)
    patterns: NDArray[np.int64] = counts @ (8 ** np.arange(counts.shape[1]))
    return patterns


@dataclass(frozen=True, slots=True)
class _Subsets:
    """Subsets of a block as rows, with their counts by family and by pair of features."""

    members: NDArray[np.int64]
    families: NDArray[np.int64]
    pairs: NDArray[np.int64]


@lru_cache(maxsize=FAMILY_COUNT)
def _valid_subsets(first_family: int) -> _Subsets:
    """The balanced subsets with one or two tasks of every family, in a block that starts with this family."""
    members = np.array(balanced_subsets(), dtype=np.int64)
    family = (first_family + np.arange(BLOCK)) % FAMILY_COUNT
    families = (family[members][:, :, None] == np.arange(FAMILY_COUNT)).sum(axis=1)
    valid = ((families >= 1) & (families <= 2)).all(axis=1)
    members, families = members[valid], families[valid]
    pairs = np.array([unfavorable_pairs(c) for c in range(BLOCK)])[members].sum(axis=1)
    return _Subsets(members, families, pairs)


def _half_subsets(members: range) -> dict[tuple[int, tuple[int, ...]], list[tuple[int, ...]]]:
    """Subsets of half a block by size and by how many of each mixed set they hold (at most two)."""
    table: dict[tuple[int, tuple[int, ...]], list[tuple[int, ...]]] = {(0, (0,) * len(MIXED)): [()]}
    for member in members:
        holds = [member in mixed for mixed in MIXED]
        grown: dict[tuple[int, tuple[int, ...]], list[tuple[int, ...]]] = {}
        for (size, counts), subsets in table.items():
            after = tuple(count + held for count, held in zip(counts, holds, strict=True))
            if size < SUBSET and max(after) <= 2:
                grown[size + 1, after] = [(*subset, member) for subset in subsets]
        for key, subsets in grown.items():
            table.setdefault(key, []).extend(subsets)
    return table


def _choices(block: int, task_ids: Sequence[str], seed: int) -> list[Choice]:
    """One choice for each attainable pattern of counts, in the order of the seeded hash.

    A subset's hash is the sum of its tasks' seeded hashes, so it depends on their identifiers alone.
    """
    subsets = _valid_subsets(block * BLOCK % FAMILY_COUNT)
    keys = np.array([key_bits("allocation", seed, task_id) >> 192 for task_id in task_ids], dtype=np.uint64)
    order = np.argsort(keys[subsets.members].sum(axis=1, dtype=np.uint64), kind="stable")
    members, families, pairs = subsets.members[order], subsets.families[order], subsets.pairs[order]
    _, first = np.unique(_pattern(families, pairs), return_index=True)
    return [
        Choice(
            configurations=tuple(members[place].tolist()),
            families=tuple(families[place].tolist()),
            pairs=tuple(pairs[place].tolist()),
            place=place,
        )
        for place in sorted(first.tolist())
    ]


def _cost(families: Sequence[int], pairs: Sequence[int]) -> tuple[int, int]:
    """(range of family counts, pairwise imbalance) of a task set."""
    documents = 2 * sum(families)
    return max(families) - min(families), sum(imbalance(count, documents) for count in pairs)


def _add(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(left, right, strict=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Set:
    """A confirmation set made of one choice from each of two blocks."""

    even: Choice
    odd: Choice
    families: tuple[int, ...]
    pairs: tuple[int, ...]


def _confirmation_sets(even: list[Choice], odd: list[Choice]) -> list[_Set]:
    """The best sets that two blocks can make, one for each pattern of counts, by seeded hash."""
    families = _all_sums([choice.families for choice in even], [choice.families for choice in odd])
    pairs = _all_sums([choice.pairs for choice in even], [choice.pairs for choice in odd])
    good = np.flatnonzero((families.max(axis=1) - families.min(axis=1) <= 1) & (pairs <= 1).all(axis=1))
    _, first = np.unique(_pattern(families[good], pairs[good]), return_index=True)
    return [_joined(even[place // len(odd)], odd[place % len(odd)]) for place in good[sorted(first.tolist())].tolist()]


def _all_sums(left: Sequence[tuple[int, ...]], right: Sequence[tuple[int, ...]]) -> NDArray[np.int8]:
    """Every row of the one plus every row of the other, in the order of the first."""
    sums = np.array(left, dtype=np.int8)[:, None] + np.array(right, dtype=np.int8)[None]
    return sums.reshape(-1, sums.shape[2])


def _joined(even: Choice, odd: Choice) -> _Set:
    return _Set(even=even, odd=odd, families=_add(even.families, odd.families), pairs=_add(even.pairs, odd.pairs))


def _first_ten(choices: Mapping[int, list[Choice]]) -> Iterator[tuple[int, Choice]]:
    """For blocks 2–7 the choices whose confirmation sets and `D_cert` are all as even as can be."""
    sets = [_confirmation_sets(choices[2 * t], choices[2 * t + 1]) for t in (1, 2, 3)]
    families, pairs = _totals(range(2, 10))
    for triple in product(*sets):
        left = [families[f] - sum(chosen.families[f] for chosen in triple) for f in range(FAMILY_COUNT)]
        both = [pairs[p] - sum(chosen.pairs[p] for chosen in triple) for p in range(len(PAIRS))]
        if _cost(left, both) == (1, 0):
            for t, chosen in enumerate(triple, start=1):
                yield 2 * t, chosen.even
                yield 2 * t + 1, chosen.odd
            return
    raise IntegrityError("no allocation of blocks 2-7 is even in every task set: the mixed sets were changed")


def _totals(blocks: range) -> tuple[list[int], list[int]]:
    numbers = [block * BLOCK + c for block in blocks for c in range(BLOCK)]
    families = [sum(n % FAMILY_COUNT == f for n in numbers) for f in range(FAMILY_COUNT)]
    pairs = [sum(column) for column in zip(*(unfavorable_pairs(n % BLOCK) for n in numbers), strict=True)]
    return families, pairs


def allocate(task_ids: Sequence[str], seed: int) -> tuple[str, ...]:
    """The role of each task, given all task ids in construction order (ten blocks of 32, or more)."""
    blocks = len(task_ids) // BLOCK
    choices = {
        block: _choices(block, task_ids[block * BLOCK : (block + 1) * BLOCK], seed)
        for block in [*range(2, 8), *range(10, blocks)]
    }
    chosen = dict(_first_ten(choices))
    sums = {t: _sum_of(chosen[2 * t], chosen[2 * t + 1]) for t in (1, 2, 3)}
    for block in range(10, blocks):
        t = 1 + (block - 10) % 3
        families, pairs = sums[t]
        chosen[block] = min(
            choices[block], key=lambda c: (*_cost(_add(families, c.families), _add(pairs, c.pairs)), c.place)
        )
        sums[t] = (_add(families, chosen[block].families), _add(pairs, chosen[block].pairs))
    return tuple(_role(n // BLOCK, n % BLOCK, chosen) for n in range(len(task_ids)))


def _sum_of(first: Choice, second: Choice) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return _add(first.families, second.families), _add(first.pairs, second.pairs)


def _role(block: int, configuration: int, chosen: Mapping[int, Choice]) -> str:
    if block < 2:
        return ROLES[block]
    if block in chosen and configuration in chosen[block].configurations:
        return f"conf{block // 2 if block < 8 else 1 + (block - 10) % 3}"
    return "cert"
