"""Checks that what an agent can see of the protocol gives nothing away but the planted features."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from chase.benchmarks.syn_ledger.validation.tally import Tally
from chase.core.values import Sighting

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger

MOST_Z = 5.0
"""Two-sided chance of one false alarm: six in ten million."""


def first_sight(benchmark: SynLedger, task: str, variant: str) -> dict[str, Sighting]:
    """Each document as an agent meets it: listed, found by a broad search, its first window opened."""
    transformation = benchmark.variant(variant)
    manifest = benchmark.manifest(task, transformation)
    listing = {protocol.id: place for place, protocol in enumerate(manifest.listed())}
    rank = {protocol.id: place for place, protocol in enumerate(manifest.ranked())}
    return {
        file.id: Sighting(
            id=file.id,
            path=file.path,
            listing=listing[file.id],
            listing_of=len(listing),
            hit=rank[file.id],
            hit_of=len(rank),
            window=0,
            text=file.windows[0],
        )
        for file in benchmark.render(task, transformation)
    }


def association(values: Iterable[tuple[Sequence[float], Sequence[bool]]]) -> float:
    """The z-score of evidence's ranks within tasks against a random choice of documents.

    `values` has one pair for each task: the documents' values and which of them are evidence.
    """
    excess, variance = 0.0, 0.0
    for numbers, evidence in values:
        ranks = _mid_ranks(numbers)
        n, chosen = len(ranks), sum(evidence)
        mean = sum(ranks) / n
        spread = sum((rank - mean) ** 2 for rank in ranks) / n
        excess += sum(rank - mean for rank, is_evidence in zip(ranks, evidence, strict=True) if is_evidence)
        variance += chosen * spread * (n - chosen) / (n - 1)
    return excess / math.sqrt(variance) if variance else 0.0


def _mid_ranks(numbers: Sequence[float]) -> list[float]:
    ordered = sorted(numbers)
    return [ordered.index(x) + (ordered.count(x) - 1) / 2 for x in numbers]


def _association_of(benchmark: SynLedger, value: Callable[[str, int], float]) -> float:
    """The association of one number per (document id, place in the task's document list)."""
    return association(
        (
            [value(document.id, place) for place, document in enumerate(made.task.documents)],
            [document.id in made.task.evidence for document in made.task.documents],
        )
        for made in benchmark.generated.values()
    )


def check_identifiers(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """Ids are opaque, unique and in an order that says nothing about evidence, and so are task ids."""
    tally = tallies["identifiers"]
    seen: set[str] = set()
    for task, made in benchmark.generated.items():
        ids = [task, *(document.id for document in made.task.documents)]
        tally.expect(all(i.isalpha() and i.islower() for i in ids), task, "an id is not letters only")
        tally.expect(not seen.intersection(ids) and len(set(ids)) == len(ids), task, "an id occurs twice")
        tally.expect(ids[1:] == sorted(ids[1:]), task, "documents are not in the order of their ids")
        seen.update(ids)
    z = _association_of(benchmark, lambda _, place: float(place))
    tally.expect(abs(z) < MOST_Z, benchmark.name, f"the order of ids goes with evidence (z = {z:.1f})")
    numbers = [benchmark.task(task).number for task in sorted(benchmark.generated)]
    swaps = sum(a < b for a, b in pairwise(numbers)) - (len(numbers) - 1) / 2
    z = swaps / math.sqrt((len(numbers) + 1) / 12)
    tally.expect(abs(z) < MOST_Z, benchmark.name, f"task ids carry the construction order (z = {z:.1f})")


def check_observables(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """No observable goes with evidence under `B_0`; under `B_rel` only those that planted features move."""
    tasks = list(benchmark.generated)
    evidence = {task: benchmark.task(task).evidence for task in tasks}
    sights = {v: [first_sight(benchmark, task, v) for task in tasks] for v in ("released", "neutral")}
    for observable in benchmark.observables:
        values = {
            variant: [{document: observable(shown) for document, shown in sight.items()} for sight in seen]
            for variant, seen in sights.items()
        }
        planted = values["released"] != values["neutral"]
        for variant, by_task in values.items():
            if variant == "released" and planted:
                continue
            z = association(
                ([v or 0.0 for v in by_document.values()], [d in evidence[task] for d in by_document])
                for task, by_document in zip(tasks, by_task, strict=True)
            )
            tallies[f"observables-{variant}"].expect(
                abs(z) < MOST_Z, benchmark.name, f"{observable.name} goes with evidence (z = {z:.1f})"
            )
