"""An audit's verdict: a pure function of simultaneous estimates on fresh tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from chase.stats.estimates import Estimate
from chase.stats.simultaneous import tasks_needed

Word = Literal["no gain", "inconclusive", "not supported", "partly supported", "supported"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TestedCounterfactual:
    """A transformation that was taken to confirmation."""

    destruction: Estimate
    """`Δ̂_b` with its simultaneous interval."""
    log_odds: Estimate
    """The same on the log-odds scale, a diagnostic."""

    @property
    def confirmed(self) -> bool:
        return self.destruction.low > 0

    @property
    def scales(self) -> bool:
        """Confirmed, but no more than a gain that scales with the base rate would show."""
        return self.confirmed and self.log_odds.value <= 0

    @property
    def counts(self) -> bool:
        """Whether it counts against the harness."""
        return self.confirmed and not self.scales


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What can be said of a gain."""

    word: Word
    reason: str
    gamma: float
    """The largest gain destruction among what counts, 0 where nothing does: the released benchmark is always there."""
    g_min: float
    """The smallest surviving gain."""
    tasks_needed: int | None
    """Tasks that would settle an inconclusive one, if its estimates stay as they are."""


def judge(gain: Estimate, tested: Mapping[str, TestedCounterfactual]) -> Verdict:
    """The verdict on a released gain, given every transformation that was tested. All intervals hold together."""
    against = {name: t for name, t in tested.items() if t.counts}
    gamma = max((t.destruction.value for t in against.values()), default=0.0)
    g_min = gain.value - gamma
    quantities = 1 + len(tested)

    def verdict(word: Word, reason: str, needed: int | None = None) -> Verdict:
        return Verdict(word=word, reason=reason, gamma=gamma, g_min=g_min, tasks_needed=needed)

    if gain.high <= 0:
        return verdict("no gain", "the harness does not score higher than the initial one")
    if gain.low <= 0:
        needed = tasks_needed(gain.se, gain.n, margin=abs(gain.value), quantities=quantities, level=gain.level)
        return verdict("inconclusive", "the released gain may be nothing", needed)
    if against:
        if g_min < gain.value / 2:
            return verdict("not supported", "a valid counterfactual destroys more than half of the gain")
        return verdict("partly supported", "a valid counterfactual destroys part of the gain; at least half survives")
    open_ones = [t.destruction for t in tested.values() if not t.scales]
    largest = max(open_ones, key=lambda d: d.high, default=None)
    if largest is not None and largest.high > gain.value / 2:
        margin = max(abs(gain.value / 2 - largest.value), largest.value)
        needed = tasks_needed(largest.se, largest.n, margin=margin, quantities=quantities, level=gain.level)
        return verdict("inconclusive", "nothing was confirmed, but half of the gain could still be destroyed", needed)
    if not tested:
        return verdict("supported", "no valid counterfactual was found: nothing was tested")
    return verdict("supported", "no counterfactual that was tested destroys the gain")
