"""The numbers that an answer states: value, sign and scale, as bulletins and models write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

LIKELY_YEARS = range(1900, 2101)
SCALES = ("trillion", "billion", "million", "thousand")
"""From the largest: where several stand beside a number, the largest counts."""
_LETTERS = {"k": "thousand", "m": "million", "mn": "million", "b": "billion", "bn": "billion", "tn": "trillion"}
_REACH = 20
"""How many characters after a number a scale word may stand."""
_MOST_CHUNKS = 12
"""Of three digits in one number: a long run of commas is no number, and must not take long."""
_NUMBER = re.compile(
    r"(?P<before>(?:[-−(]|[$€£¥] ?){0,6})"
    r"(?<![\w.])(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
    r"(?P<closing>%? ?\))?"
    r"(?P<letter> ?(?:k|mn?|bn?|tn)(?!\w))?",
    re.IGNORECASE,
)
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

    @property
    def written_as_year(self) -> bool:
        return self.digits.isdigit() and len(self.digits) == 4 and int(self.digits) in LIKELY_YEARS


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


def compatible(one: str | None, other: str | None) -> bool:
    """Whether two scales may mean the same: a scale that only one side states is taken as understood."""
    return one is None or other is None or one == other


def same_number(one: Number, other: Number) -> bool:
    return one.value == other.value and compatible(one.scale, other.scale)


def same_sequence(one: Sequence[Number], other: Sequence[Number]) -> bool:
    """Whether two lists state the same numbers in the same order, in some grouping of their comma chunks.

    `711,810` may be one number or two: a comma without a space separates thousands or items.
    """
    left, right = _chunks(one), _chunks(other)
    reached = {(0, 0)}
    for place in range(len(left)):
        for _, across in [pair for pair in reached if pair[0] == place]:
            reached |= {
                (end, stop)
                for end, number in _groups(left, place)
                for stop, rival in _groups(right, across)
                if same_number(number, rival)
            }
    return (len(left), len(right)) in reached


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


def _chunks(numbers: Sequence[Number]) -> list[tuple[Number, str, bool]]:
    """(number, the digits between two commas, whether they may go on with the next chunk)."""
    return [
        (number, digits, place < number.digits.count(","))
        for number in numbers
        for place, digits in enumerate(number.digits.split(","))
    ]


def _groups(chunks: Sequence[tuple[Number, str, bool]], start: int) -> Iterator[tuple[int, Number]]:
    """(the place after it, the number) of every grouping of chunks that starts at a place."""
    first = start == 0 or not chunks[start - 1][2]
    digits = ""
    for place in range(start, min(len(chunks), start + _MOST_CHUNKS)):
        number, more, goes_on = chunks[place]
        digits += more
        scale = None if goes_on else number.scale
        yield (
            place + 1,
            Number(digits=digits, negative=number.negative and first, scale=scale, start=number.start, end=number.end),
        )
        if not goes_on:
            return
