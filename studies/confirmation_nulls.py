"""What a calibrated confirmation confirms: that a transformation changes some task, or that its mean is above 0?

`python -m studies.confirmation_nulls` draws gain destructions, at the error of one round in three: effects whose mean
is 0 although tasks change, effects of 15 and 30 points, and nothing. The sign-flip test confirms with it, the bound of
the mean stands beside it. For every effect the most that any test can confirm is given, which confirms no more often
than promised where the mean is not above 0: it must not tell the effect from the same one with as many losses of 2 as
make its mean 0, and of `n` tasks no such loss is seen `(1 − share)^n` of the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chase.stats.bounded import DESTRUCTIONS, lower_bound, weighted
from chase.stats.sequential import sequential_sign_flip
from studies.reader_scores import write

ALPHA, SEED = 0.05 / 3, 133
TASKS = (16, 24, 48, 96, 208)
Values = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Gain destructions of tasks."""

    what: str
    mean: float
    draw: Callable[[np.random.Generator, int], Values]


def of(values: tuple[float, ...], shares: tuple[float, ...]) -> Callable[[np.random.Generator, int], Values]:
    return lambda rng, n: rng.choice(values, size=n, p=shares)


def rolled(effect: float) -> Callable[[np.random.Generator, int], Values]:
    """Five rollouts in each of four cells, independent, of scores of 80 and 70 %."""
    rates = np.array([0.8, 0.7, 0.8 - effect, 0.7])[:, None, None]

    def draw(rng: np.random.Generator, n: int) -> Values:
        scores = (rng.random((4, n, 5)) < rates).mean(axis=2)
        return np.round(scores[0] - scores[1] - scores[2] + scores[3], 9)

    return draw


CASES = {
    "cancels out": Case(what="−2 on 5 %, +0.2 on 50 %", mean=0.0, draw=of((-2.0, 0.0, 0.2), (0.05, 0.45, 0.5))),
    "nothing": Case(what="nothing, five independent rollouts", mean=0.0, draw=rolled(0.0)),
    "rare, 15": Case(what="1 on 17 %, −1 on 2 %", mean=0.15, draw=of((-1.0, 0.0, 1.0), (0.02, 0.81, 0.17))),
    "rollouts, 15": Case(what="15 points, five independent rollouts", mean=0.15, draw=rolled(0.15)),
    "rollouts, 30": Case(what="30 points, five independent rollouts", mean=0.3, draw=rolled(0.3)),
}


def most(effect: float, tasks: int) -> float:
    """The largest power of any test that keeps its error wherever the mean is not above 0."""
    return min(1.0, ALPHA / (1 - effect / (2 + effect)) ** tasks)


def study(case: Case, tasks: int, draws: int) -> Mapping[str, float]:
    """How often each confirms."""
    rng = np.random.default_rng([SEED, tasks])
    samples = [case.draw(rng, tasks).tolist() for _ in range(draws)]
    signs = [sequential_sign_flip([values], [ALPHA]).step == "reject" for values in samples]
    means = [lower_bound(weighted(values), DESTRUCTIONS, ALPHA) > 0 for values in samples]
    found = {"signs": float(np.mean(signs)), "mean": float(np.mean(means))}
    return {**found, "most": round(most(case.mean, tasks), 4)} if case.mean > 0 else found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000)
    draws = parser.parse_args().draws
    cases: dict[str, Any] = {}
    for name, case in CASES.items():
        sizes = {str(tasks): study(case, tasks, draws) for tasks in TASKS}
        cases[name] = {"what": case.what, "mean": case.mean, "tasks": sizes}
        print(name, sizes, flush=True)  # noqa: T201
    write("confirmation_nulls", {"alpha": ALPHA, "draws": draws, "seed": SEED, "cases": cases})


if __name__ == "__main__":
    main()
