"""Which rollouts may start under a cap: those that can be expected to be paid for to their end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from chase.core.errors import BudgetExhausted
from chase.core.values import Usage
from chase.models.meter import NOTHING, Amount, Meter, amount_of


@dataclass
class Typical:
    """What finished rollouts used on average."""

    count: int = 0
    total: Amount = NOTHING

    def add(self, usage: Usage) -> None:
        self.count += 1
        self.total += amount_of(usage)

    @property
    def mean(self) -> Amount | None:
        return self.total * (1 / self.count) if self.count else None


@dataclass(frozen=True, kw_only=True)
class Room:
    """Whether so many rollouts of about so many tokens each fit under a cap."""

    meter: Meter | None
    tokens: float
    rollouts: int

    def require(self) -> None:
        """Refuse (`BudgetExhausted`) where they do not."""
        expected = Amount(tokens=self.tokens * self.rollouts)
        if self.meter is not None and self.rollouts and self.meter.short_of(expected):
            count = f"{self.rollouts:,} rollouts" if self.rollouts > 1 else "a rollout"
            raise self.meter.exhausted(f"what is left to do, {count} on sealed tasks that stay sealed,", expected)


class Gate:
    """One evaluation's. Each rollout enters it before it starts and leaves it at its end.

    A rollout starts if those running and itself, each at the mean of this evaluation (until one has finished, of
    `earlier` ones), fit under the cap. Where only running ones stand in the way it waits. While nothing is known of
    what a rollout takes, one runs at a time. Without a meter the gate is open.
    """

    def __init__(self, meter: Meter | None, earlier: Typical) -> None:
        self._meter = meter
        self._earlier = earlier
        self._here = Typical()
        self._running = 0
        self._left = asyncio.Event()
        self.closed: BudgetExhausted | None = None
        """Why no further rollout starts."""

    async def enter(self) -> bool:
        """Whether one more rollout may start; if so it must leave."""
        while self._meter is not None and self.closed is None:
            mean = self._here.mean or self._earlier.mean
            if mean is None and not self._running:
                break
            if mean is not None and not self._meter.short_of(mean * (self._running + 1)):
                break
            if self._running:
                await self._left.wait()
            else:
                self.close(self._meter.exhausted("a rollout", mean or NOTHING))
        if self.closed is not None:
            return False
        self._running += 1
        return True

    def leave(self, usage: Usage | None) -> None:
        """A rollout has ended; without usage it was not finished."""
        self._running -= 1
        if usage is not None and usage.requests:  # what asked no model says nothing of those that do
            self._here.add(usage)
            self._earlier.add(usage)
        self._wake()

    def close(self, why: BudgetExhausted) -> None:
        """Start nothing more. What runs may go on as far as the meter lets it."""
        self.closed = self.closed or why
        self._wake()

    def _wake(self) -> None:
        self._left.set()
        self._left = asyncio.Event()
