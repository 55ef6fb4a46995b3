"""Keys: read from the environment, and kept out of every sentence."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cached_property
from typing import Self

from chase.core.errors import SetupError

_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$", re.IGNORECASE)
_SHORTEST = 8
"""Shorter values are no keys, and blanking them would blank ordinary words."""
_BASE64_AS_SENT = {"+": r"(?:[+-]|%2B)", "/": r"(?:[/_]|%2F)"}
_BASE64_IN_ADDRESSES = str.maketrans("-_", "+/")
"""Two characters of base64 that are others in an address."""
_ESCAPED = re.compile(
    r"[%\\&](?:(?<=%)(?:25){0,2}([0-9a-fA-F]{2})|(?<=\\)\\{0,3}(?:[xX]|[uU]00)([0-9a-fA-F]{2})|(?<=\\)"
    r"|(?<=&)\#[xX]0{0,4}([0-9a-fA-F]{2});?|(?<=&)\#0{0,4}([0-9]{2,3});?)"
)
"""A letter as a number, in one of the usual ways, or a backslash before one."""


def read_key(model: str, variable: str) -> str:
    """The key in an environment variable; `SetupError` if there is none."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise missing_key(model, variable)
    return key


def missing_key(model: str, variable: str) -> SetupError:
    """The sentence for a key that is not there."""
    return SetupError(f"model '{model}' needs a key: set the environment variable {variable}.")


def redactor_for(variable: str | None) -> Redactor:
    """Blanks the key in a variable too, whatever the variable is called."""
    key = os.environ.get(variable or "")
    return Redactor([key] if key else [])


class Redactor:
    """Blanks every key that the environment holds out of a text, for errors that quote a provider.

    A key is found as it is and as servers echo it: in other case, escaped for JSON, HTML or an address, in hexadecimal
    or base64, alone or as a part of something longer.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        found = {value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name)}
        self._keys = _longest_first(found | set(keys))

    @classmethod
    def only(cls, keys: Iterable[str]) -> Self:
        """Blanks these keys, whatever the environment holds: for texts that the environment must not change."""
        made = cls.__new__(cls)
        made._keys = _longest_first(set(keys))
        return made

    def __call__(self, text: str) -> str:
        return self._pattern.sub("***", text) if self._keys and self._may_hold_one(text) else text

    def __repr__(self) -> str:
        return f"Redactor({len(self._keys)} keys)"

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(form for key in self._keys for form in _forms(key)))

    @cached_property
    def _found_by(self) -> tuple[list[str], list[str]]:
        """What a text that holds a key contains: in lower case, or in base64's own letters."""
        spelled = [form for key in self._keys for form in (key.lower(), _in_hex(key))]
        return spelled, [_base64_core(key, place) for key in self._keys for place in range(3)]

    def _may_hold_one(self, text: str) -> bool:
        """Looks whether it is worth searching: almost no text holds a key, and the search is slow."""
        spelled, encoded = self._found_by
        read = _ESCAPED.sub(_meant, text)
        lower, letters = f"{text}\n{read}".lower(), read.translate(_BASE64_IN_ADDRESSES)
        return any(form in lower for form in spelled) or any(form in letters for form in encoded)


def _longest_first(keys: set[str]) -> list[str]:
    """So that a key which contains another one leaves no tail behind. Their order decides nothing else."""
    return sorted((key for key in keys if len(key) >= _SHORTEST), key=lambda key: (-len(key), key))


def _forms(key: str) -> list[str]:
    """Patterns of a key: spelled, in hexadecimal, and in base64 at each of the three places where it can begin."""
    spelled = "".join(map(_spelled, key))
    return [f"(?i:{spelled}|{_in_hex(key)})", *(_base64(key, place) for place in range(3))]


def _in_hex(key: str) -> str:
    return key.encode("utf-8", "replace").hex()


def _meant(escaped: re.Match[str]) -> str:
    """The letter that an escape stands for; of a backslash alone, nothing."""
    *in_hex, decimal = escaped.groups()
    return chr(int(decimal)) if decimal else "".join(chr(int(code, 16)) for code in in_hex if code)


def _spelled(letter: str) -> str:
    """One letter as it is, behind backslashes, or as a number in one of the usual ways."""
    code = ord(letter)
    if code > 0xFF:
        percent = "".join(f"%(?:25){{0,2}}{byte:02x}" for byte in letter.encode("utf-8", "replace"))
        return rf"(?:{re.escape(letter)}|\\{{1,4}}u{code:04x}|{percent})"
    numbered = rf"(?:%(?:25){{0,2}}|\\{{1,4}}x|\\{{1,4}}u00|&\#x0{{0,4}}){code:02x};?|&\#0{{0,4}}{code};?"
    return rf"(?:\\{{0,4}}{re.escape(letter)}|{numbered})"


def _base64(key: str, place: int) -> str:
    """What a key alone decides, with one neighbour on each side, which it decides in part."""
    neighbour = "[A-Za-z0-9+/_=-]?"
    return neighbour + "".join(_BASE64_AS_SENT.get(c, c) for c in _base64_core(key, place)) + neighbour + "={0,2}"


def _base64_core(key: str, place: int) -> str:
    """The letters that a key alone decides, wherever in a longer text it stands."""
    content = key.encode("utf-8", "replace")
    encoded = b64encode(b"\0" * place + content).decode().rstrip("=")
    own = encoded[(0, 2, 3)[place] :]
    return own[:-1] if (place + len(content)) % 3 else own
