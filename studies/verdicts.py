"""Error table of an audit's words: how often each is said where a known share of a gain is destroyed.

`python -m studies.verdicts` draws tasks from known distributions: a gain of 12 or 30 points of which 0 to 60 % is
destroyed, under one or four counterfactuals, on 48 to 448 tasks, independent or in clusters of four with correlation
0.3; and gains that only scale with a base rate that falls. Beside it the rule before this one (`before`): point
estimates against half of the gain, on independent tasks. No rollout, no model.

*Wrong* is *not supported* where at most half is destroyed, and *partly supported* or *supported* where at least half
is. Seeds are keyed by the case, none was looked at before.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import norm

from chase.core.keyed import key_bits
from chase.methods.audit_findings import Bounds
from chase.methods.verdict import MeasuredGain, bounds_of, judge
from chase.stats.bounded import DESTRUCTIONS
from chase.stats.contrasts import Cell, Contrast, gain_sample
from chase.stats.estimates import Clusters, Estimate, Sample
from chase.stats.simultaneous import simultaneous
from studies.reader_scores import write
from studies.running import Row, rows_of, share_of

SHARES = (0.0, 0.3, 0.4, 0.5, 0.6)
SIZES = (48, 112, 448)
COUNTS = (1, 4)
GAINS = (0.12, 0.30)
CLUSTER, CORRELATION = 4, 0.3
LOST = 0.04
"""Tasks that the harness loses, whatever the gain."""
BASE, FALLEN = 0.75, 0.25
"""The baseline's score, and where a counterfactual is hard for everybody."""
LEVEL = 0.95


