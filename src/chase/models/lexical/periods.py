"""Periods in a text: years, months and quarters, fiscal or calendar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

MONTHS = "january february march april may june july august september october november december".split()
_MONTH = {name: number for number, name in enumerate(MONTHS, start=1)}
_MONTH |= {name[:3]: number for name, number in _MONTH.items()} | {"sept": 9}
_QUARTER = {
    word: number
    for number, words in enumerate(("first 1st q1", "second 2nd q2", "third 3rd q3", "fourth 4th q4"), start=1)
    for word in words.split()
}
_KIND: dict[str, Literal["fiscal", "calendar"]] = {
    "fiscal": "fiscal", "fy": "fiscal", "calendar": "calendar", "cy": "calendar"
}  # fmt: skip
_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4}
_TOKEN = re.compile(r"[^\W\d_]+|\d+(?:st|nd|rd|th)\b|\d+(?:[.,/]\d+)*|[^\w\s]|_")
_BESIDE = frozenset("of in the year years month ended ending end , . - – — quarter quarters ( for".split())
"""What may stand between a year and what stands before it."""
_JOINED = frozenset("- – — > : . quarter".split())
"""What may stand between a year and a month or quarter after it."""
_AND = frozenset(["and", ",", "&"])


@dataclass(frozen=True, slots=True)
class Period:
    """A time that figures are for. Without a year it is part of one whose year stands elsewhere."""

    year: int | None = None
    month: int | None = None
    quarter: int | None = None
    kind: Literal["fiscal", "calendar"] | None = None

    def within(self, other: Period | None) -> Period:
        """This period with what it lacks taken from another one."""
        if other is None:
            return self
        return Period(
            self.year if self.year is not None else other.year,
            self.month if self.month is not None else other.month,
            self.quarter if self.quarter is not None else other.quarter,
            self.kind or other.kind,
        )

    def is_same(self, other: Period) -> bool:
        """Whether both are the same time, fiscal and calendar left aside."""
        return (self.year, self.month, self.quarter) == (other.year, other.month, other.quarter)

    @property
    def in_words(self) -> str:
        """As one would search for it."""
        month = MONTHS[self.month - 1] if self.month else ""
        quarter = f"{('first', 'second', 'third', 'fourth')[self.quarter - 1]} quarter" if self.quarter else ""
        return " ".join(part for part in (month, quarter, str(self.year or "")) if part)


@dataclass(frozen=True, slots=True)
class Mention:
    """A period where it stands in a text."""

    period: Period
    start: int
    end: int
    link: str = ""
    """The words between the mention before and this one."""


@lru_cache(maxsize=16384)
def first_period(text: str) -> Period | None:
    """The first period of a label; None where it names none."""
    found = mentions(text)
    return found[0].period if found else None


@lru_cache(maxsize=16384)
def mentions(text: str) -> tuple[Mention, ...]:
    """Every period that a text names, in order."""
    tokens = [(m.group().lower(), m.start(), m.end()) for m in _TOKEN.finditer(text)]
    words = [word for word, _, _ in tokens]
    used: set[int] = set()
    found: list[tuple[Period, int, int]] = []
    for place, word in enumerate(words):
        if _is_year(word):
            found += _around_year(words, place, used)
    found += _without_year(words, used)
    found.sort(key=lambda one: one[1])
    spans = [(period, tokens[first][1], tokens[last][2]) for period, first, last in found]
    ends = [0, *(end for _, _, end in spans)]
    return tuple(
        Mention(period, start, end, text[before:start].strip().lower() if before else "")
        for (period, start, end), before in zip(spans, ends, strict=False)
    )


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isascii() and word.isdigit() and 1700 <= int(word) <= 2199


def _around_year(words: Sequence[str], place: int, used: set[int]) -> list[tuple[Period, int, int]]:
    """The period of a year, or those of the months before it ('March and June 1980')."""
    period, first, others = Period(year=int(words[place])), place, list[tuple[Period, int, int]]()
    used.add(place)
    back = place - 1
    while back >= 0 and back not in used and place - back <= 8:
        word = words[back]
        part = _part(words, back)
        if part is not None and period.month is None and period.quarter is None and period.kind is None:
            period, first = part.within(period), back
            used.add(back)
        elif word in _KIND and period.kind is None:
            period, first = replace(period, kind=_KIND[word]), back
            used.add(back)
            break
        elif not (word in _BESIDE or (word.isdigit() and len(word) <= 2)):
            break
        back -= 1
    others = _more_parts(words, first, period, used)
    last = place
    if period.month is None and period.quarter is None:
        period, last = _after_year(words, place, period, used)
    return [*others, (period, first, last)]


def _part(words: Sequence[str], place: int) -> Period | None:
    """The month or the quarter that a word is. 'first' is a quarter only beside that word."""
    word = words[place]
    if word in _MONTH:
        return Period(month=_MONTH[word])
    if word == "q" and words[place + 1 : place + 2] in (["1"], ["2"], ["3"], ["4"]):
        return Period(quarter=int(words[place + 1]))
    if word in _QUARTER and (word[0] == "q" or "quarter" in words[place + 1 : place + 2]):
        return Period(quarter=_QUARTER[word])
    return None


def _more_parts(words: Sequence[str], first: int, period: Period, used: set[int]) -> list[tuple[Period, int, int]]:
    """Months and quarters in a list before the one that has the year."""
    found: list[tuple[Period, int, int]] = []
    place = first - 1
    while (period.month or period.quarter) and place >= 1 and words[place] in _AND:
        place -= 1
        if words[place] in ("quarter", "quarters"):
            place -= 1
        part = _part(words, place) if place not in used else None
        if part is None:
            break
        found.append((part.within(Period(period.year, kind=period.kind)), place, place))
        used.add(place)
        place -= 1
    return found


def _after_year(words: Sequence[str], place: int, period: Period, used: set[int]) -> tuple[Period, int]:
    """A year with the month or quarter that follows it: '1980-Mar.', '1980 > First quarter', '1980 Q1', '1980-IV'."""
    ahead = place + 1
    while ahead < len(words) and words[ahead] in _JOINED and ahead - place <= 2:
        ahead += 1
    part = _part(words, ahead) if ahead < len(words) and ahead not in used else None
    if part is None and ahead == place + 2 == len(words) - 1 and words[ahead] in _ROMAN:
        part = Period(quarter=_ROMAN[words[ahead]])
    following = words[ahead + 1 : ahead + 3]
    if part is None or any(_is_year(word) for word in following):
        return period, place
    used.add(ahead)
    return part.within(period), ahead


def _without_year(words: Sequence[str], used: set[int]) -> list[tuple[Period, int, int]]:
    """Months and quarters that stand alone. 'May' may be a verb and 'mar' a word: only what leads a label counts."""
    found = []
    for place in range(len(words)):
        part = _part(words, place) if place not in used else None
        if part is not None and (words[place] != "may" or len(words) <= 2):
            found.append((part, place, place))
    return found
