"""Numbers in an answer: value, sign and scale, exactly as they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

SCALES = ("trillion", "billion", "million", "thousand")
"""From the largest: where several stand beside a number, the largest counts."""
_LETTERS = {"k": "thousand", "m": "million", "mn": "million", "b": "billion", "bn": "billion", "tn": "trillion"}
_REACH = 20
"""How many characters after a number a scale word may stand."""
_NUMBER = re.compile(
    r"(?P<before>(?:[-−(]|[$€£¥] ?){0,6})"
    r"(?<![\w.])(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
    r"(?P<closing>%? ?\))?"
    r"(?P<letter> ?(?:k|mn?|bn?|tn)(?!\w))?",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"[+\-−]?(?:[0-9]{1,18}|[0-9]{1,3}(?:,[0-9]{3}){1,5})")
_SCALE_WORD = re.compile(rf"\b({'|'.join(SCALES)})s?\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A number as it stands in a text."""

    digits: str
    """With its thousands separators."""
    negative: bool
    scale: str | None
    start: int
    end: int

    @property
    def value(self) -> Decimal:
        return value_of(self.digits, self.negative)


def value_of(digits: str, negative: bool) -> Decimal:
    value = Decimal(digits.replace(",", ""))
    return value.copy_negate() if negative else value


def numbers_in(text: str) -> tuple[Number, ...]:
    """All numbers of a text in order. A minus sign and accounting parentheses both mean negative."""
    found = list(_NUMBER.finditer(text))
    starts = [match.start() for match in found[1:]] + [len(text)]
    return tuple(
        Number(
            digits=match["digits"],
            negative=_negative(text, match),
            scale=_scale(match["letter"], text[match.end() : min(until, match.end() + _REACH)]),
            start=match.start(),
            end=match.end(),
        )
        for match, until in zip(found, starts, strict=False)
    )


def _negative(text: str, match: re.Match[str]) -> bool:
    """A hyphen right after a word or a number joins (`1939-1945`); it is no sign."""
    before = match["before"]
    if "(" in before and match["closing"]:
        return True
    joins = match.start() > 0 and (text[match.start() - 1].isalnum() or text[match.start() - 1] == ")")
    return not joins and ("-" in before or "−" in before)


def _scale(letter: str | None, following: str) -> str | None:
    stated = {word.lower() for word in _SCALE_WORD.findall(following)}
    if letter:
        stated.add(_LETTERS[letter.strip().lower()])
    return next((scale for scale in SCALES if scale in stated), None)


def whole_number(text: str) -> int | None:
    """The whole number that a text is, with a sign and commas between thousands and nothing else."""
    bare = text.strip()
    return int(bare.replace(",", "").replace("−", "-")) if _WHOLE.fullmatch(bare) else None
