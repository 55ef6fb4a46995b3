"""Figures in words, the same wherever they are shown: percent, points, intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chase.stats.contrasts import SHARES

Found = Mapping[str, Any]
"""An estimate as results have it: `{value, se, n, low, high, level}`."""
NOTHING = "–"
CLOSE = 0.005
"""To a border of the shares that are looked for: there an interval has no end."""
EXPLAINED = 0.9
"""Below it a finding says what the base rate leaves of the gain."""


def percent(fraction: float, digits: int = 1) -> str:
    """A score: `87.5 %`."""
    return f"{100 * fraction:.{digits}f} %"


def points(fraction: float, digits: int = 1) -> str:
    """A difference with its sign: `+7.1`; nothing has none that is negative."""
    said = f"{100 * fraction:+.{digits}f}"
    return said.replace("-", "+") if float(said) == 0 else said


def ends(estimate: Found) -> str:
    """Its interval: `+2.1 to +12.1`."""
    return f"{points(estimate['low'])} to {points(estimate['high'])}"


def with_ends(estimate: Found | None) -> str:
    """A difference with its interval, and a dash where it was not measured."""
    return f"{points(estimate['value'])} ({ends(estimate)})" if estimate else NOTHING


def with_error(estimate: Found | None) -> str:
    """A difference ± its standard error."""
    return f"{points(estimate['value'])} ± {100 * estimate['se']:.1f}" if estimate else NOTHING


def share_with_ends(share: Found | None) -> str:
    """`39 % (24 to 56 %)`; of an interval with an end beyond what is looked for, the other end."""
    if share is None:
        return NOTHING
    low, value, high = (f"{100 * share[key]:.0f}" for key in ("low", "value", "high"))
    open_below, open_above = share["low"] < SHARES[0] + CLOSE, share["high"] > SHARES[1] - CLOSE
    if open_below and open_above:
        return f"{value} % (nothing is sure)"
    if open_above:
        return f"{value} % (at least {low} %)"
    return f"{value} % (at most {high} %)" if open_below else f"{value} % ({low} to {high} %)"


def millions(tokens: float) -> str:
    return f"{tokens / 1e6:,.2f}"


def usd(cost: float | None) -> str:
    return "cost unknown" if cost is None else f"${cost:,.4f}"


def printable(text: str) -> str:
    """A text of others' (a model's, a document's, a provider's) that cannot steer a terminal or turn a page's text.

    What is neither printable nor a line break or tab is spelled out.
    """
    text = text.replace("\r\n", "\n")
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)
