"""Do certificates by betting hold what they say, and how tight are they beside Hoeffding's and the present intervals?

`python -m studies.certificates` draws per-task gains and gain destructions of several kinds (sparse, skewed, averages
of three rollouts, and for each number of tasks the worst that could be found), makes one-sided bounds of each sample,
and counts how often the true mean is beyond them. It fails where a one-sided binomial test at 99 % rejects the
promised coverage. Then it compares radii at the level of a certificate (α = 0.05, |A| = 2: each side at α/8) for
Hoeffding's inequality, Gaffke's bound (`chase.stats.bounded`, the intervals that results are told with) and betting.
About two minutes on one core; `studies/results/certificates.json` has what it found.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.stats import binom

from chase.stats import betting as module
from chase.stats.betting import Values, lower_bounds, upper_bound, upper_bounds
from chase.stats.bounded import DESTRUCTIONS, GAINS, Support, weighted
from chase.stats.bounded import upper_bound as gaffke_upper
from studies.intervals import Case, averages
from studies.reader_scores import RESULTS, write

ALPHA, ENTRIES = 0.05, 2
EACH = ALPHA / (4 * ENTRIES)
SIZES = (24, 76, 208)
SHOWN = (8, 16, 24, 48, 76, 120, 208, 320, 448)
"""Of the plot of radius against n."""
CUTS = (0.5, 0.75, 0.9)
"""The authors' two, and ours."""
GAFFKE_DRAWS = 60
"""Its radius hardly varies, and it is made one sample at a time."""


