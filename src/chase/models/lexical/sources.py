"""Which document a question means that names one: a publication by its date, or a document by its number."""

from __future__ import annotations

import re
from collections.abc import Iterable

from chase.models.lexical.periods import MONTHS, first_period


def distance(source: str, name: str) -> int:
    """How far a document's name is from a publication that the question names: 0 where it has its date, or where no
    date is named.
    """
    period = first_period(source) if source else None
    if period is None or period.year is None:
        return 0
    if str(period.year) not in name:
        return 2
    month = period.month or 0
    named = MONTHS[month - 1][:3] in name.lower() or re.search(rf"(?<!\d)0?{month}(?!\d)", name) is not None
    return 0 if not month or named else 1


def is_called(name: str, texts: Iterable[str]) -> bool:
    """Whether a document's name or one of its headings says that it is, say, `report 12`."""
    kind, _, number = name.partition(" ")
    if not number:
        return False
    called = re.compile(rf"\b{kind}[\s_-]+(?:(?:no\.?|number|\#)\s*)?{number}\b", re.IGNORECASE)
    return any(called.search(text) for text in texts)
