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
"""Two characters of base64 that are others in an address."""


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
        return self._pattern.sub("***", text) if self._keys else text

    def __repr__(self) -> str:
        return f"Redactor({len(self._keys)} keys)"

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(form for key in self._keys for form in _forms(key)))


def _longest_first(keys: set[str]) -> list[str]:
    """So that a key which contains another one leaves no tail behind. Their order decides nothing else."""
    return sorted((key for key in keys if len(key) >= _SHORTEST), key=lambda key: (-len(key), key))


def _forms(key: str) -> list[str]:
    """Patterns of a key: spelled, in hexadecimal, and in base64 at each of the three places where it can begin."""
    spelled = "".join(map(_spelled, key))
    in_hex = key.encode("utf-8", "replace").hex()
    return [f"(?i:{spelled}|{in_hex})", *(_base64(key, place) for place in range(3))]


def _spelled(letter: str) -> str:
    """One letter as it is, behind backslashes, or as a number in one of the usual ways."""
    code = ord(letter)
    if code > 0xFF:
        percent = "".join(f"%(?:25){{0,2}}{byte:02x}" for byte in letter.encode("utf-8", "replace"))
        return rf"(?:{re.escape(letter)}|\\{{1,4}}u{code:04x}|{percent})"
    numbered = rf"(?:%(?:25){{0,2}}|\\{{1,4}}x|\\{{1,4}}u00|&\#x0{{0,4}}){code:02x};?|&\#0{{0,4}}{code};?"
    return rf"(?:\\{{0,4}}{re.escape(letter)}|{numbered})"


def _base64(key: str, place: int) -> str:
    """The characters that a key alone decides, wherever in a longer text it stands, with one neighbour on each side."""
    content = key.encode("utf-8", "replace")
    encoded = b64encode(b"\0" * place + content).decode().rstrip("=")
    own = encoded[(0, 2, 3)[place] :]
    if (place + len(content)) % 3:
        own = own[:-1]
    neighbour = "[A-Za-z0-9+/_=-]?"
    return neighbour + "".join(_BASE64_AS_SENT.get(c, c) for c in own) + neighbour
