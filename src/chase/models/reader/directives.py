"""The small vocabulary of directives that the reader recognises in its prompt. Anything else it ignores.

| Written in the prompt, memory, guidance or tool instructions | What the reader does |
|---|---|
| `Search for the entity and each period.` | one query for each period, instead of one for each amount |
| `Search with the conditions.` | its own queries also name the conditions (approved, enacted, …) |
| `Read on.` | always reads the continuation of a document whose first window does not explain why it matches |
| `Read on in files with low X.` / `high X` | does so for documents on that side of an observable |
| `Do not read on.` | never does |
| `Prefer files with low X.` / `high X` | leans on an observable when it chooses what to open |
| `Check every condition.` | takes care not to accept records that fail a condition |
| `Look at every record.` | takes care not to overlook a record |
| `Use the calculator.` | computes with the calculator |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from chase.core.observables import OBSERVABLES
from chase.models.local import Vocabulary

Lean = tuple[str, Literal["low", "high"]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Directives:
    """What the reader was told."""

    by_period: bool = False
    with_conditions: bool = False
    read_on: Literal["habit", "always", "never"] = "habit"
    read_on_in: tuple[Lean, ...] = ()
    prefer: tuple[Lean, ...] = ()
    check_conditions: bool = False
    look_closely: bool = False
    calculator: bool = False


def _leans(pattern: str, text: str) -> tuple[Lean, ...]:
    found = re.findall(pattern + r" files with (low|high) ([a-z]+(?:-[a-z]+)*)", text)
    return tuple(dict.fromkeys((name, side) for side, name in found if name in OBSERVABLES))


@lru_cache(maxsize=1024)
def read_directives(text: str) -> Directives:
    """The directives in a text. Case and line breaks do not matter."""
    plain = re.sub(r"\s+", " ", text.lower())
    never = "do not read on" in plain
    always = re.search(r"(?<!do not )read on\.", plain) is not None
    return Directives(
        by_period="search for the entity and each period" in plain,
        with_conditions="search with the conditions" in plain,
        read_on="never" if never else "always" if always else "habit",
        read_on_in=_leans("read on in", plain),
        prefer=_leans("prefer", plain),
        check_conditions="check every condition" in plain,
        look_closely="look at every record" in plain,
        calculator="use the calculator" in plain,
    )


VOCABULARY = Vocabulary(
    phrases=(
        "Search for the entity and each period.",
        "Search with the conditions.",
        "Read on.",
        "Read on in files with low X.",
        "Do not read on.",
        "Prefer files with high X.",
        "Check every condition.",
        "Look at every record.",
        "Use the calculator.",
    ),
    read=read_directives,
)
"""`X` is any observable."""
