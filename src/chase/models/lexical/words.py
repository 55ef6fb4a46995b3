"""Words as the program compares them: lower case, no plural, no stop words; and the numbers that cells hold."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from chase.core.stop_words import STOP_WORDS

_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)?|\d+(?:\.\d+)?")
_STATES = re.compile(r"\bu\.\s?s\b\.?")
_FIGURE = re.compile(
    r"(?:[a-z]\s*)?(?P<open>\()?\s*(?P<sign>[-−–+])?\s*\$?\s*(?P<minus>[-−–])?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)\s*%?\s*\)?(?:\s*(?:[a-z*†‡]|\d{1,2}/)){0,2}",
    re.IGNORECASE,
)
"""A figure with what may stand around it: a currency sign, parentheses for a negative one, marks of notes."""


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without its possessive and its plural: near enough for comparing labels with questions."""
    word = re.sub(r"['’]s?$|['’]", "", word)
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and re.search(r"(?:ss|sh|ch|x|z)es$", word):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not re.search(r"(?:ss|us|is)$", word) else word


@lru_cache(maxsize=65536)
def stems(text: str) -> tuple[str, ...]:
    """The words of a text that count, in order, each once."""
    return tuple(dict.fromkeys(stem(word) for word in written_words(text)))


@lru_cache(maxsize=65536)
def bag(text: str) -> frozenset[str]:
    """The words of a text that count."""
    return frozenset(stems(text))


def written_words(text: str) -> tuple[str, ...]:
    """The words that count as they are written, for queries: a search may compare them letter by letter."""
    found = _WORD.findall(_STATES.sub("us", text.lower()))
    return tuple(dict.fromkeys(word for word in found if word not in STOP_WORDS))


@lru_cache(maxsize=65536)
def figure(cell: str) -> Decimal | None:
    """The number in a cell; None where it is none ('n.a.', '-', words)."""
    found = _FIGURE.fullmatch(cell.strip())
    if found is None:
        return None
    try:
        value = Decimal(found["digits"].replace(",", ""))
    except InvalidOperation:
        return None
    negative = bool(found["open"]) or found["minus"] is not None or (found["sign"] or "+") != "+"
    return -value if negative else value
