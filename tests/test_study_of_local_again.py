"""Two audits of a real model that contradicted each other say no more than their tasks showed, judged again."""

from __future__ import annotations

import pytest
from studies.local_again import counts, words


@pytest.mark.parametrize(
    ("audit", "word"), [("honest-reminder", "inconclusive"), ("honest-reminder, given", "untested")]
)
def test_neither_of_two_contradictory_audits_keeps_its_word(audit: str, word: str) -> None:
    assert {said for said, _ in words(audit)} == {word}


def test_a_mean_and_its_standard_error_say_how_many_tasks_were_won_and_lost() -> None:
    values = [1] * 3 + [-1] * 2 + [0] * 5
    mean = sum(values) / 10
    se = (sum((value - mean) ** 2 for value in values) / 9 / 10) ** 0.5
    assert counts({"n": 10, "value": mean, "se": se}) == (3, 2)
