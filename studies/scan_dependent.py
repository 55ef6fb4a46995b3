"""How often a scan finds something where tasks depend on each other and nothing gives anything away, and how often it
finds what is planted there.

`python -m studies.scan_dependent` scans made-up benchmarks of three kinds at the level 0.95 and at 0.99, with the
clusters that the benchmark declares and, beside them, as if it declared none. About two minutes on two cores.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chase.core.gate_facts import GateFacts, TaskFacts
from chase.core.observables import ObservableFunction
from chase.core.values import Sighting
from chase.protocol.scanning.findings import Scanner
from chase.protocol.scanning.sights import Subjects
from studies.reader_scores import write
from studies.running import Row, rows_of, share_of

SEEDS = range(9001, 9201)
FEW = 50
"""Of the seeds where something is planted."""
BATCH = 25
OBSERVABLES = 8
OTHERS = 4
"""Documents of a task beside its evidence."""
RARE = 0.1
TOLD = 0.5
"""The share of a value that documents, or answers, of one cluster have in common, where they are alike."""
PLANTED = 1.0
"""By how many standard deviations evidence has higher values of the first observable, where it is planted."""
LEVELS = (0.95, 0.99)


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """Components of tasks, by their sizes, and what their tasks share."""

    sizes: tuple[int, ...]
    one_document: bool
    """Tasks of a component have the same evidence. Else each has its own, and the component is declared."""
    alike: bool
    """Documents and answers of a component are like each other."""


DESIGNS: Mapping[str, Design] = {
    "documents asked about often and seldom": Design(sizes=(14, 10, 6, *[3] * 12), one_document=True, alike=False),
    "declared groups of like documents": Design(sizes=(4,) * 20, one_document=False, alike=True),
    "answers of large and of small groups": Design(sizes=(*[1] * 14, *[10] * 10), one_document=False, alike=False),
}


@dataclass(frozen=True, kw_only=True)
class MadeUp:
    """A benchmark of which a scan sees all that there is: values of documents, answers, clusters."""

    facts: tuple[TaskFacts, ...]
    documents: Mapping[str, tuple[Sighting, ...]]
    own: Mapping[str, str]
    """Task → its evidence."""
    declared: Mapping[str, str] = field(default_factory=dict)

    @property
    def gate(self) -> GateFacts:
        return GateFacts(tasks=self.facts)

    def variant(self, name: str) -> None:
        return None

    def sightings(self, task: str, transformation: object) -> tuple[Sighting, ...]:
        return self.documents[task]

    def evidence(self, task: str) -> Mapping[str, int]:
        return {self.own[task]: 1}

    def evidence_windows(self, task: str, transformation: object) -> Mapping[str, Sequence[bool]]:
        return {}

    def clusters(self) -> Mapping[str, str]:
        return self.declared


def made_up(design: Design, seed: int, *, planted: bool, declared: bool) -> MadeUp:
    """A benchmark of a design. Half of the observables are rare, half are skewed."""
    rng = random.Random(f"{seed} {design}")
    facts, documents, own, clusters = [], {}, {}, {}
    for place, size in enumerate(design.sizes):
        common, said = _values(rng), rng.gauss(0, 1)
        shared = _shown(f"{place}", _values(rng), planted)
        for task in (f"{place}-{number}" for number in range(size)):
            values = [
                TOLD * a + (1 - TOLD) * b if design.alike else b for a, b in zip(common, _values(rng), strict=True)
            ]
            evidence = shared if design.one_document else _shown(task, values, planted)
            documents[task] = (evidence, *(_shown(f"{task} {n}", _values(rng), False) for n in range(OTHERS)))
            answer = said + rng.gauss(0, 1) if design.alike else rng.expovariate(1)
            facts.append(TaskFacts(id=task, role="evo", question="?", answer=f"{answer:.6f}"))
            own[task] = evidence.id
            clusters[task] = f"component {place}"
    return MadeUp(facts=tuple(facts), documents=documents, own=own, declared=clusters if declared else {})


def _values(rng: random.Random) -> list[float]:
    half = OBSERVABLES // 2
    return [*(rng.expovariate(1) for _ in range(half)), *(float(rng.random() < RARE) for _ in range(half))]


def _shown(name: str, values: Sequence[float], planted: bool) -> Sighting:
    return Sighting(id=name, path=name, fields={"values": [values[0] + PLANTED * planted, *values[1:]]})


def _value(place: int, shown: Sighting) -> float:
    values: Any = shown.fields["values"]
    return float(values[place])


def lowest(benchmark: MadeUp, seed: int) -> tuple[float, float]:
    """The least adjusted p-value of a scan, and that of the first observable as to evidence."""
    observables = [ObservableFunction(f"o{place}", "made up", partial(_value, place)) for place in range(OBSERVABLES)]
    subjects = Subjects(benchmark=benchmark, tasks=tuple(fact.id for fact in benchmark.facts))  # type: ignore[arg-type]
    scan = Scanner(subjects, observables, level=0.99, seed=seed, tell=lambda _: None).scan(None, "made up")  # type: ignore[arg-type]
    first = scan.row(("evidence", "o0"))
    return min(row.adjusted for row in scan.rows), 1.0 if first is None else first.adjusted


def scanned(case: Mapping[str, Any]) -> list[Row]:
    """The scans of one batch of seeds."""
    rows: list[Row] = []
    for seed in range(case["first"], case["first"] + case["count"]):
        benchmark = made_up(DESIGNS[case["design"]], seed, planted=case["planted"], declared=case["declared"])
        least, first = lowest(benchmark, seed)
        rows.append({**case, "seed": seed, "least": least, "planted_p": first})
    return rows


def cases() -> list[dict[str, Any]]:
    return [
        {"design": name, "planted": planted, "declared": declared, "first": first, "count": BATCH}
        for name, design in DESIGNS.items()
        for planted, declared in ((False, True), (False, False), (True, True))
        if declared or not design.one_document  # a shared document is known without being declared
        for first in (SEEDS[:FEW] if planted else SEEDS)[::BATCH]
    ]


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Of each design: how often anything is found where nothing is, and how often what is planted."""
    found: dict[str, Any] = {}
    for name in DESIGNS:
        of = [row for row in rows if row["design"] == name]
        found[name] = {
            str(level): {
                "false": share_of([r["least"] <= 1 - level for r in of if not r["planted"] and r["declared"]]),
                "false_undeclared": share_of(
                    [r["least"] <= 1 - level for r in of if not r["planted"] and not r["declared"]]
                ),
                "planted_found": share_of([r["planted_p"] <= 1 - level for r in of if r["planted"]]),
            }
            for level in LEVELS
        }
    return found


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    rows = rows_of("scan_dependent", cases(), scanned)
    kept = [{key: row[key] for key in ("design", "planted", "declared", "seed", "least", "planted_p")} for row in rows]
    write("scan_dependent", {"seeds": [SEEDS[0], SEEDS[-1]], "summary": summary(rows), "rows": kept})


if __name__ == "__main__":
    main()