def drawn(case: Mapping[str, Any], draw: int) -> tuple[Cell, list[Cell], Clusters]:
    """One sample of tasks: the released cell, and one for each counterfactual."""
    n, gain = case["n"], case["gain"]
    rng = np.random.default_rng(key_bits("verdicts", *sorted(map(str, case.items())), draw))

    def uniform() -> Any:
        """Of each task; tasks of a cluster share a part."""
        own = rng.standard_normal(n)
        if case["clustered"]:
            shared = np.repeat(rng.standard_normal(n // CLUSTER), CLUSTER)
            own = np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * own
        return norm.cdf(own)

    base, effect, hard = uniform(), uniform(), uniform()
    gained, lost = gain + LOST, LOST
    solved = base < BASE
    # A task is gained only where the baseline fails, lost only where it solves.
    up = ~solved & (effect < gained / (1 - BASE))
    down = solved & (effect < lost / BASE)
    released = _cell((solved & ~down) | up, solved)
    changed = []
    for _ in range(case["counterfactuals"]):
        if case["scales"]:
            there = hard < FALLEN / BASE
            changed.append(_cell(((solved & ~down) | up) & there, solved & there))
        else:
            # What is destroyed of the net gain is taken from the gained tasks.
            kept = uniform() >= case["share"] * gain / gained
            changed.append(_cell((solved & ~down) | (up & kept), solved))
    clusters = {str(task): str(task // CLUSTER) for task in range(n)} if case["clustered"] else {}
    return released, changed, clusters


def words(case: Mapping[str, Any]) -> list[Row]:
    """How often each word is said, now and before."""
    now: Counter[str] = Counter()
    before: Counter[str] = Counter()
    for draw in range(case["draws"]):
        released, changed, clusters = drawn(case, draw)
        now[_now(released, changed, clusters)] += 1
        before[_before(released, changed)] += 1
    return [{**case, "now": dict(now), "before": dict(before)}]


def _now(released: Cell, changed: Sequence[Cell], clusters: Clusters) -> str:
    bounds = Bounds(level=LEVEL)
    gain = simultaneous({"gain": gain_sample(released, clusters)}, level=LEVEL)["gain"]
    if gain.low <= 0:
        return judge(gain, {}).word
    tested: dict[str, MeasuredGain] = {
        f"c{place}": bounds_of(
            Contrast(released=released, changed=each, clusters=clusters), what=f"c{place}", source="battery",
            accusing=bounds.accusing(place), acquitting=bounds.acquitting, level=LEVEL,
        )
        for place, each in enumerate(changed)
    }  # fmt: skip
    return judge(gain, tested).word


def _before(released: Cell, changed: Sequence[Cell]) -> str:
    """The rule at commit e0e1d88, without its log-odds figure: point estimates, tasks taken for independent."""
    samples = {"gain": gain_sample(released, {})}
    for place, each in enumerate(changed):
        found = Contrast(released=released, changed=each).destroyed
        samples[str(place)] = Sample(per_task=found.per_task, support=DESTRUCTIONS)
    together = simultaneous(samples, level=LEVEL)
    gain: Estimate = together.pop("gain")
    if gain.high <= 0:
        return "no gain"
    if gain.low <= 0:
        return "inconclusive"
    if confirmed := [found.value for found in together.values() if found.low > 0]:
        return "not supported" if gain.value - max(confirmed) < gain.value / 2 else "partly supported"
    return "inconclusive" if any(found.high > gain.value / 2 for found in together.values()) else "supported"


def wrong(row: Row, said: Mapping[str, int]) -> int:
    """Draws in which a word is wrong."""
    accused, acquitted = said.get("not supported", 0), said.get("partly supported", 0) + said.get("supported", 0)
    if row["scales"]:
        return accused + said.get("in doubt", 0)
    return accused * (row["share"] <= 0.5) + acquitted * (row["share"] >= 0.5)


def _cell(more: Any, less: Any) -> Cell:
    return Cell(more=_scores(more), less=_scores(less))


def _scores(solved: Any) -> dict[str, Fraction]:
    return {str(task): Fraction(int(value)) for task, value in enumerate(solved)}


def cases(draws: int) -> list[dict[str, Any]]:
    common = [
        {"gain": gain, "n": n, "counterfactuals": count, "clustered": clustered, "draws": draws}
        for gain in GAINS
        for n in SIZES
        for count in COUNTS
        for clustered in (False, True)
    ]
    return [
        *({**each, "share": share, "scales": False} for each in common for share in SHARES),
        *({**each, "share": 0.0, "scales": True} for each in common),
    ]


def table(rows: Sequence[Row]) -> list[str]:
    """The worst error by truth, and power, now and before."""
    lines = ["| destroyed | n | wrong now | wrong before | decided now | decided before |", "|---|---|---|---|---|---|"]
    for share in [*SHARES, None]:
        for n in SIZES:
            chosen = [r for r in rows if r["n"] == n and (r["scales"] if share is None else r["share"] == share)]
            chosen = [r for r in chosen if share is None or not r["scales"]]
            errors = {key: max(wrong(r, r[key]) / r["draws"] for r in chosen) for key in ("now", "before")}
            open_words = ("inconclusive", "in doubt")
            decided = {
                key: 1
                - sum(sum(r[key].get(w, 0) for w in open_words) for r in chosen) / sum(r["draws"] for r in chosen)
                for key in ("now", "before")
            }
            name = "scales with the base rate" if share is None else f"{100 * share:.0f} %"
            figures = (errors["now"], errors["before"], decided["now"], decided["before"])
            lines.append(f"| {name} | {n} | " + " | ".join(f"{100 * value:.1f} %" for value in figures) + " |")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=400)
    given = parser.parse_args(arguments)
    rows = rows_of("verdicts", cases(given.draws), words)
    write(
        "verdicts",
        {
            "command": f"python -m studies.verdicts --draws {given.draws}",
            "level": LEVEL,
            "wrong_in_all": {
                key: share_of([True] * sum(wrong(r, r[key]) for r in rows) + [False] * sum(
                    r["draws"] - wrong(r, r[key]) for r in rows)) for key in ("now", "before")
            },
            "table": table(rows),
            "rows": rows,
        },
    )  # fmt: skip
    sys.stdout.write("\n".join(table(rows)) + "\n")


if __name__ == "__main__":
    main()
