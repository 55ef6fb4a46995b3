"""What a run may spend and what it has spent: one meter for all of its models."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal

from chase.core.errors import BudgetExhausted, UserError
from chase.core.values import Usage

Cap = Literal["tokens", "usd"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Amount:
    """Tokens, cached input included, and USD. Expected amounts may be fractions."""

    tokens: float = 0
    usd: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(tokens=self.tokens + other.tokens, usd=self.usd + other.usd)

    def __sub__(self, other: Amount) -> Amount:
        return self + other * -1

    def __mul__(self, count: float) -> Amount:
        return Amount(tokens=self.tokens * count, usd=self.usd * count)


NOTHING = Amount()


def amount_of(usage: Usage) -> Amount:
    """What was used, with an unknown cost as nothing."""
    return Amount(tokens=usage.input_tokens + usage.output_tokens, usd=usage.cost_usd or 0.0)


class Meter:
    """Caps on a run's spend. Used by the run's models on one event loop; they ask it before every request.

    A request reserves what it is expected to use, and what it used is charged when its reply is there. A request that
    cannot fit raises `BudgetExhausted`; one that only requests under way keep from fitting waits for them. So a cap is
    passed by no more than what requests under way use beyond their expectation.
    """

    def __init__(self, *, usd: float | None = None, tokens: int | None = None) -> None:
        self.usd = usd
        self.tokens = tokens
        self.spent = NOTHING
        self.reached: Cap | None = None
        """The cap that something was refused for."""
        self._reserved = NOTHING
        self._under_way = 0
        self._settled = asyncio.Event()

    def take_over(self, paid: Usage, *, unpriced: int = 0) -> None:
        """Count what the run paid for before. The cost of `paid` is that of its requests with a known one.

        An unknown cost counts as the mean of the known ones; where none is known a cap in USD cannot be kept.
        """
        self.spent = amount_of(paid)
        if unpriced and self.usd is not None:
            priced = paid.requests - unpriced
            if not priced:
                raise UserError(
                    f"budget_usd={self.usd:g}: the run made {unpriced} requests before whose cost is unknown: "
                    "use --budget-tokens."
                )
            self.spent += Amount(usd=self.spent.usd / priced * unpriced)

    def short_of(self, ahead: Amount) -> Cap | None:
        """The cap that would be passed if so much more were spent."""
        after = self.spent + ahead
        if self.tokens is not None and after.tokens > self.tokens:
            return "tokens"
        if self.usd is not None and after.usd > self.usd:
            return "usd"
        return None

    async def reserve(self, expected: Amount) -> None:
        """Admit a request, now or when requests under way have left room. Each admitted one must be settled."""
        while self.short_of(self._reserved + expected):
            if not self._under_way or self.short_of(expected):
                raise self.exhausted("the next request", expected)
            await self._settled.wait()
        self._reserved += expected
        self._under_way += 1

    def settle(self, reserved: Amount, used: Amount) -> None:
        """Give a reservation back and charge what was used."""
        self.spent += used
        self._under_way -= 1
        self._reserved = self._reserved - reserved if self._under_way else NOTHING  # no dust of fractions stays
        self._settled.set()
        self._settled = asyncio.Event()

    def charge(self, usage: Usage) -> None:
        """Count what somebody used who did not ask before."""
        self.spent += amount_of(usage)

    def exhausted(self, what: str, expected: Amount) -> BudgetExhausted:
        """The refusal of something that does not fit."""
        self.reached = self.short_of(expected) or self.reached
        needs = f"${expected.usd:.4f}" if self.reached == "usd" else f"{expected.tokens:,.0f} tokens"
        return BudgetExhausted(f"budget reached: {self.said()} spent, and {what} needs about {needs}.")

    def said(self) -> str:
        """What is spent of what may be, in words."""
        parts = []
        if self.tokens is not None:
            parts.append(f"{self.spent.tokens:,.0f} of {self.tokens:,} tokens")
        if self.usd is not None:
            parts.append(f"${self.spent.usd:.4f} of ${self.usd:g}")
        return " and ".join(parts) + (" are" if self.tokens is not None else " is")
