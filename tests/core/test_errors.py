"""Errors say what is wrong, what would be right, and which exit code they end with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.core.errors import (
    BudgetExhausted,
    ChaseError,
    IntegrityError,
    RolloutError,
    SetupError,
    UserError,
    choose,
)


def test_exit_codes_are_those_of_the_command_line() -> None:
    codes = {UserError: 2, SetupError: 3, BudgetExhausted: 4, IntegrityError: 6, RolloutError: 7}
    assert {kind: kind.exit_code for kind in codes} == codes
    assert all(issubclass(kind, ChaseError) for kind in codes)


@given(choices=st.lists(st.text(min_size=1), min_size=1, unique=True), data=st.data())
def test_a_valid_choice_is_returned(choices: list[str], data: st.DataObject) -> None:
    given_ = data.draw(st.sampled_from(choices))
    assert choose("thing", given_, iter(choices)) == given_


def test_a_near_miss_is_named() -> None:
    with pytest.raises(UserError, match=r"^unknown colour 'gren'\. Did you mean 'green'\? Valid: red, green\.$"):
        choose("colour", "gren", ["red", "green"])


def test_without_a_near_miss_the_choices_are_listed() -> None:
    with pytest.raises(UserError, match=r"^unknown colour 'xyz'\. Valid: red, green\.$"):
        choose("colour", "xyz", ["red", "green"])


def test_many_choices_are_cut_short_with_their_number() -> None:
    with pytest.raises(UserError, match=r"c23, … \(100 in all\)\.$"):
        choose("thing", "?", [f"c{i}" for i in range(100)])
