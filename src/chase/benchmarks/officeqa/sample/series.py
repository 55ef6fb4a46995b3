"""The figures behind the sample: every series by month in four vintages, and what an edition prints of them.

All numbers come from uniform draws, products and sums of whole numbers, so that they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from chase.benchmarks.officeqa.sample.periods import Period, PeriodKind
from chase.benchmarks.officeqa.sample.vocabulary import SUBJECTS, Family, Nature
from chase.core.keyed import key_bits, uniform

Array = NDArray[np.int64]

PRELIMINARY, REVISED, FINAL, RESTATED = range(4)
PRELIMINARY_MONTHS, REVISED_MONTHS = 4, 15
"""Up to which age a figure is preliminary, and then revised."""
UNIT_MONTHS = 30
"""After how long a table may change its unit."""
BASES = ("", " (daily statement basis)", " (accrual basis)", " (former classification)")
KINDS: tuple[tuple[PeriodKind, ...], ...] = (("fiscal",), ("fiscal", "month"), ("month",), ("calendar",), ("quarter",))


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as tables state it. A printed figure is a whole number of steps."""

    words: str
    step: int
    decimals: int = 0

    def text(self, steps: int) -> str:
        if not self.decimals:
            return f"{steps:,}"
        whole, rest = divmod(abs(steps), 10**self.decimals)
        return f"{'-' if steps < 0 else ''}{whole:,}.{rest:0{self.decimals}}"

    def phrase(self, steps: int) -> str:
        """A figure in running text: "$1,234 million"."""
        scale, of, rest = self.words.partition(" of ")
        if self.words == "dollars" or rest == "dollars":
            return f"${self.text(steps)}{f' {scale[:-1]}' if of else ''}"
        return f"{self.text(steps)} {f'{scale[:-1]} {rest}' if of else self.words}"


_SMALL = (Unit("dollars", 1), Unit("thousands of dollars", 10**3), Unit("millions of dollars", 10**5, 1))
_MIDDLE = (
    Unit("thousands of dollars", 10**3),
    Unit("millions of dollars", 10**6),
    Unit("millions of dollars", 10**5, 1),
)
_LARGE = (*_MIDDLE, Unit("billions of dollars", 10**7, 2))
_OUNCES = (Unit("fine troy ounces", 1), Unit("thousands of fine troy ounces", 10**3))
_PERCENT = (Unit("percent", 1, 2),)


@dataclass(frozen=True, slots=True)
class Topic:
    """The subject of a table that editions print again and again."""

    code: str
    section: str
    title: str
    items: tuple[str, ...]
    """Header paths, joined by " > "."""
    family: Family
    nature: Nature
    start: float
    kinds: tuple[PeriodKind, ...]
    across: bool
    """Whether periods are columns and items rows."""

    @property
    def units(self) -> tuple[Unit, ...]:
        if self.family == "money":
            return _SMALL if self.start < 1e6 else _MIDDLE if self.start < 1e8 else _LARGE
        return _OUNCES if self.family == "ounces" else _PERCENT


def topics() -> tuple[Topic, ...]:
    """All topics: each subject for several kinds of periods, some of them on another basis with other figures."""
    return tuple(
        Topic(
            code=subject.code if number == 0 else f"{subject.code}{'ABC'[number - 1]}",
            section=subject.section,
            title=subject.title + BASES[number],
            items=tuple(subject.items.split("; ")) + (("Total",) if subject.nature != "rate" else ()),
            family=subject.family,
            nature=subject.nature,
            start=subject.start * (1, 0.9, 1.2, 0.8)[number],
            kinds=KINDS[(place + 2 * number) % len(KINDS)],
            across=(place + number) % 3 == 2,
        )
        for place, subject in enumerate(SUBJECTS)
        for number in range(2 + place % 3)
    )


