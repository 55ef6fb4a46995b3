"""The smallest gain and the smallest gain destruction that tasks can show, before anything is measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from chase.stats.interval_power import POWER, Drawn, Values, reaches_power
from chase.stats.power import USUAL_SCORE

LOST_SHARE, AGREEMENT, CORRELATION = 0.04, 0.5, 0.3
PRECISION = 0.0005
"""To which an effect is looked for."""
GAIN_LOW, DESTRUCTION_LOW = -1, -2
"""The least values of one rollout's gain and gain destruction."""
SEED = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """Assumptions about rollouts that are still to come.

    A change (a harness for its baseline, a counterfactual for the released benchmark) loses `lost_share` of what was
    solved and wins as much elsewhere; an effect is won, or destroyed, on top of that. A gain is one such change and a
    gain destruction two, of the harness and of the baseline. The noise of independent rollouts with the same score
    `p` is `lost_share = p (1 − p)`; rollouts with common random numbers have less, in our studies 0.00 to 0.04.
    """

    base_rate: float = USUAL_SCORE
    """The baseline's score: no gain is larger than what it leaves."""
    lost_share: float = LOST_SHARE
    rollouts: int = 1
    agreement: float = AGREEMENT
    """The correlation between the rollouts of a task."""
    correlation: float = CORRELATION
    """Between the tasks of a cluster."""

    def __post_init__(self) -> None:
        if not 0 <= self.lost_share <= min(self.base_rate, 0.5) or self.base_rate > 1:
            raise ValueError(f"lost_share={self.lost_share:g} must lie between 0 and base_rate={self.base_rate:g}, ½")


@dataclass(frozen=True, kw_only=True, slots=True)
class Detectable:
    """The smallest effects of which the lower bound is above 0 with the power; None where there is no room for one."""

    gain: float | None
    destruction: float | None
    tasks: int
    clusters: int
    level: float
    power: float
    design: Design


def detectable(
    tasks: int | Sequence[int],
    *,
    level: float = 0.95,
    quantities: int = 1,
    power: float = POWER,
    design: Design | None = None,
) -> Detectable:
    """The smallest gain and gain destruction that so many independent tasks show, or clusters of so many tasks each.

    The gain has an interval of `level` of its own, and `quantities` destructions share one (Bonferroni). A gain is
    detectable up to `1 − base_rate − lost_share`, a destruction up to `1 − 2 lost_share`. Tasks of a cluster share
    their outcome with the correlation of the design, clusters are independent.
    """
    design = design or Design()
    sizes = Counter([1] * tasks if isinstance(tasks, int) else tasks)
    lost, alpha = design.lost_share, (1 - level) / 2
    if not sizes or min(sizes) < 1:
        raise ValueError("no tasks to detect anything with")

    def smallest(rollout: Callable[[float], Values], low: int, alpha: float, most: float) -> float | None:
        def shown(effect: float) -> bool:
            task = dependent_sum(rollout(effect), design.rollouts, design.agreement)
            drawn = _Samples(task=task, rollouts=design.rollouts, low=low, sizes=sizes, correlation=design.correlation)
            return reaches_power(drawn, alpha, power)

        return _least_effect(shown, most)

    return Detectable(
        gain=smallest(lambda g: _change(lost, g), GAIN_LOW, alpha, 1 - design.base_rate - lost),
        destruction=smallest(
            lambda d: np.convolve(_change(lost, d), _change(lost, 0.0)),
            DESTRUCTION_LOW,
            alpha / quantities,
            1 - 2 * lost,
        ),
        tasks=sum(size * count for size, count in sizes.items()),
        clusters=sizes.total(),
        level=level,
        power=power,
        design=design,
    )


def _change(lost: float, effect: float) -> Values:
    """The probabilities of −1, 0 and 1."""
    won = lost + effect
    return np.array([lost, max(0.0, 1 - lost - won), won])


def dependent_sum(shares: Values, count: int, correlation: float) -> Values:
    """The distribution of a sum of so many equal variables on 0, 1, 2, …, every two of them with this correlation:
    each is a common draw with probability `√correlation`, and else one of its own.
    """
    if count == 1:
        return shares
    steps = len(shares)
    length = count * (steps - 1) + 1
    common = correlation**0.5
    given = (1 - common) * shares + common * np.eye(steps)
    powers = np.fft.rfft(given, n=2 * length, axis=1) ** count
    found = np.clip(np.fft.irfft(shares @ powers, n=2 * length)[:length], 0.0, None)
    total: Values = found / found.sum()
    return total


@dataclass(frozen=True, kw_only=True, slots=True)
class _Samples:
    """Simulated samples of clusters with these sizes, from the distribution of a task's sum over its rollouts."""

    task: Values
    rollouts: int
    low: int
    """The least value of one rollout."""
    sizes: Counter[int]
    correlation: float

    def __call__(self, draws: int) -> Drawn:
        rng = np.random.default_rng(SEED)
        parts = [self._of_size(size, count, draws, rng) for size, count in sorted(self.sizes.items())]
        return Drawn(
            above=np.concatenate([above for above, _ in parts], axis=1),
            counts=np.concatenate([counts for _, counts in parts], axis=1),
            border=np.full(draws, -float(self.low * max(self.sizes))),
        )

    def _of_size(self, size: int, count: int, draws: int, rng: np.random.Generator) -> tuple[Values, Values]:
        """Sums of clusters: by value with its count where that is shorter, and else one by one."""
        shares = dependent_sum(self.task, size, self.correlation)
        sums = np.arange(len(shares)) / self.rollouts + self.low * size
        if len(sums) <= count:
            counts = rng.multinomial(count, shares, size=draws).astype(float)
            return np.broadcast_to(sums, counts.shape), counts
        return rng.choice(sums, size=(draws, count), p=shares), np.ones((draws, count))


def _least_effect(shown: Callable[[float], bool], most: float) -> float | None:
    if most <= 0 or not shown(most):
        return None
    low, high = 0.0, most
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high
