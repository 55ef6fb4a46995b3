"""Periods that figures are given for, and the editions that print them.

A month is counted as `12 * year + month - 1`, and an edition is the month that it appeared in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PeriodKind = Literal["fiscal", "calendar", "quarter", "month", "to date"]
MONTHS = "January February March April May June July August September October November December".split()
_ORDINALS = ("1st", "2nd", "3rd", "4th")
LAST_YEAR = 2025
QUARTERLY_SINCE = 1983
FIRST_YEAR = 1939
LAG_MONTHS = 2
"""Between the end of a period and the first edition that can print it."""


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """A fiscal year (October to September), a calendar year, a quarter, a month, or a fiscal year's first months."""

    kind: PeriodKind
    year: int
    part: int = 1
    """Which quarter or month of the year, from 1; to date: how many months."""

    @property
    def first(self) -> int:
        if self.kind in ("fiscal", "to date"):
            return 12 * self.year - 3
        return 12 * self.year + {"calendar": 0, "quarter": 3 * (self.part - 1), "month": self.part - 1}[self.kind]

    @property
    def last(self) -> int:
        months = {"fiscal": 12, "calendar": 12, "quarter": 3, "month": 1, "to date": self.part}
        return self.first + months[self.kind] - 1

    @property
    def spoken(self) -> str:
        if self.kind == "month":
            return f"{MONTHS[self.part - 1]} {self.year}"
        if self.kind == "quarter":
            return f"the {('first', 'second', 'third', 'fourth')[self.part - 1]} quarter of {self.year}"
        return f"{self.kind} year {self.year}"

    def label(self, style: int) -> str:
        """As a table of an edition writes it."""
        if self.kind == "month":
            name = MONTHS[self.part - 1]
            return (f"{self.year}-{name}", f"{name} {self.year}", f"{self.year}-{_short(name)}")[style % 3]
        if self.kind == "quarter":
            roman = ("I", "II", "III", "IV")[self.part - 1]
            name = f"{_ORDINALS[self.part - 1]} quarter"
            return (f"{self.year}-{roman}", f"{self.year}, {name}", f"{name} {self.year}")[style % 3]
        return f"Fiscal {self.year} to date" if self.kind == "to date" else str(self.year)

    @property
    def column(self) -> str:
        """As the header of a column."""
        if self.kind == "month":
            return f"{self.year} > {MONTHS[self.part - 1]}"
        if self.kind == "quarter":
            return f"{self.year} > {_ORDINALS[self.part - 1]} quarter"
        return f"{self.kind.capitalize()} year > {self.year}"


def _short(name: str) -> str:
    return name if len(name) <= 4 else f"{name[:4] if name == 'September' else name[:3]}."


def latest(kind: PeriodKind, edition: int, count: int) -> tuple[Period, ...]:
    """The last `count` periods of a kind that an edition can print, oldest first."""
    end = edition - LAG_MONTHS
    if kind == "month":
        return tuple(Period(kind, m // 12, m % 12 + 1) for m in range(end - count + 1, end + 1))
    if kind == "quarter":
        last = (end + 1) // 3
        return tuple(Period(kind, q // 4, q % 4 + 1) for q in range(last - count, last))
    last = (end + 1) // 12 if kind == "calendar" else (end + 4) // 12
    return tuple(Period(kind, year, 1) for year in range(last - count, last))


def editions(count: int, place: float) -> tuple[int, ...]:
    """So many neighbouring editions, oldest first; `place` in [0, 1) says where on the calendar.

    Monthly from 1939, quarterly from 1983, as the bulletin appeared; more than that appeared are monthly, to 2025.
    """
    until = 12 * (LAST_YEAR + 1)
    appeared = [*range(12 * FIRST_YEAR, 12 * QUARTERLY_SINCE), *range(12 * QUARTERLY_SINCE + 2, until, 3)]
    if count > len(appeared):
        return tuple(range(until - count, until))
    skipped = int(place * (len(appeared) - count + 1))
    return tuple(appeared[skipped : skipped + count])


def edition_stem(edition: int) -> str:
    return f"treasury_bulletin_{edition // 12}_{edition % 12 + 1:02}"


def edition_spoken(edition: int) -> str:
    return f"{MONTHS[edition % 12]} {edition // 12}"
