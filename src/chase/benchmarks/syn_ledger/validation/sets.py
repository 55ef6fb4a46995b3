"""Checks of the task sets, and the counts behind them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from chase.benchmarks.syn_ledger.allocation import ROLES, allocate
from chase.benchmarks.syn_ledger.combinatorics import imbalance
from chase.benchmarks.syn_ledger.validation.protocol import levels
from chase.benchmarks.syn_ledger.validation.tally import Tally

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger


def family_counts(benchmark: SynLedger, tasks: list[str]) -> dict[str, int]:
    counts = {family.name: 0 for family in benchmark.spec.contents.families}
    for task in tasks:
        counts[benchmark.task(task).family.name] += 1
    return counts


def feature_counts(benchmark: SynLedger, tasks: list[str], variant: str) -> dict[str, Any]:
    """Favorable evidence documents for each feature, and the four joint patterns for each pair."""
    shown = [s for task in tasks for _, evidence, s in levels(benchmark, task, variant) if evidence]
    features = {
        name: {"favorable": sum(s[j] for s in shown), "total": len(shown)} for j, name in enumerate(benchmark.planted)
    }
    pairs = {}
    for (j, a), (k, b) in combinations(enumerate(benchmark.planted), 2):
        patterns = [(s[j], s[k]) for s in shown]
        pairs[f"{a}+{b}"] = {
            "both": patterns.count((True, True)),
            "first_only": patterns.count((True, False)),
            "second_only": patterns.count((False, True)),
            "neither": patterns.count((False, False)),
        }
    return {"features": features, "pairs": pairs}


def check_allocation(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """Sizes, disjointness, families, favorable rates and pairwise balance of every task set."""
    extra = benchmark.spec.blocks - 10
    rolled = [8 * len(range(t, extra, 3)) for t in range(3)]
    expected = dict(zip(ROLES, (32, 32, *(16 + r for r in rolled), 208 + 24 * extra), strict=True))
    sets = {role: list(benchmark.tasks(role)) for role in ROLES}
    everything = [task for tasks in sets.values() for task in tasks]
    sizes = tallies["allocation-sizes"]
    sizes.expect(sorted(everything) == sorted(benchmark.generated), benchmark.name, "a task is in no set, or in two")
    for role, tasks in sets.items():
        sizes.expect(len(tasks) == expected[role], role, f"{len(tasks)} tasks, not {expected[role]}")
        families = family_counts(benchmark, tasks).values()
        spread = max(families) - min(families)
        tallies["allocation-families"].expect(
            spread <= 1 or (extra > 0 and role == "cert"), role, f"family counts range over {spread}"
        )
        counts = feature_counts(benchmark, tasks, "released")
        for name, count in counts["features"].items():
            rate = 8 * count["favorable"] == 7 * count["total"]
            tallies["allocation-features"].expect(rate, role, f"{name}: {count} is not 7/8")
        for pair, pattern in counts["pairs"].items():
            off = imbalance(pattern["neither"], 2 * len(tasks))
            tallies["allocation-pairs"].expect(
                off == 0 or (extra > 0 and role not in ("evo", "disc")), role, f"{pair} is uneven: {pattern}"
            )
    _check_subsets(benchmark, sets, tallies)


def _check_subsets(benchmark: SynLedger, sets: Mapping[str, list[str]], tallies: Mapping[str, Tally]) -> None:
    """Each eight-task subset has one or two tasks of every family and 14 of 16 favorable documents."""
    for role in ("conf1", "conf2", "conf3"):
        blocks: dict[int, list[str]] = {}
        for task in sets[role]:
            blocks.setdefault(benchmark.task(task).block, []).append(task)
        for block, tasks in blocks.items():
            where = f"{role} block {block}"
            families = family_counts(benchmark, tasks)
            fair = len(tasks) == 8 and set(families.values()) <= {1, 2}
            tallies["allocation-families"].expect(fair, where, f"families are {families}")
            features = feature_counts(benchmark, tasks, "released")["features"]
            exact = all(count == {"favorable": 14, "total": 16} for count in features.values())
            tallies["allocation-features"].expect(exact, where, f"features are {features}")


def check_reconstruction(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """Allocating again gives the same sets."""
    again = allocate(list(benchmark.generated), benchmark.spec.seed)
    for task, role in zip(benchmark.generated, again, strict=True):
        same = benchmark.role_of(task) == role
        tallies["allocation-rebuild"].expect(same, task, f"allocated to {role} the second time")
