"""Passages: every line once, in order, and what a shift moves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.benchmarks.corpus.passages import Passage, cut
from chase.core.errors import UserError


@given(lines=st.integers(0, 600), length=st.integers(1, 90), shift=st.integers(0, 100))
def test_passages_hold_every_line_once_in_order(lines: int, length: int, shift: int) -> None:
    held = [
        line for passage in cut(lines, length=length, shift=shift) for line in range(passage.start, passage.end + 1)
    ]
    assert held == list(range(1, lines + 1))


@given(lines=st.integers(0, 600), length=st.integers(1, 90), shift=st.integers(0, 100))
def test_no_passage_is_empty_and_a_shift_neither_adds_nor_removes_one(lines: int, length: int, shift: int) -> None:
    passages = cut(lines, length=length, shift=shift)
    assert all(passage.start <= passage.end for passage in passages)
    assert len(passages) == len(cut(lines, length=length)) == -(-lines // length)


@given(lines=st.integers(0, 600))
def test_a_ten_line_shift_moves_every_eligible_internal_boundary_exactly_ten_lines(lines: int) -> None:
    before = [passage.end for passage in cut(lines)][:-1]
    after = [passage.end for passage in cut(lines, shift=10)][:-1]
    for place, moved in zip(before, after, strict=True):
        eligible = place + 10 < lines
        assert moved - place == (10 if eligible else 0)


def test_a_document_of_a_hundred_lines() -> None:
    assert cut(100) == (Passage(1, 40), Passage(41, 80), Passage(81, 100))
    assert cut(100, shift=10) == (Passage(1, 50), Passage(51, 90), Passage(91, 100))
    assert cut(90, shift=10) == (Passage(1, 50), Passage(51, 80), Passage(81, 90))
    assert cut(40) == cut(40, shift=10) == (Passage(1, 40),)
    assert cut(0) == ()


def test_a_shift_as_long_as_a_passage_moves_nothing() -> None:
    assert cut(100, length=20, shift=20) == cut(100, length=20)


@pytest.mark.parametrize(("length", "shift"), [(0, 0), (40, -1)])
def test_a_cut_that_makes_no_sense_is_refused(length: int, shift: int) -> None:
    with pytest.raises(UserError, match="at least"):
        cut(10, length=length, shift=shift)
