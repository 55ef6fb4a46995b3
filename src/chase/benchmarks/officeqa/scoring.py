"""The scorer: our own implementation of the released `fuzzy_match_answer` at 0 % numerical tolerance.

The rules, in the order in which they decide:

1. An empty prediction, and one that says "unable to determine", is wrong.
2. Where truth or prediction has no numbers, the truth must stand in the prediction, whatever the case, outer quotes and
   what is in parentheses.
3. A truth that is one bracketed list of two numbers or more must be stated in its order and with no other number.
   Likely years beside it are passed over, unless the truth itself holds one.
4. Otherwise every number of the truth must be among the prediction's, and the texts around the numbers, where the
   truth has any, must overlap: one contains the other.
"""

from __future__ import annotations

import re

from chase.benchmarks.officeqa.numbers import (
    NUMBER,
    SCALES,
    lists,
    numbers_in,
    one_spelling,
    same_number,
    same_sequence,
)

VERSION = 2
_REFUSAL = "unable to determine"
_ASIDE = re.compile(r"\([^)]*\)")
_BRACKETED = re.compile(r"\[([^\[\]]+)\]")
_UNIT_WORD = re.compile(rf"\b(?:(?:{'|'.join((*SCALES, 'hundred'))})s?|percent(?:age)?|%)\b")
"""Words that belong to numbers: an answer made of numbers and these has no text."""
_LEAST_TEXT = 2
"""Letters that make a text: a single one beside a number says nothing."""


def fuzzy_match(truth: str, predicted: str) -> bool:
    """Whether a prediction states the truth. Never raises."""
    if not truth or not predicted or _REFUSAL in predicted.lower():
        return False
    wanted, stated = numbers_in(truth), numbers_in(predicted)
    if not wanted or not stated:
        return _bare(truth) in _bare(predicted)
    values = [number.value for number in wanted]
    body = _list_in(truth)
    if len(wanted) > 1 and body is not None and lists(body, values):
        if not any(number.likely_year for number in wanted):
            stated = tuple(number for number in stated if not number.likely_year)
        return lists(_list_in(predicted) or predicted, values) or same_sequence(wanted, stated)
    found = all(any(same_number(number, other) for other in stated) for number in wanted)
    return found and _texts_overlap(_text_beside(truth), _text_beside(predicted))


def score(answer: str, predicted: str | None) -> float:
    """1 if the prediction states the answer, 0 otherwise."""
    return float(predicted is not None and fuzzy_match(answer, predicted))


def _bare(text: str) -> str:
    """A text as one without numbers is compared: an abbreviation in parentheses does not count."""
    unquoted = text.strip().lower().strip('"').strip("'")
    return " ".join(_ASIDE.sub("", unquoted).split())


def _list_in(text: str) -> str | None:
    """What is in the one pair of brackets of a text that has no digit outside of it."""
    found = list(_BRACKETED.finditer(text))
    if len(found) != 1 or any(char.isdecimal() for char in text[: found[0].start()] + text[found[0].end() :]):
        return None
    return found[0][1]


def _text_beside(text: str) -> str:
    """The words that are not part of a number, as they are compared; empty where they are no text."""
    rest = NUMBER.sub("", one_spelling(text).lower()).replace(",", "")
    words = " ".join(re.sub(r"[^\w\s]", " ", _UNIT_WORD.sub("", rest)).split())
    return words if len(words) >= _LEAST_TEXT else ""


def _texts_overlap(wanted: str, stated: str) -> bool:
    return not wanted or (bool(stated) and (wanted in stated or stated in wanted))


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
