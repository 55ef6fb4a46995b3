"""The numbers that an answer states, as the released scorer reads them: value, sign and scale.

A text is brought into one spelling first: blanks single, one kind of minus sign, accounting parentheses as a minus
sign, no currency signs, no thousands separators. What is then a run of digits with decimals is a number, wherever it
stands, and a hyphen right before it is its sign.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CURRENCIES = "$£€¥₹¢₩₽"
SCALES = {"trillion": "", "billion": "b", "million": "m", "thousand": "k"}
"""From the largest, which counts where several stand beside a number; each with the letter that may stand for it."""
REACH = 20
"""Characters before and after a number in which a scale is looked for."""
_MOST_CHUNKS = 12
"""Of three digits in one number of a list: a long run of commas is no number, and must not take long."""
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_ACCOUNTING = re.compile(rf"\( ?(?P<currency>[{CURRENCIES}])? ?(?P<digits>{_DIGITS}) ?\)")
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?!\d)")
NUMBER = re.compile(r"-?\d+(?:\.\d*)?%?")
_ITEM = re.compile(rf"-?{_DIGITS}%?")
_SCALE = {scale: re.compile(rf"\b(?:{scale}s?{f'|{letter}' if letter else ''})\b") for scale, letter in SCALES.items()}


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it stands in a text."""

    value: float
    scale: str | None = None

    @property
    def likely_year(self) -> bool:
        return likely_year(self.value)


def likely_year(value: float) -> bool:
    return 1900 <= value <= 2100 and value.is_integer()


def one_spelling(text: str) -> str:
    """Blanks single, and one kind of minus sign."""
    return " ".join(text.replace("−", "-").split())


def numbers_in(text: str) -> tuple[Number, ...]:
    """All numbers of a text in order."""
    bare = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), _plain(one_spelling(text)))
    around = bare.lower()
    return tuple(
        Number(float(found[0].rstrip("%")), _scale(around[max(0, found.start() - REACH) : found.end() + REACH]))
        for found in NUMBER.finditer(bare)
    )


def same_number(one: Number, other: Number) -> bool:
    """Equal, in scales that may mean the same: one that only one side states is taken as understood."""
    compatible = one.scale is None or other.scale is None or one.scale == other.scale
    return compatible and one.value == other.value and math.isfinite(one.value)


def same_sequence(one: Sequence[Number], other: Sequence[Number]) -> bool:
    return len(one) == len(other) and all(map(same_number, one, other))


def lists(text: str, values: Sequence[float]) -> bool:
    """Whether a text is these values and nothing else, one after the other, in some grouping of its comma chunks.

    `711,810` may be one number or two: a comma without a blank beside it separates thousands or items.
    """
    chunks = text.split(",")
    reached = {0}
    for value in values:
        reached = {end for start in reached for end, found in _items(chunks, start) if found == value}
    return len(chunks) in reached


def _items(chunks: Sequence[str], start: int) -> Iterator[tuple[int, float]]:
    """(the place after it, the value) of every number that consecutive chunks from a place on can be."""
    for end in range(start + 1, min(len(chunks), start + _MOST_CHUNKS) + 1):
        item = ",".join(chunks[start:end]).strip()
        if end > start + 1 and re.search(r"\s,|,\s", item):
            return
        bare = _plain(one_spelling(item))
        if _ITEM.fullmatch(bare):
            yield end, float(bare.rstrip("%").replace(",", ""))


def _plain(text: str) -> str:
    """Without currency signs, and with parentheses around nothing but an amount as a minus sign; around a year they are
    parentheses.
    """
    return re.sub(f"[{CURRENCIES}]", "", _ACCOUNTING.sub(_signed, text))


def _signed(found: re.Match[str]) -> str:
    a_year = not found["currency"] and likely_year(float(found["digits"].replace(",", "")))
    return found[0] if a_year else f"-{found['digits']}"


def _scale(around: str) -> str | None:
    return next((scale for scale, words in _SCALE.items() if words.search(around)), None)
