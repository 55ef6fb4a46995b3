"""The allocator keeps every constraint of the paper, over many seeds."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chase.benchmarks.syn_ledger.allocation import ROLES, allocate, balanced_subsets
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.combinatorics import MIXED, released_level, unfavorable_pairs
from chase.core.keyed import key_bits, opaque_id

pytestmark = pytest.mark.slow

SIZES = {"evo": 32, "disc": 32, "conf1": 16, "conf2": 16, "conf3": 16, "cert": 208}


def identifiers(seed: int, blocks: int = 10) -> list[str]:
    return [opaque_id("task", seed, number, letters=8) for number in range(32 * blocks)]


def members(roles: tuple[str, ...]) -> dict[str, list[int]]:
    sets: dict[str, list[int]] = defaultdict(list)
    for number, role in enumerate(roles):
        sets[role].append(number)
    return sets


def evidence_levels(numbers: list[int]) -> list[tuple[bool, ...]]:
    """The released levels of every evidence document of some tasks."""
    return [tuple(released_level(n % 32, side, j) for j in range(5)) for n in numbers for side in (0, 1)]


def favorable(numbers: list[int]) -> list[int]:
    return [sum(column) for column in zip(*evidence_levels(numbers), strict=True)]


def pair_is_even(numbers: list[int], j: int, k: int) -> bool:
    """Documents unfavorable on both are one of the two integers nearest to their expectation."""
    shown = evidence_levels(numbers)
    neither = sum(not levels[j] and not levels[k] for levels in shown)
    return abs(neither - len(shown) / 64) < 1


def family_range(numbers: list[int]) -> int:
    counts = Counter(number % 5 for number in numbers)
    assert len(counts) == 5, "a task set without some family"
    return max(counts.values()) - min(counts.values())


@pytest.mark.parametrize("seed", range(20))
def test_every_constraint_holds(seed: int) -> None:
    sets = members(allocate(identifiers(seed), seed))
    assert {role: len(numbers) for role, numbers in sets.items()} == SIZES
    assert sorted(number for numbers in sets.values() for number in numbers) == list(range(320))
    assert sets["evo"] == list(range(32))
    assert sets["disc"] == list(range(32, 64))
    assert {number // 32 for number in sets["cert"]} == set(range(2, 10))
    assert set(range(256, 320)) <= set(sets["cert"])
    for role, numbers in sets.items():
        assert favorable(numbers) == [2 * len(numbers) * 7 // 8] * 5, role
        assert family_range(numbers) <= 1, role  # 32, 16 and 208 are no multiples of five: none can be 0
        assert all(pair_is_even(numbers, j, k) for j, k in combinations(range(5), 2)), role
    for t in (1, 2, 3):
        numbers = sets[f"conf{t}"]
        assert Counter(number // 32 for number in numbers) == {2 * t: 8, 2 * t + 1: 8}
        assert favorable(numbers) == [28] * 5
        for block in (2 * t, 2 * t + 1):
            subset = [number for number in numbers if number // 32 == block]
            assert set(Counter(number % 5 for number in subset).values()) <= {1, 2}
            assert len({number % 5 for number in subset}) == 5
            assert favorable(subset) == [14] * 5
            rest = [n for n in range(32 * block, 32 * block + 32) if n not in subset]
            assert favorable(rest) == [42] * 5
            assert set(rest) <= set(sets["cert"])
    assert favorable(sets["cert"]) == [364] * 5


@given(seed=st.integers(0, 10**12 - 1))
@settings(max_examples=3)
def test_any_seed_gives_the_sizes_and_the_same_sets_again(seed: int) -> None:
    roles = allocate(identifiers(seed), seed)
    assert Counter(roles) == SIZES
    assert allocate(identifiers(seed), seed) == roles


def test_ties_are_decided_by_seed_and_identifiers() -> None:
    plain = allocate(identifiers(1), 1)
    assert allocate(identifiers(1), 2) != plain
    assert allocate(identifiers(2), 1) != plain


def test_the_chosen_subset_is_the_first_by_hash_among_its_like() -> None:
    """Of the subsets of a block with the same counts none has a smaller sum of its tasks' hashes."""
    seed = 4
    ids = identifiers(seed)
    roles = allocate(ids, seed)
    for block in range(2, 8):
        chosen = [c for c in range(32) if roles[32 * block + c] == f"conf{block // 2}"]
        assert_first_of_its_like(chosen, block, ids, seed)


