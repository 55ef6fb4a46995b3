"""Caps on a run's spend, from its settings: the meter, the price, and how a run ends that reached its cap."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from chase.cli.settings import integer
from chase.core.errors import BudgetExhausted, UserError
from chase.methods.accounting import paid_before
from chase.models.config import Price
from chase.models.meter import Meter
from chase.store.reader import Reader

BUDGET: Mapping[str, Any] = {"budget_usd": None, "budget_tokens": None, "price": None}
"""Settings that decide no result, with their defaults."""


def make_meter(settings: Mapping[str, Any]) -> Meter | None:
    """The run's meter; None where nothing is capped."""
    usd, tokens = settings["budget_usd"], settings["budget_tokens"]
    if usd is not None and not _is_amount(usd):
        raise UserError(f"budget_usd={usd} must be an amount of USD, 0 or more.")
    if tokens is not None:
        integer(settings, "budget_tokens", low=0, high=10**15)
    return None if usd is None and tokens is None else Meter(usd=usd, tokens=tokens)


def given_price(settings: Mapping[str, Any]) -> Price | None:
    """The price of the run's model: `IN,CACHED,OUT`, or three numbers in a list."""
    value = settings["price"]
    if value is None:
        return None
    parts = value.split(",") if isinstance(value, str) else value
    try:
        amounts = [float(part) if isinstance(part, str) else part for part in parts]
    except (TypeError, ValueError):
        amounts = []
    if len(amounts) != 3 or not all(_is_amount(amount) for amount in amounts):
        raise UserError(
            f"price={value} must be IN,CACHED,OUT: USD for a million tokens of input, cached input and output, "
            "such as 1.25,0.125,10."
        )
    return Price(input=amounts[0], cached=amounts[1], output=amounts[2])


def begin(meter: Meter | None, store: Reader, run: str) -> None:
    """Count what a run paid for before it was interrupted."""
    if meter is not None:
        paid, unpriced = paid_before(store.spend(run))
        meter.take_over(paid, unpriced=unpriced)


def paused(why: BudgetExhausted, meter: Meter | None, command: str | None) -> BudgetExhausted:
    """The end of a run that reached its cap. `command` goes on with a higher one; None: the same command does."""
    flag = "--budget-usd" if meter is not None and meter.reached == "usd" else "--budget-tokens"
    how = f"with `{command} {flag} MORE`" if command else f"by the same command with a higher {flag}"
    return BudgetExhausted(f"{why} What was finished is saved; go on {how}.")


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
