"""Task families: what is asked, of which amounts it is worked out, how these are drawn. The paper's, and small ones."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

CONDITIONS = "Use only approved records on the enacted basis in their prevailing version. Answer with one integer."
SMALL_CONDITIONS = "Answer with one integer."


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
    conditions: str = CONDITIONS
    """What the question says after asking."""
    plain: bool = False
    """Whether the category alone decides: amounts have no period, and all of a task's records are of one entity."""

    @property
    def roles(self) -> tuple[Role, ...]:
        return self.first + self.second

    @property
    def periods(self) -> int:
        return 1 + max(role.lag for role in self.roles) if not self.plain else 0


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


def _draw_small_difference(answer: int, rng: random.Random) -> dict[str, int]:
    y = rng.randint(21, 99)
    return {"x": y + answer, "y": y}


def _draw_small_sum(answer: int, rng: random.Random) -> dict[str, int]:
    x = rng.randint(2, answer - 2)
    return {"x": x, "y": answer - x}


def _small_difference(name: str, question: str, x: Role, y: Role) -> Family:
    return Family(
        name=name,
        first=(x,),
        second=(y,),
        question=question,
        compute=lambda a: a["x"] - a["y"],
        draw=_draw_small_difference,
        conditions=SMALL_CONDITIONS,
        plain=True,
    )


SMALL_FAMILIES: tuple[Family, ...] = (
    _small_difference(
        "small-funding-gap",
        "by how much does the appropriation exceed the allocated amount?",
        Role(symbol="x", category="appropriation"),
        Role(symbol="y", category="allocated amount"),
    ),
    Family(
        name="small-combined-total",
        first=(Role(symbol="x", category="capital adjustment"),),
        second=(Role(symbol="y", category="operations adjustment"),),
        question="what is the sum of the capital adjustment and the operations adjustment?",
        compute=lambda a: a["x"] + a["y"],
        draw=_draw_small_sum,
        conditions=SMALL_CONDITIONS,
        plain=True,
    ),
    _small_difference(
        "small-net-balance",
        "how much larger is the appropriation than the obligation?",
        Role(symbol="x", category="appropriation"),
        Role(symbol="y", category="obligation"),
    ),
    _small_difference(
        "small-allocation-gap",
        "how much larger is the reference total than the allocated amount?",
        Role(symbol="x", category="reference total"),
        Role(symbol="y", category="allocated amount"),
    ),
    _small_difference(
        "small-reconciliation-gap",
        "how much larger is the reported total than the direct component?",
        Role(symbol="x", category="reported total"),
        Role(symbol="y", category="direct component"),
    ),
)
"""Two amounts each, below 200, one in each evidence document: within reach of a model of a billion parameters."""
