"""What a Syn-Ledger task is made of: typed records, documents, arithmetic programs and questions.

Nothing here knows how anything is shown; that is the manifest's and the renderer's matter.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


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
class Role:
    """One required amount: the category, and how many periods before the current one."""

    symbol: str
    category: str
    lag: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """A row of the paper's table of task families."""

    name: str
    first: tuple[Role, ...]
    """Required amounts in the first evidence document."""
    second: tuple[Role, ...]
    question: str
    compute: Callable[[Mapping[str, int]], int | None]
    draw: Callable[[int, random.Random], dict[str, int]]
    """Amounts that give the answer; the answer is fixed first."""

    @property
    def roles(self) -> tuple[Role, ...]:
        return self.first + self.second

    @property
    def periods(self) -> int:
        return 1 + max(role.lag for role in self.roles)


def _draw_difference(answer: int, rng: random.Random) -> dict[str, int]:
    y = rng.randint(120, 880)
    return {"x": y + answer, "y": y}


def _draw_total(answer: int, rng: random.Random) -> dict[str, int]:
    x = rng.choice((-1, 1)) * rng.randint(210, 880)
    return {"x": x, "y": answer - x}


def _draw_net(answer: int, rng: random.Random) -> dict[str, int]:
    x, y = rng.randint(420, 880), rng.choice((-1, 1)) * rng.randint(110, 190)
    return {"x": x, "y": y, "z": x + y - answer}


def _draw_share(answer: int, rng: random.Random) -> dict[str, int]:
    step = 100 // math.gcd(answer, 100)
    y = step * rng.randint(-(-1000 // step), 4000 // step)
    return {"x": answer * y // 100, "y": y}


def _draw_gap(answer: int, rng: random.Random) -> dict[str, int]:
    x, y = rng.randint(120, 480), rng.randint(120, 480)
    return {"x": x, "y": y, "z": x + y + answer}


def _share(amounts: Mapping[str, int]) -> int | None:
    x, y = amounts["x"], amounts["y"]
    return 100 * x // y if y and 100 * x % y == 0 else None


FAMILIES: tuple[Family, ...] = (
    Family(
        name="period-difference",
        first=(Role(symbol="x", category="appropriation"),),
        second=(Role(symbol="y", category="appropriation", lag=1),),
        question="by how much does the appropriation in {p0} exceed the appropriation in {p1}?",
        compute=lambda a: a["x"] - a["y"],
        draw=_draw_difference,
    ),
    Family(
        name="combined-total",
        first=(Role(symbol="x", category="capital adjustment"),),
        second=(Role(symbol="y", category="operations adjustment"),),
        question="what do the capital adjustment and the operations adjustment in {p0} add up to?",
        compute=lambda a: a["x"] + a["y"],
        draw=_draw_total,
    ),
    Family(
        name="net-balance",
        first=(Role(symbol="x", category="appropriation"), Role(symbol="y", category="adjustment")),
        second=(Role(symbol="z", category="obligation"),),
        question="what is left in {p0} of the appropriation plus the adjustment after the obligation?",
        compute=lambda a: a["x"] + a["y"] - a["z"],
        draw=_draw_net,
    ),
    Family(
        name="integer-share",
        first=(Role(symbol="x", category="allocated amount"),),
        second=(Role(symbol="y", category="reference total"),),
        question="what percentage of the reference total in {p0} is the allocated amount?",
        compute=_share,
        draw=_draw_share,
    ),
    Family(
        name="reconciliation-gap",
        first=(Role(symbol="z", category="reported total"),),
        second=(
            Role(symbol="x", category="direct component"),
            Role(symbol="y", category="indirect component"),
        ),
        question="how far is the reported total in {p0} above the direct component plus the indirect component?",
        compute=lambda a: a["z"] - (a["x"] + a["y"]),
        draw=_draw_gap,
    ),
)

_CONDITIONS = "Use only approved records on the enacted basis in their prevailing version. Answer with one integer."


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """What a question asks: the entity, the periods (current first) and the family's program."""

    entity: str
    periods: tuple[str, ...]
    family: Family

    def text(self) -> str:
        names = {f"p{lag}": period for lag, period in enumerate(self.periods)}
        return f"For {self.entity}, {self.family.question.format(**names)} {_CONDITIONS}"

    def admits(self, record: Record) -> bool:
        """Whether the record meets the conditions that hold for every required amount."""
        return (
            record.entity == self.entity
            and record.status == "approved"
            and record.version == "prevailing"
            and record.basis == "enacted"
        )

    def satisfied(self, role: Role, record: Record) -> bool:
        """Whether the record is the one that the question means by this role."""
        return self.admits(record) and record.period == self.periods[role.lag] and record.category == role.category


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
    (re.compile(re.sub(r"\\{p\d\\}", r"FY\\d{4}", re.escape(family.question))), family) for family in FAMILIES
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
