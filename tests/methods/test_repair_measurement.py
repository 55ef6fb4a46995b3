"""The measurement of a repair: draws averaged, the base rate allowed for, tasks that the audit did not use."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from chase.agents.history import RELEASED
from chase.methods.arena import Contender, Means, Variant, standing
from chase.methods.repair_measurement import (
    LEAST_UNSEEN,
    AveragedArena,
    measure_gains,
    tasks_to_measure,
    unexplained_standing,
    worst_of,
)
from chase.protocol.kit import ProtocolKit
from chase.testing.ledger import H0

TASKS = [f"t{place:03}" for place in range(200)]


def cells(**rates: float) -> Means:
    """Scores of 100 tasks: `H_b=0.3` is the harness's rate under b."""
    found = {}
    for name, rate in rates.items():
        harness, variant = name.split("_")
        solved = round(100 * rate)
        found[harness, {"rel": RELEASED}.get(variant, variant)] = {
            task: Fraction(place < solved) for place, task in enumerate(TASKS[:100])
        }
    return found


class EchoArena:
    """Scores every task with the number in the variant's name."""

    async def means(self, harnesses: Any, variants: Any, role: Any, tasks: Any = None, rollouts: Any = None) -> Means:
        return {(h.name, v.name): {"t": Fraction(v.name.rsplit("-")[-1])} for h in harnesses for v in variants}


async def test_a_counterfactual_scores_the_mean_of_its_draws(kit: ProtocolKit) -> None:
    one, two, alone = (Variant(name=name, transformation=kit.identity) for name in ("b-0", "b-1", "c-1"))
    arena = AveragedArena(arena=EchoArena(), draws={"b": (one, two)})
    found = await arena.means(
        [Contender(name="H", harness=H0)], [Variant(name="b", transformation=kit.identity), alone], "evo"
    )
    assert found == {("H", "b"): {"t": Fraction(1, 2)}, ("H", "c-1"): {"t": Fraction(1)}}


def test_a_gain_that_shrinks_with_the_base_rate_breaks_no_constraint(kit: ProtocolKit) -> None:
    """Where everybody solves a quarter, a quarter of the gain is left: 9 points of difference, none unexplained."""
    means = cells(H0_rel=0.8, H_rel=0.92, H0_b=0.2, H_b=0.24)
    variants = [Variant(name=name, transformation=kit.identity) for name in (RELEASED, "b")]
    assert float(standing(means, "H", "H0", variants).destruction["b"]) == pytest.approx(0.08)
    assert float(unexplained_standing(means, "H", "H0", variants).destruction["b"]) <= 0.0


def test_a_gain_that_goes_while_the_base_rate_stays_breaks_it(kit: ProtocolKit) -> None:
    means = cells(H0_rel=0.8, H_rel=0.92, H0_b=0.78, H_b=0.8)
    variants = [Variant(name=name, transformation=kit.identity) for name in (RELEASED, "b")]
    assert float(unexplained_standing(means, "H", "H0", variants).destruction["b"]) > 0.09


def test_the_worst_counterfactual_is_that_of_the_search_tasks() -> None:
    searched = cells(H0_b=0.5, H_b=0.5, H0_c=0.5, H_c=0.6)
    fresh = cells(H0_rel=0.5, H_rel=0.7, H0_b=0.5, H_b=0.6, H0_c=0.5, H_c=0.5)
    worst = {"H": worst_of(searched, "H", "H0", ["b", "c"])}
    found = measure_gains(fresh, worst, "H0", level=0.95, clusters={})["H"]
    assert (found.worst, found.surviving.value) == ("b", 0.1)
    assert found.by_variant["c"].value == 0.0
    assert worst_of(searched, "H", "H0", []) == RELEASED


def test_intervals_of_all_harnesses_hold_together() -> None:
    means = cells(H0_rel=0.5, H_rel=0.7, K_rel=0.6, H0_b=0.5, H_b=0.6, K_b=0.5)
    both = measure_gains(means, {"H": "b", "K": "b"}, "H0", level=0.95, clusters={})
    alone = measure_gains(means, {"H": "b"}, "H0", level=0.95, clusters={})
    assert both["H"].released.low < alone["H"].released.low


def test_clusters_reach_the_intervals() -> None:
    means = cells(H0_rel=0.5, H_rel=0.7, H0_b=0.5, H_b=0.6)
    clusters = {task: str(place // 10) for place, task in enumerate(TASKS)}
    plain, grouped = (measure_gains(means, {"H": "b"}, "H0", level=0.95, clusters=c)["H"] for c in ({}, clusters))
    assert grouped.released.low < plain.released.low


def test_tasks_that_the_audit_did_not_use_are_measured_on() -> None:
    seen = set(TASKS[: 200 - LEAST_UNSEEN])
    assert tasks_to_measure(TASKS, seen, {}, None) == tuple(TASKS[200 - LEAST_UNSEEN :])
    fewer = tasks_to_measure(TASKS, seen, {}, 10)
    assert len(fewer) == 10
    assert seen.isdisjoint(fewer)


def test_where_the_audit_left_too_few_its_own_are_used() -> None:
    seen = set(TASKS[: 201 - LEAST_UNSEEN])
    assert tasks_to_measure(TASKS, seen, {}, None) == tuple(sorted(seen))
    assert tasks_to_measure(TASKS[:5], set(), {}, None) == tuple(TASKS[:5])


def test_a_task_in_a_cluster_with_a_used_one_counts_as_used() -> None:
    """Pairs of tasks; of the first 50 pairs the audit used one each."""
    clusters = {task: str(place // 2) for place, task in enumerate(TASKS)}
    seen = set(TASKS[:100:2])
    assert tasks_to_measure(TASKS, seen, clusters, None) == tuple(TASKS[100:])
    assert len(tasks_to_measure(TASKS, seen, {}, None)) == 150
