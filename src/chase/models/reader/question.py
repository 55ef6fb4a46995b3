"""What a question asks, read from its text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

Amounts = Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """One amount that the question needs."""

    symbol: str
    category: str
    period: str

    def stands_in(self, record: Mapping[str, str]) -> bool:
        """Whether a record is of its category and period."""
        return record.get("period") == self.period and record.get("category") == self.category


@dataclass(frozen=True, kw_only=True, slots=True)
class Understood:
    """A question as the reader understands it."""

    entity: str
    periods: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    conditions: frozenset[str]
    """Values that a record must show beside entity, period and category."""
    arithmetic: str
    """The expression, with the amounts' symbols in braces."""
    text: str

    def expression(self, amounts: Amounts) -> str:
        """The arithmetic with the amounts filled in."""
        return self.arithmetic.format(**{symbol: f"({amount})" for symbol, amount in amounts.items()})

    def matches(self, wanted: Wanted, record: Mapping[str, str]) -> bool:
        """Whether a record is about the amount, whatever its conditions say."""
        return record.get("entity") == self.entity and wanted.stands_in(record)

    def conforms(self, record: Mapping[str, str]) -> bool:
        """Whether a record meets every condition of the question."""
        return self.conditions <= set(record.values())


_SHAPES: tuple[tuple[str, str, str], ...] = (
    (r"by how much does the (?P<x>.+?) in (?P<px>FY\d+) exceed the (?P<y>.+?) in (?P<py>FY\d+)", "xy", "{x} - {y}"),
    (r"what do the (?P<x>.+?) and the (?P<y>.+?) in (?P<p>FY\d+) add up to", "xy", "{x} + {y}"),
    (
        r"what is left in (?P<p>FY\d+) of the (?P<x>.+?) plus the (?P<y>.+?) after the (?P<z>.+?)\?",
        "xyz",
        "{x} + {y} - {z}",
    ),
    (r"what percentage of the (?P<y>.+?) in (?P<p>FY\d+) is the (?P<x>.+?)\?", "xy", "100 * {x} / {y}"),
    (
        r"how far is the (?P<z>.+?) in (?P<p>FY\d+) above the (?P<x>.+?) plus the (?P<y>.+?)\?",
        "xyz",
        "{z} - ({x} + {y})",
    ),
)
"""(pattern, amounts, arithmetic) of the questions that the reader has learned to understand."""

_CONDITIONS = re.compile(r"only (\w+) records on the (\w+) basis in their (\w+) version")


@lru_cache(maxsize=4096)
def understand(question: str) -> Understood | None:
    """The question's meaning, or None where it is none of the shapes that the reader knows."""
    entity = re.match(r"For ([^,]+),", question)
    for pattern, symbols, arithmetic in _SHAPES:
        found = re.search(pattern, question)
        if entity is None or found is None:
            continue
        groups = found.groupdict()
        wanted = tuple(Wanted(symbol=s, category=groups[s], period=groups.get(f"p{s}") or groups["p"]) for s in symbols)
        conditions = _CONDITIONS.search(question)
        return Understood(
            entity=entity.group(1),
            periods=tuple(dict.fromkeys(amount.period for amount in wanted)),
            wanted=wanted,
            conditions=frozenset(conditions.groups() if conditions else ()),
            arithmetic=arithmetic,
            text=question,
        )
    return None