class World:
    """All series of one seed (any text that all draws start with)."""

    def __init__(self, seed: str, first_month: int, last_month: int) -> None:
        self.seed = seed
        self._first = first_month
        self._months = last_month - first_month + 1
        self._sums = lru_cache(maxsize=None)(self._make_sums)

    def unit(self, topic: Topic, edition: int) -> Unit:
        """The unit that an edition prints a topic in; it changes every few years."""
        regime = (edition + key_bits(self.seed, "regime", topic.code) % UNIT_MONTHS) // UNIT_MONTHS
        return topic.units[key_bits(self.seed, "unit", topic.code, regime) % len(topic.units)]

    def vintage(self, topic: Topic, period: Period, edition: int) -> int:
        """How far a figure has been revised when an edition prints it."""
        restated = self._restated(topic)
        if period.last < restated <= edition:
            return RESTATED
        age = edition - period.last
        return PRELIMINARY if age < PRELIMINARY_MONTHS else REVISED if age < REVISED_MONTHS else FINAL

    def printed(self, topic: Topic, periods: Sequence[Period], edition: int) -> list[list[int]]:
        """What an edition prints: for each period, each item's figure as a number of the unit's steps."""
        step = self.unit(topic, edition).step
        rows = np.stack([self._value(topic, period, edition) for period in periods])
        return ((rows + step // 2) // step).tolist()  # type: ignore[no-any-return]

    def amount(self, topic: Topic, item: int, period: Period, edition: int) -> Decimal:
        """The figure that an edition prints, in dollars, percent or ounces."""
        unit = self.unit(topic, edition)
        steps = self.printed(topic, [period], edition)[0][item]
        return Decimal(steps * unit.step) / (100 if topic.family == "percent" else 1)

    def _restated(self, topic: Topic) -> int:
        return self._first + int((0.2 + 0.7 * uniform(self.seed, "restated", topic.code)) * self._months)

    def _value(self, topic: Topic, period: Period, edition: int) -> Array:
        sums = self._sums(topic)[self.vintage(topic, period, edition)]
        first, last = period.first - self._first, period.last - self._first
        if topic.nature == "stock":
            return sums[:, last + 1] - sums[:, last]
        total = sums[:, last + 1] - sums[:, first]
        return total // (last + 1 - first) if topic.nature == "rate" else total

    def _make_sums(self, topic: Topic) -> list[Array]:
        """For each vintage, every item's figures by month, summed up from the first month."""
        draws = np.random.Generator(np.random.PCG64(key_bits(self.seed, "series", topic.code) % 2**64))
        count = len(topic.items) - (topic.nature != "rate")
        final = self._rates(topic, draws, count) if topic.nature == "rate" else self._amounts(topic, draws, count)
        shift = 0.03 * (draws.random(final.shape) - 0.5) * (draws.random(final.shape) < 0.5)
        restated = 1 + 0.06 * (draws.random((count, 1)) - 0.5)
        vintages = [final * (1 + shift), final * (1 + shift / 4), final, final * restated]
        return [_summed(np.floor(values).astype(np.int64), total=topic.nature != "rate") for values in vintages]

    def _amounts(self, topic: Topic, draws: np.random.Generator, count: int) -> NDArray[np.float64]:
        trend = 1.0035 + 0.003 * (draws.random((count, 1)) - 0.5)
        steps = trend + 0.03 * (draws.random((count, self._months)) - 0.5)
        size = topic.start * (0.2 + 1.8 * draws.random((count, 1)) ** 2)
        season = 0.75 + 0.5 * draws.random((count, 12)) if topic.nature == "flow" else np.ones((count, 12))
        months = (self._first + np.arange(self._months)) % 12
        return size * np.cumprod(steps, axis=1) * season[:, months]

    def _rates(self, topic: Topic, draws: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Walks that turn back between one and eleven percent, in hundredths of a percent."""
        walk = topic.start + np.cumsum(40 * (draws.random((count, self._months)) - 0.48), axis=1)
        return 100 + np.abs((walk - 100) % 2000 - 1000)


def _summed(values: Array, *, total: bool) -> Array:
    if total:
        values = np.concatenate([values, values.sum(axis=0, keepdims=True)])
    return np.concatenate([np.zeros((len(values), 1), np.int64), np.cumsum(values, axis=1)], axis=1)
