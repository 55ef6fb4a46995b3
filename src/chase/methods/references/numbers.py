"""Numbers in texts: how an answer is recognised however it is written, and whether it can be worked out from others."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction
from itertools import combinations, permutations

NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
MOST_OPERANDS = 60
"""Numbers from which an answer is worked out; where more were read, nothing is said by finding three that fit."""


def numbers(text: str) -> set[str]:
    """The numbers in a text, without signs and separators: '1,234.50' is '1234.5'. What may be one number or a row of
    them ('120,310' in a table) is both.
    """
    found = NUMBER.findall(text)
    parts = [part for number in found if "," in number for part in number.split(",")]
    return {_canonical(number) for number in (*found, *parts)}


def plain_number(answer: str) -> str | None:
    """The number that an answer is, without its sign and unit sign; None where it is no number."""
    stripped = answer.strip().lstrip("+-−").strip("$€£ %")
    return _canonical(stripped) if NUMBER.fullmatch(stripped) else None


def worked_out(answer: str, read: Collection[str]) -> bool:
    """Whether a number is one that was read, the sum or difference of two or three of them, or the product, quotient,
    percentage or percentage change of two, rounded as the answer is. Signs do not count.
    """
    if answer in read:
        return True
    if len(read) > MOST_OPERANDS:
        return False
    operands, wanted = [Fraction(number) for number in read], Fraction(answer)
    places = len(answer.partition(".")[2])
    for x, y in permutations(operands, 2):
        ratios = (x / y, 100 * x / y, 100 * (x - y) / y) if y else ()
        if wanted in (x + y, abs(x - y), x * y) or any(round(abs(ratio), places) == wanted for ratio in ratios):
            return True
    signed = ((1, 1), (1, -1), (-1, 1), (-1, -1))
    return any(abs(x + p * y + q * z) == wanted for x, y, z in combinations(operands, 3) for p, q in signed)


def _canonical(number: str) -> str:
    whole, _, decimals = number.replace(",", "").partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole.lstrip('0') or '0'}{f'.{decimals}' if decimals else ''}"
