"""The scorer: our own implementation of the released `fuzzy_match_answer` at 0 % numerical tolerance.

The rules, in the order in which they decide:

1. An empty prediction, and one that says "unable to determine", is wrong.
2. A truth without numbers must stand in the prediction, whatever the case, quotes and parentheses.
3. A truth that is a bracketed list of numbers must be stated in its order and with no other number. Likely years
   beside it are passed over, unless the truth itself holds one.
4. Otherwise every number of the truth must be among the prediction's, and the texts around the numbers, where the
   truth has any, must overlap: one contains the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chase.benchmarks.officeqa.numbers import LIKELY_YEARS, SCALES, Number, numbers_in, same_number, same_sequence

VERSION = 1
_REFUSAL = "unable to determine"
_ASIDE = re.compile(r"[\"'“”‘’`()]")
_WORD = re.compile(r"[^\W_]+")
_NO_TEXT = frozenset(
    {*SCALES, *(f"{scale}s" for scale in SCALES), "and", "percent", "percentage", "dollar", "dollars", "cent", "cents"}
)
"""Words that belong to numbers: an answer made of numbers and these has no text."""


def fuzzy_match(truth: str, predicted: str) -> bool:
    """Whether a prediction states the truth. Never raises."""
    if not truth.strip() or not predicted.strip() or _REFUSAL in predicted.lower():
        return False
    wanted, stated = numbers_in(truth), numbers_in(predicted)
    if not wanted:
        return _contains(predicted, truth)
    text = _text_beside(truth, wanted)
    if not text and _bracketed(truth):
        listed = same_sequence(wanted, _without_years(stated, wanted))
        if listed or len(wanted) > 1:
            return listed
    found = all(any(same_number(number, other) for other in stated) for number in wanted)
    return found and (not text or _overlap(text, _text_beside(predicted, stated)))


def score(answer: str, predicted: str | None) -> float:
    """1 if the prediction states the answer, 0 otherwise."""
    return float(predicted is not None and fuzzy_match(answer, predicted))


def _contains(predicted: str, truth: str) -> bool:
    wanted = _plain(truth)
    return bool(wanted) and wanted in _plain(predicted)


def _plain(text: str) -> str:
    return " ".join(_ASIDE.sub("", text).lower().split())


def _bracketed(truth: str) -> bool:
    bare = truth.strip()
    return bare.startswith("[") and bare.endswith("]")


def _without_years(stated: Sequence[Number], wanted: Sequence[Number]) -> Sequence[Number]:
    """A prediction's numbers without the years that it mentions by the way."""
    if any(abs(number.value) in LIKELY_YEARS for number in wanted):
        return stated
    return [number for number in stated if not number.written_as_year]


def _text_beside(text: str, numbers: Sequence[Number]) -> str:
    """The words that are not part of a number, as they are compared."""
    parts, place = [], 0
    for number in numbers:
        parts.append(text[place : number.start])
        place = number.end
    parts.append(text[place:])
    return " ".join(word for word in _WORD.findall(" ".join(parts).lower()) if word not in _NO_TEXT)


def _overlap(wanted: str, stated: str) -> bool:
    return bool(stated) and (wanted in stated or stated in wanted)


FIXTURES: tuple[tuple[str, str | None, float], ...] = (
    ("1,234.5", "1234.50", 1.0),
    ("1,234.5", "The total was $1,234.5 in 1946.", 1.0),
    ("1,234.5", "1234.4", 0.0),
    ("(12.5)", "-12.5", 1.0),
    ("(12.5)", "12.5", 0.0),
    ("7 million", "7", 1.0),
    ("7 million", "7 billion", 0.0),
    ("6.2%", "6.2 percent", 1.0),
    ("[3, 5.5]", "[3, 5.5] (reported in 1946)", 1.0),
    ("[3, 5.5]", "[5.5, 3]", 0.0),
    ("[3, 5.5]", "[3, 5.5, 8]", 0.0),
    ("3 and 8", "8 and 3", 1.0),
    ("3 and 8", "3", 0.0),
    ("March 1957", "In March, 1957", 1.0),
    ("March 1957", "1957", 0.0),
    ("Customs duties", "It is 'customs duties'.", 1.0),
    ("Customs duties", "Customs", 0.0),
    ("12", "Unable to determine", 0.0),
    ("12", "", 0.0),
    ("12", None, 0.0),
)
"""(answer, prediction, verdict): correct, incorrect and malformed outputs that validation and the firewall replay."""
