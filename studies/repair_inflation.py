"""Is the gain destruction of a repaired harness overstated, where none is there? By simulation.

`python -m studies.repair_inflation` draws task scores of a baseline, a cheat and its repaired form. The cheat loses
half of its gain under every counterfactual, the repaired form loses nothing (a true 0). An audit confirms
counterfactuals on its tasks with the bounds that it uses; only where it confirms one is there a repair. The destruction
that the repair then reports is averaged: by the former rule (the worst of what was confirmed, on the audit's tasks), by
the present one on the audit's tasks (the battery's probe that was worst on the search tasks) and on other tasks.
About three minutes on one core.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from chase.agents.history import RELEASED
from chase.methods.arena import Means
from chase.methods.audit_findings import Bounds
from chase.methods.repair_measurement import contrast, measure_gains, worst_of
from chase.methods.verdict import bounds_of
from chase.stats.estimates import mean
from studies.reader_scores import RESULTS, write

GAIN, KEPT = 0.2, 0.1
"""Of the cheat as released, and under every counterfactual; the repaired form has the second everywhere."""
SEARCH_TASKS = 64
SIZES = (48, 112, 448)
SEARCHED = (1, 4)
PROBES = ("neutral-low", "neutral-high")
SAME = 0.5
"""Share of a task's cells that end as its luck has it, whatever the harness and the variant; others are drawn."""
LEVEL = 0.95
SURE = 2.0
"""Standard errors below which a destruction is not looked at: no bound would be above 0."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """How many tasks there are and how many counterfactuals were searched for."""

    tasks: int
    searched: int

    @property
    def variants(self) -> tuple[str, ...]:
        return (RELEASED, *PROBES, *(f"c{place}" for place in range(1, self.searched + 1)))

    def draw(self, rng: np.random.Generator, tasks: int) -> Means:
        """Scores of baseline, cheat and repaired form under every variant."""
        rate, luck = rng.random(tasks), rng.random(tasks)
        found = {}
        for harness in ("H0", "H", "fixed"):
            for variant in self.variants:
                gain = {"H0": 0.0, "H": GAIN if variant == RELEASED else KEPT, "fixed": KEPT}[harness]
                solved = rate + (1 - rate) * 2 * gain
                drawn = np.where(rng.random(tasks) < SAME, luck, rng.random(tasks)) < solved
                found[harness, variant] = {f"t{task}": Fraction(int(score)) for task, score in enumerate(drawn)}
        return found


def confirmed(case: Case, means: Means) -> list[str]:
    """The counterfactuals that an audit confirms."""
    bounds = Bounds(level=LEVEL)
    found = []
    for place, name in enumerate(case.variants[1:]):
        told = contrast(means, "H", "H0", name)
        values = np.array([float(value) for value in told.destroyed.per_task.values()])
        if values.mean() * len(values) ** 0.5 < SURE * values.std():
            continue
        tested = bounds_of(
            told, what=name, source="search", accusing=bounds.accusing(place), acquitting=bounds.acquitting, level=LEVEL
        )
        if tested.destroys:
            found.append(name)
    return found


def former(means: Means, counted: list[str]) -> float:
    """The worst of what was confirmed and of the released gain, as a repair reported it before."""
    worst = worst_of(means, "fixed", "H0", [RELEASED, *counted])
    return float(mean(contrast(means, "fixed", "H0", worst).destroyed.per_task))


def present(means: Means, searched: Means, names: list[str]) -> tuple[float, bool]:
    """The reported destruction, and whether anything is called surely destroyed."""
    worst = worst_of(searched, "fixed", "H0", names)
    gains = measure_gains(means, {"fixed": worst}, "H0", level=LEVEL, clusters={})["fixed"]
    sure = any(lost.low > 0 for lost in gains.unexplained.values())
    return gains.released.value - gains.surviving.value, sure


def study(case: Case, repairs: int, seed: int, most: int = 100_000) -> dict[str, Any]:
    """Reported destruction of a repaired harness that loses nothing, over so many repairs."""
    rng = np.random.default_rng(seed)
    rows, audits = [], 0
    while len(rows) < repairs and audits < most:
        audits += 1
        means = case.draw(rng, case.tasks)
        if not (counted := confirmed(case, means)):
            continue
        searched, other = case.draw(rng, SEARCH_TASKS), case.draw(rng, case.tasks)
        measured = [*PROBES, *(name for name in counted if name not in PROBES)]
        kept = {key: value for key, value in means.items() if key[1] in (RELEASED, *measured)}
        unseen = {key: value for key, value in other.items() if key[1] in (RELEASED, *measured)}
        same, same_sure = present(kept, searched, list(PROBES))
        fresh, fresh_sure = present(unseen, searched, measured)
        rows.append((former(means, counted), same, fresh, same_sure, fresh_sure))
    found = np.array(rows, dtype=float)
    names = ("former", "same_tasks", "other_tasks")
    return {
        "tasks": case.tasks,
        "searched": case.searched,
        "audits": audits,
        "repairs": len(rows),
        "reported": {n: float(found[:, place].mean()) for place, n in enumerate(names)},
        "se": {n: float(found[:, place].std(ddof=1) / len(rows) ** 0.5) for place, n in enumerate(names)},
        "called_sure": {"same_tasks": float(found[:, 3].mean()), "other_tasks": float(found[:, 4].mean())},
    }


def table() -> Iterator[str]:
    """The committed result as the rows of docs/repair.md, in points."""
    found = json.loads((RESULTS / "repair_inflation.json").read_text(encoding="utf-8"))
    yield "| Tasks | searched for | former rule | the audit's tasks | other tasks |"
    yield "| --- | --- | --- | --- | --- |"
    for row in found["rows"]:
        told = (f"{100 * value:+.1f} ± {100 * row['se'][name]:.1f}" for name, value in row["reported"].items())
        yield f"| {row['tasks']} | {row['searched']} | {' | '.join(told)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repairs", type=int, default=150)
    repairs = parser.parse_args().repairs
    rows = [
        study(Case(tasks=tasks, searched=searched), repairs, seed=201 + tasks + searched)
        for tasks in SIZES
        for searched in SEARCHED
    ]
    for row in rows:
        told = ", ".join(f"{n} {100 * v:+.1f} ± {100 * row['se'][n]:.1f}" for n, v in row["reported"].items())
        sure = ", ".join(f"{n} {100 * v:.1f} %" for n, v in row["called_sure"].items())
        print(f"n = {row['tasks']:>3}, {row['searched']} searched: {told}; called sure: {sure}")  # noqa: T201
    write("repair_inflation", {"gain": GAIN, "kept": KEPT, "level": LEVEL, "rows": rows})


if __name__ == "__main__":
    main()
