"""Keys: read from the environment, and kept out of every sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from chase.core.errors import SetupError

_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$", re.IGNORECASE)
_SHORTEST = 8
"""Shorter values are no keys, and blanking them would blank ordinary words."""


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
    """Blanks every key that the environment holds out of a text, for errors that quote a provider."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        found = {value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name)}
        # Longest first, so that a key which contains another one leaves no tail behind.
        self._keys = sorted((k for k in found | set(keys) if len(k) >= _SHORTEST), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for key in self._keys:
            text = text.replace(key, "***")
        return text

    def __repr__(self) -> str:
        return f"Redactor({len(self._keys)} keys)"
