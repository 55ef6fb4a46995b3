"""The scorer: a number within a tolerance, or names, with partial credit where several are asked for."""

from __future__ import annotations

import re
from decimal import Decimal

VERSION = 1
TOLERANCE = Decimal("0.001")
"""Of a number, relative to the answer."""
_NUMBER = re.compile(r"[+\-−]?(?:[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(?:\.[0-9]{1,9})?")


def number(text: str) -> Decimal | None:
    """The number that a text states and nothing else, or None."""
    found = _NUMBER.fullmatch(text.strip())
    return Decimal(found[0].replace(",", "").replace("−", "-")) if found else None


def close(truth: Decimal, stated: Decimal) -> bool:
    return abs(stated - truth) <= TOLERANCE * abs(truth)


def names(text: str) -> frozenset[str]:
    """The names in an answer, as they are compared."""
    return frozenset(" ".join(part.lower().split()) for part in text[:1000].split(";")) - {""}


def score(answer: str, output: str | None) -> float:
    """1 for the right number or exactly the right names; for names that are partly right, the share that is."""
    if output is None:
        return 0.0
    truth = number(answer)
    if truth is not None:
        stated = number(output)
        return float(stated is not None and close(truth, stated))
    right, said = names(answer), names(output)
    return len(right & said) / len(right | said)


FIXTURES: tuple[tuple[str, str | None, float], ...] = (
    ("23.4", "23.4", 1.0),
    ("23.4", " 23.40\n", 1.0),
    ("2340", "2,340", 1.0),
    ("2340", "2341", 1.0),
    ("2340", "2345", 0.0),
    ("-3.1", "−3.1", 1.0),
    ("-3.1", "3.1", 0.0),
    ("23.4", "23.4 tonnes", 0.0),
    ("23.4", "About 23.4", 0.0),
    ("23.4", "", 0.0),
    ("23.4", None, 0.0),
    ("Brack", "brack", 1.0),
    ("Brack", "Brack.", 0.0),
    ("Brack", "Brack; Colm", 0.5),
    ("Brack; Colm", "Colm; Brack", 1.0),
    ("Brack; Colm", "Colm", 0.5),
    ("Brack; Colm", "Colm; Dorn", 1 / 3),
    ("Brack; Colm", "Dorn", 0.0),
    ("Ilva Marsh", "Ilva  Marsh", 1.0),
    ("Ilva Marsh", "", 0.0),
)
"""(answer, output, verdict): outputs that validation and the firewall replay."""
