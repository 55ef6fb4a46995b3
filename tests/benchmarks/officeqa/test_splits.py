"""Splits of questions: the paper's constraints, whatever the components look like."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chase.benchmarks.officeqa.sizes import Sizes, sizes_of
from chase.benchmarks.officeqa.splits import ROLES, allocate
from chase.core.errors import UserError
from tests.benchmarks.officeqa.questions import in_components, shapes_of
from tests.benchmarks.officeqa.split_check import PAPER_CONF, PAPER_SIZES, violations

Shape = tuple[int, int]


@given(seed=st.integers(0, 10**6), groups=st.integers(60, 130), single_level=st.booleans())
@settings(max_examples=8, deadline=None)
def test_any_246_questions_that_can_be_split_meet_every_constraint(seed: int, groups: int, single_level: bool) -> None:
    questions = in_components(shapes_of(246, groups, seed, single_level=single_level))
    assert violations(questions, allocate(questions), PAPER_SIZES, PAPER_CONF) == []


@pytest.mark.parametrize(
    ("groups", "largest", "single_level"),
    [(100, 1, False), (100, 82, False), (100, 76, True), (200, 1, False), (213, 1, True), (25, 49, False)],
    ids=[
        "as the release",
        "one very large",
        "one large of one level",
        "mostly single",
        "as few pairs as can be",
        "few",
    ],
)
def test_extreme_structures_are_split(groups: int, largest: int, single_level: bool) -> None:
    questions = in_components(shapes_of(246, groups, 3, largest=largest, single_level=single_level))
    assert violations(questions, allocate(questions), PAPER_SIZES, PAPER_CONF) == []


def test_the_order_of_rows_and_texts_and_answers_do_not_matter() -> None:
    questions = in_components(shapes_of(246, 100, 5))
    other = [replace(question, question=f"Other {question.uid}", answer="2") for question in questions]
    random.Random(1).shuffle(other)
    assert dict(allocate(other)) == dict(allocate(questions))


def test_no_role_gets_the_large_components() -> None:
    """Roles are drawn: over many sets of questions the largest component is found in each part of the data."""
    found = set()
    for seed in range(12):
        shapes = [(10, 10), *shapes_of(80, 40, seed)]
        questions = [replace(question, uid=f"{seed}-{question.uid}") for question in in_components(shapes)]
        found.add(allocate(questions)[questions[0].uid][:4])
    assert {"evo", "cert"} < found


def conf_of(sizes: Sizes) -> tuple[int, int, int]:
    return sizes.conf, sizes.linked, sizes.easy


def table(sizes: Sizes) -> dict[str, int]:
    return {"evo": sizes.evo, "disc": sizes.disc, "cert": sizes.cert} | dict.fromkeys(ROLES[2:5], sizes.conf)


@pytest.mark.parametrize("count", range(24, 247, 3))
def test_smaller_sets_keep_the_proportions(count: int) -> None:
    sizes = sizes_of(count)
    assert sum(table(sizes).values()) == count
    for role, paper in PAPER_SIZES.items():
        assert abs(table(sizes)[role] - paper * count / 246) < 1.5
    questions = in_components(shapes_of(count, count * 2 // 5, count))
    assert violations(questions, allocate(questions), table(sizes), conf_of(sizes)) == []


def test_at_246_questions_sizes_are_the_papers() -> None:
    assert sizes_of(246) == Sizes(evo=49, disc=49, cert=76, conf=24, linked=11, easy=11)
    assert table(sizes_of(246)) == PAPER_SIZES
    assert sizes_of(24) == Sizes(evo=5, disc=5, cert=8, conf=2, linked=1, easy=1)


def test_without_labels_nothing_is_asked_of_difficulty() -> None:
    questions = in_components(shapes_of(246, 100, 5), labels=False)
    assert violations(questions, allocate(questions), PAPER_SIZES, PAPER_CONF, labels=False) == []


@pytest.mark.parametrize(
    ("shapes", "constraint"),
    [
        ([(40, 43), *shapes_of(163, 99, 1)], "one source component has 83 of the 246 questions"),
        ([(25, 25)] * 4 + [(23, 23)], "no whole source components add up to 49 questions for evo and 76 for cert"),
        ([(0, 49), (76, 0), (50, 31), (20, 20)], "the 3 × 13 confirmation questions whose components are not in disc"),
        ([(1, 0)] * 113 + [(0, 1)] * 133, "11 questions in each confirmation set whose components are also in disc"),
        ([(0, size) for size in (49, 76, 82, 39)], "11 easy and 13 hard"),
        ([(size, 0) for size in (49, 76, 82, 39)], "11 easy and 13 hard"),
        ([(1, 1)] * 11, "questions=22 cannot be split"),
        ([(1, 1)] * 124, "questions=248 cannot be split"),
    ],
)
def test_what_cannot_be_split_is_explained_by_its_constraint(shapes: list[Shape], constraint: str) -> None:
    questions = in_components(shapes)
    with pytest.raises(UserError, match=constraint) as refused:
        allocate(questions)
    assert "\n" not in str(refused.value)


def splittable(shapes: list[Shape], sizes: Sizes) -> bool:
    """Whether any division of whole components meets the constraints, by trying all of them."""
    for groups in itertools.product(("evo", "cert", "apart", "around"), repeat=len(shapes)):
        held = {name: [s for s, group in zip(shapes, groups, strict=True) if group == name] for name in set(groups)}
        total = {name: sum(map(sum, shapes)) for name, shapes in held.items()}
        if (total.get("evo"), total.get("cert"), total.get("apart")) != (sizes.evo, sizes.cert, 3 * sizes.apart):
            continue
        easy = 3 * sizes.easy - sum(shape[0] for shape in held["apart"])
        if can_give(held["around"], easy, 3 * sizes.linked - easy):
            return True
    return False


def can_give(around: list[Shape], easy: int, hard: int) -> bool:
    """Whether components can give so many easy and hard questions and keep one each, by trying what each keeps."""
    for kept in itertools.product((0, 1), repeat=len(around)):
        left = [(e - (keep == 0), h - (keep == 1)) for (e, h), keep in zip(around, kept, strict=True)]
        if min(map(min, left)) >= 0 and 0 <= easy <= sum(e for e, _ in left) and 0 <= hard <= sum(h for _, h in left):
            return True
    return False


@given(st.integers(0, 10**6), st.integers(5, 7), st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_split_is_found_exactly_where_one_exists(seed: int, groups: int, single_level: bool) -> None:
    shapes = shapes_of(24, groups, seed, single_level=single_level)
    questions = in_components(shapes)
    try:
        roles = allocate(questions)
    except UserError:
        assert not splittable(shapes, sizes_of(24))
    else:
        assert violations(questions, roles, table(sizes_of(24)), (2, 1, 1)) == []
