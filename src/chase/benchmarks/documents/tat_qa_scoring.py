"""Answers of TAT-QA: numbers with their scale, spans, several spans, counts. Our own code.

An answer is a text, or a JSON list of texts (several spans). A piece that is a number is right if the prediction states
one number that is the same at its scale, rounded to the answer's decimals: `12.6 million` is neither `12.6` nor
`12.6 billion`, and `22.2 percent` is `22.2%` and `0.222`. Any other piece is compared by its words: equal (`exact`), or
by the F1 of the two bags of words (`f1`). Of several pieces the best pairs are taken one by one, and the sum is
divided by the larger number of pieces.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from chase.benchmarks.documents.numbers import Number, numbers_in

Measure = Literal["f1", "exact"]
FACTORS = {
    "": Decimal(1),
    "percent": Decimal("0.01"),
    "thousand": Decimal(10) ** 3,
    "million": Decimal(10) ** 6,
    "billion": Decimal(10) ** 9,
    "trillion": Decimal(10) ** 12,
}
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_ARTICLES = frozenset({"a", "an", "the"})
_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b)", re.IGNORECASE)
_AROUND = re.compile(
    r"(?i)\b(?:thousand|million|billion|trillion|percent|per cent|usd|us|dollars?)s?\b|[\s$€£¥%().,\-−+]"
)
_LARGEST = Decimal(10) ** 40


def score(answer: str, predicted: str, measure: Measure = "f1") -> float:
    """How right a prediction is. Never raises."""
    wanted = pieces(answer)
    given = pieces(predicted) if len(wanted) > 1 else [predicted.strip()]
    if len(wanted) > 1 and len(given) == 1:
        given = _divided(predicted)
    pairs = sorted(
        ((_piece(w, g, measure), i, j) for i, w in enumerate(wanted) for j, g in enumerate(given)),
        key=lambda pair: (-pair[0], pair[1], pair[2]),
    )
    total, left, right = 0.0, set[int](), set[int]()
    for value, i, j in pairs:
        if i not in left and j not in right:
            total += value
            left.add(i)
            right.add(j)
    found = total / max(len(wanted), len(given))
    return float(found == 1.0) if measure == "exact" else found


def pieces(text: str) -> list[str]:
    """The spans of a JSON list, or the text itself."""
    if text.lstrip().startswith("["):
        try:
            held = json.loads(text)
        except (ValueError, RecursionError):
            return [text.strip()]
        if isinstance(held, list) and held and all(isinstance(part, str) for part in held):
            return [part.strip() for part in held]
    return [text.strip()]


def _divided(text: str) -> list[str]:
    """Several spans in one line, as people write them."""
    for separator in (";", "\n", ", and ", " and ", ", "):
        parts = [part.strip() for part in text.strip(" []").split(separator) if part.strip()]
        if len(parts) > 1:
            return [p.strip() for part in parts for p in part.split(", ")] if "and" in separator else parts
    return [text.strip()]


def _piece(wanted: str, given: str, measure: Measure) -> float:
    number = as_number(wanted)
    if number is not None:
        stated = numbers_in(given)
        return float(len(stated) == 1 and _same(number, wanted, stated[0], given))
    left, right = _bag(wanted), _bag(given)
    if measure == "exact" or not left or not right:
        return float(left == right and bool(left))
    shared = sum((left & right).values())
    return 2 * shared / (left.total() + right.total())


def as_number(text: str) -> Number | None:
    """The number that a text is, with scale, sign and currency and nothing else."""
    found = numbers_in(text)
    if len(found) != 1:
        return None
    rest = text[: found[0].start] + text[found[0].end :]
    return found[0] if not _AROUND.sub("", rest) else None


def _same(wanted: Number, text: str, given: Number, predicted: str) -> bool:
    unit = FACTORS[_scale(wanted, text)]
    value = given.value * FACTORS[_scale(given, predicted)] / unit
    if abs(value) > _LARGEST or abs(wanted.value) > _LARGEST:
        return False
    places = Decimal(1).scaleb(min(0, int(wanted.value.as_tuple().exponent)))
    return value.quantize(places, rounding=ROUND_HALF_UP) == wanted.value


def _scale(number: Number, text: str) -> str:
    return "percent" if _PERCENT.match(text, number.end) else number.scale or ""


def _bag(text: str) -> Counter[str]:
    words: Sequence[str] = _WORD.findall(text.lower())
    return Counter(word.replace(",", "") for word in words if word not in _ARTICLES)
