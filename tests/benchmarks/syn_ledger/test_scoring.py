"""The scorer: normalised integer exact match."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from chase.benchmarks.syn_ledger.scoring import FIXTURES, normalise, score

integers = st.integers(-(10**15), 10**15)
white = st.text(st.sampled_from(" \t\n\r\u00a0"), max_size=3)
DIGITS = set("0123456789")


def stated(output: str) -> int | None:
    """The integer that an output states, found without a regular expression."""
    text = output.strip()
    negative = text[:1] in ("-", "−")
    if text[:1] in ("+", "-", "−"):
        text = text[1:]
    groups = text.split(",")
    if not all(groups) or any(set(group) - DIGITS for group in groups):
        return None
    if len(groups) == 1:
        good = len(text) <= 18
    else:
        good = len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]) and len(groups) <= 6
    return (-1 if negative else 1) * int("".join(groups)) if good else None


@given(answer=integers, before=white, after=white)
def test_white_space_sign_and_grouping_are_normalised(answer: int, before: str, after: str) -> None:
    for written in (f"{answer}", f"{answer:+}", f"{answer:,}", f"{answer:+,}", f"{answer:,}".replace("-", "−")):
        assert score(answer, before + written + after) == 1.0


@given(answer=integers, other=integers)
def test_another_integer_scores_zero(answer: int, other: int) -> None:
    assume(answer != other)
    assert score(answer, str(other)) == 0.0
    assert score(answer, f"{other:,}") == 0.0


@given(answer=integers, extra=st.text(min_size=1, max_size=12))
def test_anything_more_than_an_integer_scores_zero(answer: int, extra: str) -> None:
    for output in (f"{answer}{extra}", f"{extra}{answer}"):
        assume(stated(output) != answer)
        assert score(answer, output) == 0.0


@given(answer=st.integers(10, 99), separator=st.sampled_from([" ", ", ", "\n", " and ", "/", ";", "=", " or "]))
def test_several_numbers_score_zero(answer: int, separator: str) -> None:
    assert score(answer, f"{answer}{separator}{answer}") == 0.0
    assert score(answer, f"{answer}{separator}7") == 0.0


@given(answer=st.integers(-99, 99), decimals=st.integers(0, 3))
def test_decimals_score_zero(answer: int, decimals: int) -> None:
    assert score(answer, f"{answer}." + "0" * decimals) == 0.0


@given(output=st.text(st.sampled_from("0123456789,+-−. \n²٣Ⅷ"), max_size=12))
@settings(max_examples=400)
def test_an_output_states_what_an_independent_reading_finds(output: str) -> None:
    assert normalise(output) == stated(output)


@given(output=st.text())
def test_any_text_gets_a_score(output: str) -> None:
    assert score(42, output) in (0.0, 1.0)
    assert normalise(output) == stated(output)


@pytest.mark.parametrize(("answer", "output", "verdict"), FIXTURES)
def test_fixtures_are_judged_as_listed(answer: int, output: str | None, verdict: float) -> None:
    assert score(answer, output) == verdict


def test_fixtures_cover_right_wrong_and_malformed_outputs() -> None:
    verdicts = [verdict for _, _, verdict in FIXTURES]
    assert verdicts.count(1.0) >= 5
    assert verdicts.count(0.0) >= 12
    assert any(output is None for _, output, _ in FIXTURES)
    answers = {answer for answer, _, _ in FIXTURES}
    assert answers == {42, -42, 1234, 1234567}, "with another answer a malformed output scores 0 however it is read"


@pytest.mark.parametrize("output", ["4,2", "1,23", ",123", "123,", "1,,234", "1,2345", "12,345,6", "1234,567"])
def test_invalid_grouping_states_nothing(output: str) -> None:
    assert normalise(output) is None
