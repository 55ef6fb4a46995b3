"""What a Syn-Ledger task is made of: typed records, documents, arithmetic programs and questions.

Nothing here knows how anything is shown; that is the manifest's and the renderer's matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from chase.benchmarks.syn_ledger.families import FAMILIES, SMALL_FAMILIES, Family, Role


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """One ledger record."""

    entity: str
    period: str
    category: str
    status: str
    version: str
    basis: str
    amount: int


FIELDS = ("entity", "period", "category", "status", "version", "basis", "amount")
"""In the order in which every rendering shows them."""
ABSENT = ""
"""The value of a field that the records of a form do not have: it is not shown."""

Kind = Literal[
    "evidence", "other-period", "wrong-entity", "superseded", "inactive", "wrong-basis", "irrelevant-category"
]
DISTRACTORS: Mapping[Kind, int] = {
    "other-period": 2,
    "wrong-entity": 2,
    "superseded": 2,
    "inactive": 2,
    "wrong-basis": 1,
    "irrelevant-category": 1,
}
"""Ten distractors by why the question excludes their candidate block (inactive: cancelled, draft)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """Six records. `kind` and `block` are host-side: no agent sees them."""

    id: str
    kind: Kind
    records: tuple[Record, ...]
    block: tuple[int, ...]
    """Indices of the designated candidate-record block."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """What a question asks: the entity, the periods (current first; none of a plain one) and the family's program."""

    entity: str
    periods: tuple[str, ...]
    family: Family

    def text(self) -> str:
        names = {f"p{lag}": period for lag, period in enumerate(self.periods)}
        return f"For {self.entity}, {self.family.question.format(**names)} {self.family.conditions}"

    def admits(self, record: Record) -> bool:
        """Whether the record meets the conditions that hold for every required amount."""
        return (
            record.entity == self.entity
            and record.status in ("approved", ABSENT)
            and record.version in ("prevailing", ABSENT)
            and record.basis in ("enacted", ABSENT)
        )

    def satisfied(self, role: Role, record: Record) -> bool:
        """Whether the record is the one that the question means by this role."""
        return self.admits(record) and record.period == self.period(role) and record.category == role.category

    def period(self, role: Role) -> str:
        """The period of a required amount, if amounts have one."""
        return ABSENT if self.family.plain else self.periods[role.lag]


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One task, host-side: the agent sees the question and the rendered documents."""

    id: str
    number: int
    """32 × block + configuration."""
    query: Query
    question: str
    answer: int
    documents: tuple[Document, ...]
    """In the order of their opaque ids."""
    evidence: tuple[str, str]
    """Ids of the first and the second evidence document."""

    @property
    def block(self) -> int:
        return self.number // 32

    @property
    def configuration(self) -> int:
        return self.number % 32

    @property
    def family(self) -> Family:
        return self.query.family


def matches(query: Query, records: Iterable[Record]) -> dict[str, list[Record]]:
    """For each required amount, the records that satisfy its conditions."""
    found: dict[str, list[Record]] = {role.symbol: [] for role in query.family.roles}
    for record in filter(query.admits, records):
        for role in query.family.roles:
            if query.satisfied(role, record):
                found[role.symbol].append(record)
    return found


def solve(query: Query, records: Iterable[Record]) -> int | None:
    """The answer, or None where a required amount is missing or not unique."""
    found = matches(query, records)
    if any(len(records) != 1 for records in found.values()):
        return None
    return query.family.compute({symbol: records[0].amount for symbol, records in found.items()})


_QUESTION_FORMS: list[tuple[re.Pattern[str], Family]] = [
    (re.compile(re.sub(r"\\{p\d\\}", r"FY\\d{4}", re.escape(family.question))), family)
    for family in (*FAMILIES, *SMALL_FAMILIES)
]


def read_question(question: str) -> Query:
    """What a question asks, read from its text alone: the way back from `Query.text`."""
    entity, periods = read_slots(question)
    for form, family in _QUESTION_FORMS:
        if entity and form.search(question):
            return Query(entity=entity, periods=tuple(periods), family=family)
    raise ValueError(f"not a Syn-Ledger question: {question!r}")


def read_slots(question: str) -> tuple[str | None, Sequence[str]]:
    """The entity and the periods that a question names, in the order it names them."""
    entity = re.match(r"For ([^,]+),", question)
    periods = list(dict.fromkeys(re.findall(r"\bFY\d{4}\b", question)))
    return (entity.group(1) if entity else None), periods