def assert_first_of_its_like(chosen: list[int], block: int, ids: list[str], seed: int) -> None:
    families = [[(32 * block + c) % 5 == family for family in range(5)] for c in range(32)]
    counted = np.hstack([np.array(families, dtype=int), [unfavorable_pairs(c) for c in range(32)]])
    subsets = np.array(balanced_subsets())
    like = subsets[(counted[subsets].sum(axis=1) == counted[chosen].sum(axis=0)).all(axis=1)].tolist()

    def hashed(subset: list[int]) -> int:
        return sum(key_bits("allocation", seed, ids[32 * block + c]) >> 192 for c in subset) % 2**64

    assert chosen in like
    assert len(like) > 1
    assert min(like, key=hashed) == chosen


def test_subsets_are_counted_in_full() -> None:
    """An independent count of the eight-task subsets with exactly two of each mixed set, and of the valid ones."""
    balanced = count_subsets(lambda c: tuple(c in mixed for mixed in MIXED), lambda total: total == (2,) * 5)
    assert len(balanced_subsets()) == len(set(balanced_subsets())) == balanced
    valid = count_subsets(
        lambda c: (*(c in mixed for mixed in MIXED), *((32 * 2 + c) % 5 == family for family in range(5))),
        lambda total: total[:5] == (2,) * 5 and set(total[5:]) <= {1, 2},
    )
    assert valid == 9304  # of block 2


def count_subsets(features, accept) -> int:  # type: ignore[no-untyped-def]
    """How many of all eight-element subsets of 32 have an accepted sum of features (all at most 2)."""
    table = Counter({(0, tuple(0 for _ in features(0))): 1})
    for element in range(32):
        mine = features(element)
        for (size, total), ways in list(table.items()):
            grown = tuple(a + b for a, b in zip(total, mine, strict=True))
            if size < 8 and max(grown) <= 2:
                table[size + 1, grown] += ways
    return sum(ways for (size, total), ways in table.items() if size == 8 and accept(total))


def test_a_benchmark_has_the_allocators_sets(ledger: SynLedger) -> None:
    ids = list(ledger.generated)
    assert [ledger.role_of(task) for task in ids] == list(allocate(ids, ledger.spec.seed))
    assert {role: len(ledger.tasks(role)) for role in ledger.roles} == SIZES
    assert tuple(ledger.roles) == ROLES


def test_extra_blocks_give_eight_tasks_each_to_a_confirmation_set_in_turn(larger_ledger: SynLedger) -> None:
    sets: dict[str, list[int]] = defaultdict(list)
    for task in larger_ledger.tasks():
        sets[larger_ledger.role_of(task)].append(larger_ledger.task(task).number)
    assert {role: len(sets[role]) for role in ROLES} == {
        "evo": 32,
        "disc": 32,
        "conf1": 16 + 8 * 4,
        "conf2": 16 + 8 * 3,
        "conf3": 16 + 8 * 3,
        "cert": 208 + 24 * 10,
    }
    for block in range(10, 20):
        role = f"conf{1 + (block - 10) % 3}"
        subset = [number for number in sets[role] if number // 32 == block]
        assert len(subset) == 8
        assert favorable(subset) == [14] * 5
        assert set(Counter(number % 5 for number in subset).values()) <= {1, 2}
        assert sum(number // 32 == block for number in sets["cert"]) == 24
    for role in ("conf1", "conf2", "conf3"):
        assert family_range(sets[role]) <= 1
    for role, numbers in sets.items():
        assert favorable(numbers) == [2 * len(numbers) * 7 // 8] * 5, role
