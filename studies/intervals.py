"""Do the intervals hold what they say, and what do they cost? Coverage and width by simulation.

`python -m studies.intervals` draws task values like ours (rare differences, averages of three rollouts, scores at the
ceiling, rare large losses), makes 95 % intervals of each sample, and counts on which side the true mean is missed. It
compares the bounded intervals (`chase.stats.bounded`) with the normal ones that CHASE had before, Student's t, and
betting (hedged capital, Waudby-Smith and Ramdas 2024). About two minutes on one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from scipy.stats import t as student_t

from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES, Support, interval
from studies.reader_scores import write

SIZES = (2, 5, 12, 48, 200, 448)
LEVEL = 0.95
Values = NDArray[np.float64]
Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A distribution of one task's value."""

    what: str
    support: Support
    values: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.dot(self.values, self.shares))

    def draw(self, rng: np.random.Generator, n: int) -> Values:
        return rng.choice(self.values, size=n, p=self.shares)


def averages(before: float, after: float, rollouts: int = 3) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The difference of two averages of rollouts that succeed with these probabilities."""
    shares: dict[float, float] = {}
    for lower, upper in product(range(rollouts + 1), repeat=2):
        value = (upper - lower) / rollouts
        both = binom.pmf(lower, rollouts, before) * binom.pmf(upper, rollouts, after)
        shares[value] = shares.get(value, 0.0) + float(both)
    return tuple(shares), tuple(shares.values())


_AVERAGED = averages(0.8, 0.9)
CASES = {
    "no difference": Case(what="gain, never any", support=GAINS, values=(0.0,), shares=(1.0,)),
    "rare gain": Case(what="gain on 2 % of tasks", support=GAINS, values=(0.0, 1.0), shares=(0.98, 0.02)),
    "rare both": Case(
        what="gain on 3 %, loss on 2 %", support=GAINS, values=(-1.0, 0.0, 1.0), shares=(0.02, 0.95, 0.03)
    ),
    "shortcut": Case(
        what="gain on 16 %, loss on 4 %", support=GAINS, values=(-1.0, 0.0, 1.0), shares=(0.04, 0.8, 0.16)
    ),
    "averages": Case(
        what="three rollouts each, 80 % to 90 %", support=GAINS, values=_AVERAGED[0], shares=_AVERAGED[1]
    ),
    "rare destruction": Case(
        what="destruction of 1 on 2 %, of 2 on 1 %", support=DESTRUCTIONS, values=(0.0, 1.0, 2.0),
        shares=(0.97, 0.02, 0.01),
    ),
    "ceiling": Case(what="score of 98 %", support=SCORES, values=(0.0, 1.0), shares=(0.02, 0.98)),
}  # fmt: skip


def bounded(values: Values, support: Support) -> Interval:
    return interval(values.tolist(), support, level=LEVEL)


def normal(values: Values, support: Support) -> Interval:
    return _wald(values, NormalDist().inv_cdf(0.5 + LEVEL / 2))


def student(values: Values, support: Support) -> Interval:
    return _wald(values, float(student_t.ppf(0.5 + LEVEL / 2, len(values) - 1)))


def _wald(values: Values, factor: float) -> Interval:
    radius = factor * float(values.std(ddof=1)) / len(values) ** 0.5
    return float(values.mean()) - radius, float(values.mean()) + radius


def betting(values: Values, support: Support) -> Interval:
    """Hedged capital with the predictable plug-in bets of the paper, on a grid of 800 means."""
    low, high = support
    x = (values - low) / (high - low)
    n, alpha = len(x), 1 - LEVEL
    times = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(x)) / (times + 1)
    spread = (0.25 + np.cumsum((x - means) ** 2)) / (times + 1)
    before = np.concatenate(([0.25], spread[:-1]))
    bets = np.sqrt(2 * np.log(2 / alpha) / (n * before))
    grid = np.linspace(0.0005, 0.9995, 800)[:, None]
    up = np.log1p(np.minimum(bets, 0.5 / grid) * (x - grid)).sum(axis=1)
    down = np.log1p(-np.minimum(bets, 0.5 / (1 - grid)) * (x - grid)).sum(axis=1)
    kept = grid[np.maximum(up, down) + np.log(0.5) < np.log(1 / alpha), 0]
    ends = (kept.min(), kept.max()) if len(kept) else (means[-1], means[-1])
    return low + (high - low) * float(ends[0]), low + (high - low) * float(ends[1])


METHODS: Mapping[str, Callable[[Values, Support], Interval]] = {
    "bounded": bounded,
    "normal": normal,
    "student": student,
    "betting": betting,
}


def study(case: Case, n: int, draws: int, seed: int) -> dict[str, Any]:
    """Of each method how often the mean is missed below and above, and how wide its intervals are on average."""
    rng = np.random.default_rng(seed)
    samples = [case.draw(rng, n) for _ in range(draws)]
    found = {}
    for name, method in METHODS.items():
        ends = np.array([method(values, case.support) for values in samples])
        found[name] = {
            "misses_below": float(np.mean(case.mean < ends[:, 0] - 1e-9)),
            "misses_above": float(np.mean(case.mean > ends[:, 1] + 1e-9)),
            "width": float(np.mean(ends[:, 1] - ends[:, 0])),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    found = {
        name: {str(n): study(case, n, draws, seed) for seed, n in enumerate(SIZES)} for name, case in CASES.items()
    }
    for name, sizes in found.items():
        for n, methods in sizes.items():
            told = ", ".join(
                f"{method} {100 * (1 - m['misses_below'] - m['misses_above']):.1f} % ({100 * m['width']:.1f})"
                for method, m in methods.items()
            )
            print(f"{name:<17} n = {n:>3}: {told}")  # noqa: T201
    cases = {name: {"what": case.what, "mean": case.mean, "sizes": found[name]} for name, case in CASES.items()}
    write("intervals", {"level": LEVEL, "draws": draws, "cases": cases})


if __name__ == "__main__":
    main()
