"""The two audits of `honest-reminder` that contradict each other, judged again from their stored scores.

`python -m studies.local_again` (no model, seconds). A row of `results/local_runs.json` has means and standard errors;
with one rollout of a task they fix how many tasks were won and lost. What they leave open is how those of the released
benchmark and of the counterfactual are paired: every pairing is judged, and the words are printed.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from chase.agents.history import RELEASED
from chase.methods.audit_findings import Counterfactual, Judged, Pair, judge_pair
from studies.reader_scores import RESULTS

ITEM = "item 3n: audits that can decide"
AUDITS = ("honest-reminder", "honest-reminder, given")
Pairing = Mapping[tuple[int, int], int]
"""(released gain, gain under the counterfactual) of a task → tasks."""


def counts(stored: Mapping[str, float]) -> tuple[int, int]:
    """Tasks won and lost, from a mean of −1, 0 and 1 and its standard error."""
    n, total = int(stored["n"]), round(stored["n"] * stored["value"])
    moved = round(stored["se"] ** 2 * n * (n - 1) + total**2 / n)
    return (moved + total) // 2, (moved - total) // 2


def pairings(row: Mapping[str, Any]) -> Iterator[Pairing]:
    """Every way in which the stored gains and their difference can come about without a difference of 2."""
    (finding,) = [*row["confirmed"], *row["not_confirmed"]]
    n = int(row["g_rel"]["n"])
    (won, lost), (won_b, lost_b) = counts(row["g_rel"]), counts(finding["gain"])
    fallen, risen = counts(finding["destruction"])
    for a in range(fallen + 1):  # of those that fell, from won to nothing; the others from nothing to lost
        c = won_b - won + a  # of those that rose, from nothing to won; the others from lost to nothing
        if not 0 <= c <= risen or lost_b != lost + (fallen - a) - (risen - c):
            continue
        table = {
            (1, 0): a, (0, -1): fallen - a, (0, 1): c, (-1, 0): risen - c, (1, 1): won - a, (-1, -1): lost - (risen - c)
        }  # fmt: skip
        table[0, 0] = n - sum(table.values())
        if min(table.values()) >= 0:
            yield table


def judged(row: Mapping[str, Any], pairing: Pairing) -> Judged[Counterfactual]:
    """The verdict on one pairing: what a baseline solves is put where the gain leaves room for it."""
    (finding,) = [*row["confirmed"], *row["not_confirmed"]]
    tasks = [both for both, times in pairing.items() for _ in range(times)]
    means: dict[tuple[str, str], dict[str, Fraction]] = {}
    solved = {RELEASED: row["scores"]["baseline"], "b": finding["scores"]["baseline"]}
    for variant, score in solved.items():
        gains = [both[0] if variant == RELEASED else both[1] for both in tasks]
        left = round(score["value"] * len(tasks)) - gains.count(-1)
        baseline, harness = {}, {}
        for place, gain in enumerate(gains):
            solves = gain == -1 or (gain == 0 and left > 0)
            left -= gain == 0 and left > 0
            baseline[str(place)], harness[str(place)] = Fraction(int(solves)), Fraction(int(solves) + gain)
        means["H0", variant], means["H", variant] = baseline, harness
    found = [Counterfactual(name="b", source="given", draws=("b",), what="it")]
    return judge_pair(Pair(means=means, harness="H", baseline="H0"), found, seed=0, level=row["level"])


def words(name: str) -> Counter[tuple[str, str]]:
    """Word and reason of an audit, over all pairings."""
    row = json.loads((RESULTS / "local_runs.json").read_text(encoding="utf-8"))[ITEM][name]
    found = [judged(row, pairing).verdict for pairing in pairings(row)]
    return Counter((verdict.word, verdict.reason) for verdict in found)


def main() -> None:
    for name in AUDITS:
        for (word, reason), times in words(name).items():
            sys.stdout.write(f"{name}: {word}: {reason} ({times} pairings)\n")


if __name__ == "__main__":
    main()
