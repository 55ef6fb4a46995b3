"""The scorer: agrees with the released function's verdicts, and keeps its rules on any input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from studies.scorer_pairs import make_pairs

from chase.benchmarks.officeqa.numbers import numbers_in
from chase.benchmarks.officeqa.scoring import FIXTURES, fuzzy_match, score

VECTORS = Path(__file__).parents[2] / "data" / "officeqa_fuzzy_match_vectors.jsonl"
ANSWERS = st.text(alphabet="0123456789.,-−()[]$%kM \"'abmilonthusdyear", max_size=40)


def test_all_600_verdicts_of_the_released_function_are_ours() -> None:
    vectors = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
    differ = [v for v in vectors if fuzzy_match(v["ground_truth"], v["predicted"]) != v["correct"]]
    assert len(vectors) == 600
    assert differ == []


@pytest.mark.parametrize(("answer", "predicted", "verdict"), FIXTURES)
def test_fixtures_are_scored_as_they_say(answer: str, predicted: str | None, verdict: float) -> None:
    assert score(answer, predicted) == verdict


@given(st.text(max_size=60) | ANSWERS, st.text(max_size=60) | ANSWERS)
@settings(max_examples=150, deadline=None)
def test_any_two_texts_are_scored(truth: str, predicted: str) -> None:
    assert score(truth, predicted) in (0.0, 1.0)
    assert not fuzzy_match(truth, f"{predicted} Unable to determine.")


@given(ANSWERS)
@settings(max_examples=150, deadline=None)
def test_an_answer_with_a_word_or_a_number_states_itself(answer: str) -> None:
    if any(char.isalnum() for char in answer) and "unable to determine" not in answer.lower():
        assert fuzzy_match(answer, answer)
        assert fuzzy_match(answer, f"  {answer}\n")


@given(st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=6))
@settings(max_examples=60, deadline=None)
def test_a_list_must_be_stated_in_order_however_it_is_written(values: list[int]) -> None:
    truth = f"[{', '.join(f'{value:,}' for value in values)}]"
    assert fuzzy_match(truth, f"[{', '.join(map(str, values))}]")
    assert fuzzy_match(truth, f"[{','.join(f'{value:,}' for value in values)}]")
    assert not fuzzy_match(truth, f"[{', '.join(map(str, [*values, 7]))}]")
    assert not fuzzy_match(truth, f"[{', '.join(map(str, values[:-1]))}]")


@pytest.mark.parametrize(
    ("truth", "predicted", "verdict"),
    [
        ("[711, 810]", "[711,810]", True),
        ("[711,810]", "[711, 810]", False),
        ("[711810, 4]", "[711,810, 4]", True),
        ("[711, 810]", "711810", False),
        ("[711, 810]", "[810,711]", False),
        ("[711,810,4]", "[711, 8104]", False),
        ("[-1, 234]", "[-1,234]", True),
        ("[1, -234]", "[-1,234]", False),
        ("[5 million, 6 million]", "[5 million, 6 billion]", False),
        ("[3, 1957]", "[3, 1957] (1960)", False),
        ("[3, 8]", "[3, 8] (1960)", True),
        ("[3, 8]", "[3, 8, 1,960]", True),  # 1,960 passes for a year
        ("[3, 8]", "[3, 8, 960]", False),
        ("[3, 8]", "the list: [$3, (8)]", False),
        ("[3, -8]", "the list: [$3, (8)]", True),
        ("[3, 8] bonds", "[3, 8]", True),
        ("[3, 8] of 9", "8 and 3 of 9", True),
        ("[3,800]", "Step 1: 7, step 2: 3800", True),
    ],
)
def test_commas_without_spaces_separate_thousands_or_items(truth: str, predicted: str, verdict: bool) -> None:
    assert fuzzy_match(truth, predicted) is verdict


@pytest.mark.parametrize(
    ("truth", "predicted", "verdict"),
    [
        ("5 million", "5M", True),
        ("5 billion", "$5 M", False),
        ("5 million", "$5 bn", True),  # bn is no scale
        ("5 thousand", "millions: 5", False),  # a scale before the number counts as well
        ("5 thousand", "millions of dollars in all: 5", True),  # not so far away
        ("5", "5 thousand", True),
        ("5 million", "3 billion, then 5 million", False),  # the largest within reach
        ("5 million", "3 billion in the first year, then 5 million", True),
        ("1939-1945", "1939 and -1945", True),  # a hyphen right before a number is its sign
        ("-1945", "1939-1945", True),
        ("5", ".5", True),
        ("0.5", ".5", False),
        ("March 1977", "March1977", True),
        ("12.5%", "(12.5%)", True),  # percent in parentheses is no accounting
        ("-12.5%", "(12.5%)", False),
        ("-12.5", "( $12.5 )", True),
        ("1977", "(1977)", True),  # a year in parentheses is no negative one
        ("-1977", "($1977)", True),
        ("-0.5%", "US$-0.5%", True),
        ("1,234", "₹1,234", True),
        ("3 and 8", "3, 8", False),  # "and" is a text
        ("3 hundred", "3", True),
        ("3 dollars", "3", False),
        ("3 a", "3", True),  # one letter is none
        ("Trust Fund", "Trust (OASI) Fund", True),
        ("Fund (1977)", "the fund", True),
        ("Fund 1977", "the fund", False),
        ("(OASI)", "anything", True),
        ("5 million", "it is small (5 million)", True),
        ("[8]", "8", True),
        ("Series E", "series (e)", False),
        ("[Treasury, 5]", "Federal 5", False),
        ("Treasury 5", "Treasury bills 5", True),
        ("March 3, 1957", "1957, March 3", True),
        ('""', "anything", True),
        ("", "", False),
    ],
)
def test_units_signs_and_texts(truth: str, predicted: str, verdict: bool) -> None:
    assert fuzzy_match(truth, predicted) is verdict


def test_numbers_are_read_with_sign_scale_and_year() -> None:
    read = numbers_in("In 1957 we all said it was $(1,234.5) million, which is good, −7 and 12,34")
    assert [(n.value, n.scale, n.likely_year) for n in read] == [
        (1957, None, True),
        (-1234.5, "million", False),
        (-7, None, False),
        (12, None, False),
        (34, None, False),
    ]


def test_pairs_that_try_the_scorer_are_drawn_by_the_seed_and_some_are_right() -> None:
    pairs = make_pairs(400, 101)
    assert pairs == make_pairs(400, 101) != make_pairs(400, 102)
    verdicts = [fuzzy_match(pair["ground_truth"], pair["predicted"]) for pair in pairs]
    assert 20 < sum(verdicts) < 200


@pytest.mark.parametrize("piece", ["(", "-$", "1,", ",234", "[1, ", "1,234,", "9" * 50, "a 1 "])
def test_a_very_long_prediction_is_scored_as_any_other(piece: str) -> None:
    """Work that grew with the square of the length would show as minutes here."""
    assert not fuzzy_match("[1,234, 5]", piece * 20_000)
