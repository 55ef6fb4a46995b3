"""What others say: a model, an endpoint, an agent, a file that somebody may have changed.

It is data. Whatever it is, what comes out of here can be hashed, stored, printed and sent again, or there is a sentence
that says why not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from chase.core.values import Json

DEEPEST = 64
"""Levels of nested JSON. Far below what Python's own recursion takes, wherever it is met."""
MOST_TOKENS = 10**12
"""Of one request: a report above it is none. Sums of many stay within the 64 bits of a database."""
MOST_USD = 10**6


class NotPlain(ValueError):
    """No JSON that could be kept. The message says why, as the rest of a sentence: "… is …"."""


def parse_json(text: str | bytes, *, deepest: int = DEEPEST) -> Json:
    """The value of a JSON text, as `plain` makes it; `NotPlain` for whatever is none."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise _too_deep(deepest) from None
    except ValueError as error:
        raise error if isinstance(error, NotPlain) else NotPlain(f"not valid JSON: {error}") from None
    return plain(value, deepest=deepest)


def plain(value: Any, *, deepest: int = DEEPEST) -> Json:
    """A value as JSON that can be kept: valid Unicode, finite numbers, so many levels at most.

    A whole number beyond 64 bits becomes a real one, as most readers of JSON have it.
    """
    try:
        return _plain(value, deepest)
    except _TooDeep:
        raise _too_deep(deepest) from None


def valid_unicode(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair, which no file, hash or request can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class _TooDeep(NotPlain):
    """Found somewhere inside; the message is made where the bound is known."""


def _too_deep(deepest: int) -> NotPlain:
    return NotPlain(f"nested deeper than {deepest} levels")


def _plain(value: Any, levels: int) -> Json:
    if isinstance(value, str):
        return valid_unicode(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if not isinstance(value, Mapping | list | tuple):
        raise NotPlain(f"no plain data: it holds a {type(value).__name__}")
    if not levels:
        raise _TooDeep
    if isinstance(value, Mapping):
        return {valid_unicode(str(key)): _plain(item, levels - 1) for key, item in value.items()}
    return [_plain(item, levels - 1) for item in value]


def _number(value: float) -> float:
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise NotPlain("no JSON: it holds a number that is not finite")
    return number


def _refuse_constant(name: str) -> None:
    """JSON has no NaN and no infinity, whatever Python's parser takes."""
    raise NotPlain(f"not valid JSON: it holds {name}")
