"""Hashes and random draws that depend on a key alone, never on order, process or platform."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable
from typing import Any

_CONSONANTS = "bcdfghjkmnpqrstvwxz"


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """The SHA-256 of a value's canonical JSON, in hex."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def key_bits(*key: object) -> int:
    """256 bits decided by the key. Keys are told apart by their parts' text and number."""
    text = "\x1f".join(str(part) for part in key)
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def rng(*key: object) -> random.Random:
    """A random generator that the key alone decides."""
    return random.Random(key_bits(*key))


def uniform(*key: object) -> float:
    """One draw from [0, 1) that the key alone decides."""
    return (key_bits(*key) >> 203) / (1 << 53)


def opaque_id(*key: object, letters: int = 8) -> str:
    """An identifier that carries nothing: consonants only, so neither a word nor a number."""
    bits = key_bits("opaque-id", *key)
    out = []
    for _ in range(letters):
        bits, index = divmod(bits, len(_CONSONANTS))
        out.append(_CONSONANTS[index])
    return "".join(out)


def sorted_by_key(items: Iterable[str], *key: object) -> list[str]:
    """The items in an order that the key decides, whatever order they came in."""
    return sorted(items, key=lambda item: key_bits(*key, item))