def _difference(left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The distribution of a difference of two independent values."""
    shares: dict[float, float] = {}
    for x, p in zip(*left, strict=True):
        for y, q in zip(*right, strict=True):
            shares[round(x - y, 9)] = shares.get(round(x - y, 9), 0.0) + p * q
    return tuple(shares), tuple(shares.values())


_SPARSE = (0.0, -1.0, -2 / 3, -1 / 3, 1 / 3, 2 / 3, 1.0), (0.8, *[0.2 / 6] * 6)
_THREE = averages(0.6, 0.8)
_DESTROYED = _difference(averages(0.6, 0.8), averages(0.5, 0.55))


def _case(what: str, support: Support, distribution: tuple[Any, Any]) -> Case:
    total = sum(distribution[1])
    return Case(what=what, support=support, values=distribution[0], shares=tuple(p / total for p in distribution[1]))


CASES: Mapping[str, Case] = {
    "sparse Δ": _case("Δ: 0 with probability 0.8, else ±1/3, ±2/3 or ±1", DESTRUCTIONS, _SPARSE),
    "sparse G": _case("G: 0 with probability 0.8, else ±1/3, ±2/3 or ±1", GAINS, _SPARSE),
    "skewed Δ": _case("Δ: 1 with probability 0.1, else 0", DESTRUCTIONS, ((0.0, 1.0), (0.9, 0.1))),
    "skewed G": _case("G: −1 with probability 0.03, else 0 or 1/3", GAINS, ((-1.0, 0.0, 1 / 3), (0.03, 0.47, 0.5))),
    "three rollouts Δ": _case(
        "Δ: three rollouts in each of four cells, 60 to 80 % and 50 to 55 %", DESTRUCTIONS, _DESTROYED
    ),
    "three rollouts G": _case("G: three rollouts in each of two cells, 60 to 80 %", GAINS, _THREE),
    "borders Δ": _case("Δ: −2 or 2, each with probability one half", DESTRUCTIONS, ((-2.0, 2.0), (0.5, 0.5))),
    "no difference Δ": _case("Δ: always 0", DESTRUCTIONS, ((0.0,), (1.0,))),
}


def worst_case(n: int, alpha: float) -> Case:
    """0, and rarely 2: just so rarely that a sample without any has its bound just below the mean."""
    share = min(1.0, upper_bound([0.0] * n, DESTRUCTIONS, alpha) / 2 + 1e-6)
    return _case(f"Δ: 2 with probability {share:.3f}, else 0", DESTRUCTIONS, ((0.0, 2.0), (1 - share, share)))


def coverage(case: Case, n: int, alpha: float, draws: int, seed: int) -> dict[str, Any]:
    """How often the mean is beyond a bound on either side, and whether a 99 % test rejects the promise."""
    drawn = np.random.default_rng(seed).choice(case.values, size=(draws, n), p=case.shares)
    return missed(drawn, case.support, case.mean, alpha)


def missed(drawn: Values, support: Support, mean: float, alpha: float) -> dict[str, Any]:
    draws = len(drawn)
    below = int(np.sum(lower_bounds(drawn, support, alpha) > mean + 1e-9))
    above = int(np.sum(upper_bounds(drawn, support, alpha) < mean - 1e-9))
    rejected = any(binom.sf(misses - 1, draws, alpha) < 0.01 for misses in (below, above))
    return {"misses_lower": below / draws, "misses_upper": above / draws, "rejected": rejected}


def stratified(n: int, alpha: float, draws: int, seed: int) -> dict[str, Any]:
    """The same where tasks are no draws from one distribution: half of them gain 1 with probability 0.9, half with 0.1,
    in an order that is drawn. Syn-Ledger's task sets are balanced like this, over families and configurations.
    """
    rng = np.random.default_rng(seed)
    drawn = (rng.random((draws, n)) < np.where(np.arange(n) % 2, 0.9, 0.1)).astype(np.float64)
    drawn = rng.permuted(drawn, axis=1)
    return missed(drawn, GAINS, (0.9 * (n // 2) + 0.1 * (n - n // 2)) / n, alpha)


def hoeffding(drawn: Values, support: Support) -> float:
    return (support[1] - support[0]) * math.sqrt(math.log(1 / EACH) / (2 * drawn.shape[1]))


def gaffke(drawn: Values, support: Support) -> float:
    rows = drawn[:GAFFKE_DRAWS]
    return float(np.mean([gaffke_upper(weighted(row), support, EACH) - row.mean() for row in rows]))


def betting(drawn: Values, support: Support) -> float:
    return float(np.mean(upper_bounds(drawn, support, EACH) - drawn.mean(axis=1)))


RADII: Mapping[str, Callable[[Values, Support], float]] = {
    "hoeffding": hoeffding,
    "gaffke": gaffke,
    "betting": betting,
}


def radii(case: Case, n: int, draws: int, seed: int) -> dict[str, float]:
    """How far above a sample's mean its upper bound is, on average."""
    drawn = np.random.default_rng(seed).choice(case.values, size=(draws, n), p=case.shares)
    return {name: round(radius(drawn, case.support), 4) for name, radius in RADII.items()}


def cuts(case: Case, n: int, draws: int, seed: int) -> dict[str, float]:
    """What betting's radius would be if one bet could lose other shares of the capital."""
    drawn = np.random.default_rng(seed).choice(case.values, size=(draws, n), p=case.shares)
    return radius_by_cut(drawn, case.support)


def radius_by_cut(drawn: Values, support: Support) -> dict[str, float]:
    found = {}
    for cut in CUTS:
        with patch.object(module, "CUT", cut):
            found[f"{cut:g}"] = round(betting(drawn, support), 4)
    return found


def study(draws: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, (name, case) in enumerate(CASES.items()):
        found[name] = {
            "what": case.what,
            "mean": round(case.mean, 6),
            "coverage": {
                str(n): {f"{alpha:g}": coverage(case, n, alpha, draws, 1000 * number + n) for alpha in (ALPHA, EACH)}
                for n in SIZES
            },
            "radius": {str(n): radii(case, n, 1000, 1000 * number + n) for n in SIZES},
            "cuts": {str(n): cuts(case, n, 1000, 1000 * number + n) for n in SIZES},
        }
    found["worst Δ"] = {
        "what": "Δ: 2 so rarely that a sample without any has its bound just below the mean, else 0",
        "coverage": {
            str(n): {f"{a:g}": coverage(worst_case(n, a), n, a, draws, 9000 + n) for a in (ALPHA, EACH)} for n in SIZES
        },
    }
    found["stratified G"] = {
        "what": "G: 1 with probability 0.9 on half of the tasks and 0.1 on the others, else 0",
        "coverage": {str(n): {f"{a:g}": stratified(n, a, draws, 8000 + n) for a in (ALPHA, EACH)} for n in SIZES},
    }
    return found


def tables() -> Iterator[str]:
    """The tables of docs/statistics.md, from the committed results."""
    found = json.loads((RESULTS / "certificates.json").read_text(encoding="utf-8"))
    yield "| One task | n | Hoeffding | present | betting | betting / Hoeffding | missed below, above |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for case in found["cases"].values():
        for n, levels in case["coverage"].items():
            radius = case.get("radius", {}).get(n)
            shown = "| | | | "
            if radius:
                shares = [f"{radius[name]:.3f}" for name in RADII]
                shown = f"| {' | '.join(shares)} | {100 * radius['betting'] / radius['hoeffding']:.0f} % "
            misses = levels[f"{ALPHA:g}"]
            told = f"{100 * misses['misses_lower']:.2f} %, {100 * misses['misses_upper']:.2f} %"
            yield f"| {case['what']} | {n} {shown}| {told} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--tables", action="store_true", help="print the page's table from the committed results")
    asked = parser.parse_args()
    if asked.tables:
        sys.stdout.write("\n".join(tables()) + "\n")
        return
    draws = asked.draws
    cases = study(draws)
    plot = {str(n): radii(CASES["sparse Δ"], n, 1000, n) for n in SHOWN}
    write("certificates", {"alpha": ALPHA, "each": EACH, "draws": draws, "cases": cases, "radius_by_n": plot})
    rejected = []
    for name, case in cases.items():
        for n, levels in case["coverage"].items():
            rejected += [f"{name} n = {n}" for found in levels.values() if found["rejected"]]
            told = "; ".join(
                f"at {100 * float(a):g} %: {100 * c['misses_lower']:.2f} / {100 * c['misses_upper']:.2f} % missed"
                for a, c in levels.items()
            )
            print(f"{name:<17} n = {n:>3}: {told}; radii {case.get('radius', {}).get(n, '')}")  # noqa: T201
    if rejected:
        sys.exit(f"coverage is rejected for {', '.join(rejected)}")


if __name__ == "__main__":
    main()
