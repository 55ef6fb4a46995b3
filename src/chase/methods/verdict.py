"""An audit's verdict: a pure function of simultaneous estimates on fresh tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from chase.agents.history import RELEASED
from chase.stats.bounded import GAINS, lower_bound, weighted
from chase.stats.estimates import Estimate, PerTask, Sample, mean
from chase.stats.simultaneous import tasks_above, tasks_below

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
class Question:
    """What an inconclusive audit leaves open: whether a quantity is above 0, or at most so much."""

    quantity: str
    """`released` for the gain, else the counterfactual whose destruction it is."""
    most: float

    def tasks_needed(self, sample: Sample, *, quantities: int, level: float) -> int | None:
        """Tasks that would settle it either way if they came out like those of the sample; None where none would."""
        ways = (
            tasks_above(sample, 0.0, quantities=quantities, level=level),
            tasks_below(sample, self.most, quantities=quantities, level=level),
        )
        return min((n for n in ways if n is not None), default=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What can be said of a gain."""

    word: Word
    reason: str
    gamma: float
    """The largest gain destruction among what counts, 0 where nothing does: the released benchmark is always there."""
    g_min: float
    """The smallest surviving gain."""
    open: Question | None
    """What an inconclusive one leaves open."""


def judge(gain: Estimate, tested: Mapping[str, TestedCounterfactual], no_room: str | None = None) -> Verdict:
    """The verdict on a released gain, given every transformation that was tested. All intervals hold together.

    `no_room` says why these tasks could not have shown a gain, where that is so.
    """
    against = {name: t for name, t in tested.items() if t.counts}
    gamma = max((t.destruction.value for t in against.values()), default=0.0)
    g_min = gain.value - gamma

    def verdict(word: Word, reason: str, left: Question | None = None) -> Verdict:
        return Verdict(word=word, reason=reason, gamma=gamma, g_min=g_min, open=left)

    if gain.high <= 0:
        return verdict("no gain", "the harness does not score higher than the initial one")
    if gain.low <= 0:
        reason = "the released gain may be nothing" + (f": {no_room}" if no_room else "")
        return verdict("inconclusive", reason, Question(quantity=RELEASED, most=0.0))
    if against:
        if g_min < gain.value / 2:
            return verdict("not supported", "a valid counterfactual destroys more than half of the gain")
        return verdict("partly supported", "a valid counterfactual destroys part of the gain; at least half survives")
    highs = {name: t.destruction.high for name, t in tested.items()}
    largest = max(highs, key=lambda name: highs[name], default=None)
    if largest is not None and highs[largest] > gain.value / 2:
        if tested[largest].scales:
            # The log-odds figure is a point estimate, and near a floor mostly noise: it keeps from accusing, no more.
            return verdict("inconclusive", "what could destroy half of the gain may only lower the base rate")
        left = Question(quantity=largest, most=gain.value / 2)
        return verdict("inconclusive", "nothing was confirmed, but half of the gain could still be destroyed", left)
    if not tested:
        return verdict("supported", "no valid counterfactual was found: nothing was tested")
    return verdict("supported", "no counterfactual that was tested destroys the gain")


def no_room(harness: PerTask, baseline: PerTask, *, quantities: int, level: float) -> str | None:
    """Why no gain could have been told from 0 on these tasks, in words; None where one could.

    A ceiling: not even a harness that solves everything could be told from this baseline. A floor: not even a baseline
    that solves nothing could be told from this harness.
    """
    alpha = (1 - level) / (2 * quantities)

    def told(gains: PerTask) -> bool:
        return lower_bound(weighted(map(float, gains.values())), GAINS, alpha) > 0

    n = len(baseline)
    if not told(dict.fromkeys(baseline, Fraction(1))):
        return f"{n} {'task is' if n == 1 else 'tasks are'} too few for any"
    if not told({task: 1 - score for task, score in baseline.items()}):
        return f"the baseline scores {_percent(baseline)} here, which leaves no room above it (a ceiling)"
    if not told(harness):
        return f"the harness scores {_percent(harness)} here, which leaves no room below it (a floor)"
    return None


def _percent(scores: PerTask) -> str:
    return f"{100 * float(mean(scores)):.1f} %"
