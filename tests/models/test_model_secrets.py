"""A key is blanked however it is echoed, and ordinary text is left alone."""

from __future__ import annotations

import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.models.secrets import Redactor

KEY = "sk-canary/4be1d07c+9a35f286=~never"
KEYS = [KEY, "AKIAIOSFODNN7EXAMPLE", "12345678", "päßwörter-key", "a%41&#66;\\u0043-key"]


def _every(form: str) -> str:
    return "".join(form.format(ord(letter)) for letter in KEY)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("around", ["{}", "key={} ", "Bearer {}", "user:{}", '{{"k": "{}"}}'])
def test_a_key_is_blanked_as_it_is(key: str, around: str) -> None:
    assert Redactor.only([key])(around.format(key)) == around.format("***")


@pytest.mark.parametrize(
    "echo",
    [
        KEY.upper(),
        KEY.title(),
        quote(KEY, safe=""),
        quote(quote(KEY, safe=""), safe=""),
        _every("%{:02X}"),
        _every("%{:02x}"),
        _every("\\u{:04x}"),
        _every("\\\\u{:04X}"),
        _every("\\x{:02x}"),
        _every("&#{};"),
        _every("&#x{:X};"),
        KEY.replace("/", "\\/"),
        json.dumps(json.dumps(KEY.replace("/", "\\/"))).strip('"\\'),
        html.escape(KEY),
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
    ],
)
def test_a_key_is_blanked_as_servers_spell_it(echo: str) -> None:
    redacted = Redactor.only([KEY])(f"before {echo} after")
    assert redacted == "before *** after"


@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
@pytest.mark.parametrize("before", ["", "u", "us", "user:", "Bearer "])
@pytest.mark.parametrize("after", ["", "\n", ":x", "abc"])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_key_is_blanked_in_base64(encode: Callable[[bytes], bytes], before: str, after: str, quoted: bool) -> None:
    echo = encode(f"{before}{KEY}{after}".encode()).decode()
    echo = quote(echo, safe="") if quoted else echo
    redacted = Redactor.only([KEY])(f"({echo})")
    assert "***" in redacted
    assert len(redacted) <= len("(***)") + len(b64encode(f"{before}{after}".encode())) + 8


def test_a_key_that_contains_another_leaves_no_tail() -> None:
    assert Redactor.only(["secret-1", "secret-1-longer"])("secret-1-longer secret-1") == "*** ***"


def test_short_values_are_no_keys() -> None:
    assert Redactor.only(["1234567"])("1234567") == "1234567"


def test_only_the_given_keys_are_blanked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "another-secret")
    assert Redactor()("another-secret") == "***"
    assert Redactor.only([KEY])("another-secret") == "another-secret"


@given(text=st.text(st.characters(exclude_categories=())))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor.only([KEY])(text) == text
