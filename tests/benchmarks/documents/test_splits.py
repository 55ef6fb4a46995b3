"""Groups are dealt whole, whatever their sizes; sizes are met exactly or it is said why not."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from chase.benchmarks.corpus.protocol import ResultOrder
from chase.benchmarks.documents.demonstrations import in_order, shown_examples
from chase.benchmarks.documents.description import Demonstration, Splits
from chase.benchmarks.documents.questions import Question
from chase.benchmarks.documents.splits import ROLES, allocate
from chase.core.errors import UserError


def asked(group_sizes: list[int], evidence: int = 0) -> list[Question]:
    """Questions of groups of these sizes; with `evidence`, each has one of that many documents."""
    groups = [group for group, size in enumerate(group_sizes) for _ in range(size)]
    return [
        Question(
            id=f"q{place}",
            question=f"Which, of {place}?",
            answer="7",
            evidence=(f"{place % evidence}.txt",) if evidence else (),
            group=f"g{group}",
            line=place + 1,
        )
        for place, group in enumerate(groups)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_no_group_straddles_and_every_set_has_some_whatever_the_groups(seed: int) -> None:
    draw = random.Random(seed)
    questions = asked([draw.randint(1, 12) for _ in range(draw.randint(6, 30))])
    roles = allocate(questions, Splits())
    assert set(roles) == {question.id for question in questions}
    assert set(roles.values()) == set(ROLES)
    held = {(question.group, roles[question.id]) for question in questions}
    assert len(held) == len({question.group for question in questions})
    shuffled = draw.sample(questions, len(questions))
    assert allocate(shuffled, Splits()) == roles


def test_sizes_are_met_exactly_by_whole_groups_and_what_is_not_asked_for_is_left_out() -> None:
    questions = asked([2] * 10 + [3] * 10)
    roles = allocate(questions, Splits(evo=7, disc=6, conf=5, cert=9))
    assert Counter(roles.values()) == {"evo": 7, "disc": 6, "conf1": 5, "conf2": 5, "conf3": 5, "cert": 9}
    groups = {question.id: question.group for question in questions}
    assert all(len({roles.get(id_) for id_ in groups if groups[id_] == group}) == 1 for group in groups.values())


def test_questions_on_one_document_and_the_same_question_asked_twice_stay_together() -> None:
    questions = asked([1] * 40, evidence=8)
    roles = allocate(questions, Splits(grouping="evidence"))
    assert len({(question.evidence, roles[question.id]) for question in questions}) == 8
    twice = [*asked([1] * 40), *(Question(id=f"r{n}", question="Which?", answer="7", line=50 + n) for n in range(9))]
    roles = allocate(twice, Splits(grouping="none"))
    assert len({roles[f"r{n}"] for n in range(9)}) == 1


@pytest.mark.parametrize(
    ("sizes", "wanted", "said"),
    [
        ([4] * 5, Splits(), "20 questions are 5 groups, and the six task sets need one each"),
        ([4] * 20, Splits(evo=8, disc=6, conf=4), r"the 6 questions of disc: .* can be met are 4 and 8"),
        ([4] * 6, Splits(evo=8, disc=8, conf=4), "are 29 questions, and there are 24"),
        ([5, 1, 4, 4, 4, 4, 4, 4], Splits(evo=5, disc=5, conf=5, cert=5), "no division of the 8 groups"),
    ],
)
def test_sizes_that_cannot_be_met_are_explained(sizes: list[int], wanted: Splits, said: str) -> None:
    with pytest.raises(UserError, match=said):
        allocate(asked(sizes), wanted)


def test_worked_examples_are_the_same_in_another_order() -> None:
    released = [Demonstration(question=f"{n}?", answer=str(n)) for n in range(6)]
    orders = [ResultOrder(), ResultOrder(reversed=True), *(ResultOrder(seed=seed) for seed in (1, 2, 3))]
    shown = [[held.answer for held in in_order(released, order)] for order in orders]
    assert shown[0] == list("012345")
    assert shown[1] == list("543210")
    assert all(sorted(order) == shown[0] for order in shown)
    assert len({tuple(order) for order in shown}) > 3
    assert shown[2] == [held.answer for held in in_order(released, ResultOrder(seed=1))]
    assert shown_examples(released[:2]) == "Worked examples:\n\nQuestion: 0?\nAnswer: 0\n\nQuestion: 1?\nAnswer: 1"
    assert shown_examples([]) == ""
