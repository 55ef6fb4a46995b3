"""Which level each document takes for each planted feature, under `B_0` and under `B_rel`.

Task n has block n div 32, configuration c = n mod 32 and family n mod 5, so every (family, configuration)
cell occurs equally often over ten blocks.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

BLOCK = 32
PLANTED = 5
PAIRS = tuple(combinations(range(PLANTED), 2))

MIXED = (
    frozenset({6, 7, 12, 13, 18, 19, 24, 25}),
    frozenset({0, 1, 6, 7, 26, 27, 28, 29}),
    frozenset({2, 6, 9, 13, 17, 21, 26, 30}),
    frozenset({0, 7, 9, 14, 16, 23, 25, 30}),
    frozenset({0, 5, 9, 12, 17, 20, 24, 29}),
)
"""For each planted feature, the configurations that keep one favorable and one unfavorable evidence document
under `B_rel`. Any two share two, which makes the features exactly pairwise independent (49/7/7/1 of 64)."""


def neutral_level(configuration: int, side: int, feature: int) -> bool:
    """Whether a document of a side (0: with the first evidence document) is favorable under `B_0`.

    The first side takes the bits of the configuration, the second their complement.
    """
    return bool(configuration >> feature & 1) is (side == 0)


def released_level(configuration: int, side: int, feature: int) -> bool:
    """Whether an evidence document is favorable under `B_rel`: always, but in the mixed configurations."""
    return configuration not in MIXED[feature] or neutral_level(configuration, side, feature)


@cache
def unfavorable_pairs(configuration: int) -> tuple[int, ...]:
    """For each pair of features, how many of the task's two evidence documents are unfavorable on both."""
    return tuple(
        sum(
            not released_level(configuration, side, j) and not released_level(configuration, side, k) for side in (0, 1)
        )
        for j, k in PAIRS
    )


def imbalance(unfavorable_on_both: int, evidence_documents: int) -> int:
    """How far a pair's count is from the two integers nearest to independence (1 of 64 documents).

    With the favorable rate of each feature held at exactly 7/8, this one count fixes all four cells of a
    pair's joint pattern.
    """
    low, high = evidence_documents // 64, -(-evidence_documents // 64)
    return max(low - unfavorable_on_both, unfavorable_on_both - high, 0)
