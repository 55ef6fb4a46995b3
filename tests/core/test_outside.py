"""What others say, as plain JSON, or why it is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chase.core.outside import NotPlain, parse_json, plain, valid_unicode


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
        (b'"\xc3\xa4"', "ä"),
        ('"\\ud800x"', "?x"),
        ('{"\\ud800": 1}', {"?": 1}),
        ('"\\ud83d\\ude00"', "😀"),
        (str(2**63 - 1), 2**63 - 1),
        (str(10**30), 1e30),
    ],
)
def test_json_is_read_as_it_can_be_kept(text: str | bytes, value: Any) -> None:
    found = parse_json(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not valid JSON"),
        (b"\xff\xff", "not valid JSON"),
        ("NaN", "it holds NaN"),
        ("-Infinity", "it holds -Infinity"),
        ("1e999", "not finite"),
        ("9" * 400, "not finite"),
        ("9" * 5000, "not valid JSON"),
        ("[" * 65 + "]" * 65, "nested deeper than 64 levels"),
        ('{"a":' * 65 + "1" + "}" * 65, "nested deeper than 64 levels"),
        ("[" * 100_000, "nested deeper than 64 levels"),
    ],
)
def test_what_is_no_plain_json_is_refused_with_the_reason(text: str | bytes, why: str) -> None:
    with pytest.raises(NotPlain, match=why):
        parse_json(text)


def test_sixty_four_levels_are_plain() -> None:
    assert json.dumps(parse_json("[" * 64 + "]" * 64)) == "[" * 64 + "]" * 64


def test_a_value_that_is_no_data_is_refused() -> None:
    with pytest.raises(NotPlain, match="it holds a set"):
        plain({"a": {1}})


def test_a_text_that_is_valid_stays() -> None:
    text = "naïve 😀"
    assert valid_unicode(text) == text
