"""Rank tests within blocks: exact on what can be counted by hand, calibrated where nothing is planted, also where many
tasks share documents; and Holm's correction."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from chase.stats.association import Block, Choices, holm, mid_ranks, rank_correlations, rank_scores


def _blocks(chosen: list[list[bool]], clusters: list[str] | None = None) -> list[Block]:
    names = clusters or [str(place) for place in range(len(chosen))]
    return [Block(chosen=tuple(block), cluster=name) for block, name in zip(chosen, names, strict=True)]


def _p(choices: Choices, values: list[float | None]) -> float:
    return float(choices.p_values(np.array(choices.scores(values)).reshape(-1, 1))[0])


def test_the_effect_is_how_often_a_chosen_item_is_higher() -> None:
    choices = Choices(_blocks([[True, False, False], [False, True, False]]), draws=99)
    effect = choices.superiority([3.0, 1.0, 2.0, 5.0, 5.0, 9.0], level=0.9)
    assert effect is not None
    assert effect.value == pytest.approx((1.0 + 0.25) / 2)  # higher than both; equal to one and lower than the other
    assert 0 <= effect.low < effect.value < effect.high <= 1


def test_what_is_not_known_of_a_document_leaves_it_out_of_the_effect_and_scores_nothing() -> None:
    choices = Choices(_blocks([[True, False, False]]), draws=99)
    effect = choices.superiority([3.0, None, 4.0], level=0.9)
    assert effect is not None
    assert effect.value == 0.0
    assert choices.superiority([None, 1.0, 2.0], level=0.9) is None
    assert rank_scores([7.0, None, 9.0]) == [-0.5, 0.0, 0.5]


def test_the_permutation_test_counts_what_can_be_counted() -> None:
    """Two chosen of six, the highest two: one of 15 choices is as high and one as low."""
    choices = Choices(_blocks([[False] * 4 + [True] * 2]), draws=19_999)
    exact = 2 / len(list(combinations(range(6), 2)))
    assert _p(choices, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == pytest.approx(exact, abs=0.01)


def test_no_p_value_is_zero_and_the_same_seed_gives_the_same() -> None:
    chosen = [[True] + [False] * 9 for _ in range(40)]
    values: list[float | None] = [float(item) for _ in chosen for item in range(10)]
    first, second = (_p(Choices(_blocks(chosen), draws=199), values) for _ in range(2))
    assert first == second == 1 / 200


def _shared_null(draw: random.Random, popular: list[int], rare: float | None, *, cluster: bool) -> float:
    """Each document is the evidence of so many tasks, among nine others; its value means nothing."""

    def value() -> float:
        return draw.random() if rare is None else float(draw.random() < rare)

    values: list[float | None] = []
    clusters = []
    for document, tasks in enumerate(popular):
        own = value()
        for task in range(tasks):
            values += [own, *(value() for _ in range(9))]
            clusters.append(f"{document}" if cluster else f"{document}-{task}")
    chosen = [[place == 0 for place in range(10)] for _ in clusters]
    return _p(Choices(_blocks(chosen, clusters), seed=draw.randrange(2**30), draws=199), values)


UNEQUAL = [12, 8, 4, *[1] * 12]


@pytest.mark.parametrize(("popular", "rare"), [(UNEQUAL, None), (UNEQUAL, 0.1), ([6] * 10, 0.1)])
def test_documents_that_many_tasks_share_do_not_make_a_finding_of_chance(
    popular: list[int], rare: float | None
) -> None:
    """Of 200 nulls 5 % may have p ≤ 0.05: up to 18 with a chance of 1 %. Taken as independent, tasks have far more."""
    draw = random.Random(101)
    independent = sum(_shared_null(draw, popular, rare, cluster=False) <= 0.05 for _ in range(60))
    held = sum(_shared_null(draw, popular, rare, cluster=True) <= 0.05 for _ in range(200))
    assert independent >= 9
    assert held <= 18


def test_what_is_planted_in_clusters_is_found_though_they_are_few_and_unequal() -> None:
    draw = random.Random(102)
    sizes = [9, 6, 4, *[2] * 20]
    clusters = [str(place) for place, size in enumerate(sizes) for _ in range(size)]
    values: list[float | None] = [draw.gauss(1.2 if place == 0 else 0, 1) for _ in clusters for place in range(10)]
    choices = Choices(_blocks([[place == 0 for place in range(10)] for _ in clusters], clusters))
    effect = choices.superiority(values, level=0.99)
    assert _p(choices, values) < 0.001
    assert effect is not None
    assert effect.blocks == len(clusters)
    assert effect.low > 0.5


def test_the_interval_is_of_clusters_not_of_blocks() -> None:
    values: list[float | None] = [1.0, 0.0] * 30 + [0.0, 1.0] * 30
    chosen = [[True, False]] * 60
    apart = Choices(_blocks(chosen), draws=99).superiority(values, level=0.95)
    together = Choices(_blocks(chosen, [str(place // 10) for place in range(60)]), draws=99)
    wide = together.superiority(values, level=0.95)
    assert apart is not None
    assert wide is not None
    assert (apart.value, wide.value) == (0.5, 0.5)
    assert wide.high - wide.low > 2 * (apart.high - apart.low)


def test_a_null_is_rejected_no_more_often_than_promised_whatever_the_ties() -> None:
    """Rare, skewed values: one document in ten has it. Of 400 nulls at most 31 at 5 % (chance of more: 1 %)."""
    draw, rejected = random.Random(2), 0
    for _ in range(400):
        chosen = [[place == 0 for place in range(10)] for _ in range(25)]
        values: list[float | None] = [float(draw.random() < 0.1) for _ in range(250)]
        rejected += _p(Choices(_blocks(chosen), seed=draw.randrange(2**30), draws=199), values) <= 0.05
    assert rejected <= 31


def test_a_planted_tendency_is_found() -> None:
    draw = random.Random(3)
    chosen = [[place < 2 for place in range(12)] for _ in range(60)]
    values: list[float | None] = [draw.gauss(0.7 if place < 2 else 0, 1) for _ in chosen for place in range(12)]
    choices = Choices(_blocks(chosen))
    effect = choices.superiority(values, level=0.99)
    assert _p(choices, values) < 0.001
    assert effect is not None
    assert effect.low > 0.5


def test_rank_correlations_have_the_sign_and_the_p_value_of_what_they_are() -> None:
    draw = random.Random(4)
    target = [draw.random() for _ in range(60)]
    columns = {"up": [x**3 for x in target], "down": [-x for x in target], "none": [draw.random() for _ in target]}
    found = rank_correlations(columns, target, [1] * 60, level=0.95, draws=999)
    assert found["up"].value == pytest.approx(1)
    assert found["down"].value == pytest.approx(-1)
    assert found["up"].p == found["down"].p == 1 / 1000
    assert found["none"].p > 0.05
    assert found["none"].low < 0 < found["none"].high
    assert rank_correlations({"x": [1, 2, 3]}, [1, 2, 3], [1] * 3, level=0.95) == {}  # three points say nothing


def test_what_rises_with_size_alone_goes_with_nothing() -> None:
    """Means of many skewed values are higher and nearer to each other than those of few, on both sides."""
    draw = random.Random(103)
    sizes = [1] * 16 + [20] * 16

    def means() -> list[float]:
        return [sum(draw.expovariate(1) for _ in range(size)) / size for size in sizes]

    def p(equal: bool) -> float:
        taken = [1] * len(sizes) if equal else sizes
        return rank_correlations({"x": means()}, means(), taken, level=0.95, draws=99)["x"].p

    assert sum(p(equal=True) <= 0.05 for _ in range(100)) >= 9
    assert sum(p(equal=False) <= 0.05 for _ in range(200)) <= 18  # more at 5 %: with a chance of 1 %


def test_points_without_an_equal_say_nothing_of_a_correlation() -> None:
    draw = random.Random(104)
    target = [draw.random() for _ in range(30)]
    sizes = [*[1] * 20, *[2] * 8, 5, 9]
    found = rank_correlations({"x": [*target[:28], 9.0, -9.0]}, target, sizes, level=0.95, draws=199)["x"]
    assert found.n == 28
    assert found.p == 1 / 200
    assert found.low > 0.5
    assert rank_correlations({"x": target}, target, list(range(30)), level=0.95, draws=99) == {}


def test_holms_correction_is_holms() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.5, 0.9]) == [1.0, 1.0]


def test_holm_holds_the_chance_of_any_false_finding() -> None:
    """Twenty true nulls, some of them the same: of 1,000 families at most 70 have a finding at 5 % (chance 0.3 %)."""
    draw, wrong = random.Random(5), 0
    for _ in range(1000):
        p = [draw.random() for _ in range(15)]
        wrong += min(holm([*p, *p[:5]])) <= 0.05
    assert wrong <= 70


def test_equal_values_share_the_middle_of_their_ranks() -> None:
    assert mid_ranks([5.0, 1.0, 5.0, 2.0]) == [2.5, 0.0, 2.5, 1.0]
