"""CHASE with one of its parts switched off, and Meta-Harness, on the paper's replayed figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chase.methods.best_of_n import harnesses
from chase.methods.chase import ChaseOptions
from chase.methods.meta_harness import MetaHarness, MetaHarnessOptions
from chase.protocol.kit import ProtocolKit
from tests.methods.replay import BOUNDARY, CONTEXT, draft, replay


async def test_without_confirmation_what_reaches_eta_on_disc_is_archived(officeqa_kit: ProtocolKit) -> None:
    made = replay(officeqa_kit, confirm=False, eta="0.07", rounds=1)
    evolved = await made.evolve()
    assert [entry.name for entry in evolved.archive.entries] == ["b1"]
    assert evolved.archive.entries[0].confirmation == {}
    assert not [asked for asked in made.arena.asked if asked[0].startswith("conf")]
    unmoved = await replay(officeqa_kit, confirm=False, eta="0.08", rounds=1).evolve()
    assert unmoved.archive.entries == ()


async def test_constraints_that_are_not_told_are_enforced_all_the_same(officeqa_kit: ProtocolKit) -> None:
    made = replay(officeqa_kit, tell_constraints=False)
    evolved = await made.evolve()
    assert [h.name for h in evolved.harnesses] == ["H0", "r1-integrated", "H0", "r3-integrated"]
    assert {assignment.epsilon for assignment, _ in made.proposing.asked} == {None}
    assert made.proposing.tree.entries == {}
    assert made.challenging.tree.entries.keys() == {"b1"}
    assert not evolved.variants[1].told
    rows = [row for record in made.proposing.tree.rounds for row in record["pool"]]
    assert {(str(row["destruction"]), str(row["violates"])) for row in rows} == {("{}", "[]")}


async def test_constraints_that_are_not_enforced_are_told_all_the_same(officeqa_kit: ProtocolKit) -> None:
    made = replay(officeqa_kit, enforce_constraints=False, drafts={t: [draft(CONTEXT)] for t in (1, 2, 3)})
    evolved = await made.evolve()
    assert evolved.final.name == "r2-structural"  # the highest score, which violates b1
    assert {assignment.epsilon for assignment, _ in made.proposing.asked} == {"0.05"}
    assert made.proposing.tree.entries.keys() == {"b1"}


async def test_a_composition_is_refused_where_single_operators_are_asked_for(officeqa_kit: ProtocolKit) -> None:
    drafts = {1: [draft(CONTEXT, BOUNDARY), draft(BOUNDARY)]}
    record = (await replay(officeqa_kit, single_operators=True, drafts=drafts, rounds=1).evolve()).rounds[0]
    assert [proposal["verdict"] for proposal in record["challenger"]["proposals"]] == ["refused", "valid"]
    assert record["challenger"]["frozen"]["symbols"] == "shift-passages (by 10)"


def test_the_firewall_cannot_be_switched_off() -> None:
    switches = {name for name, field in ChaseOptions.model_fields.items() if field.annotation is bool}
    assert switches == {
        "reduce", "repair", "confirm", "single_operators", "tell_constraints", "enforce_constraints",
    }  # fmt: skip


async def test_meta_harness_asks_for_three_free_candidates_a_round(officeqa_kit: ProtocolKit) -> None:
    made = replay(officeqa_kit)
    world = replace(made.world, options=MetaHarnessOptions(rounds=3))  # type: ignore[arg-type]
    evolved = await MetaHarness().evolve(world)  # type: ignore[arg-type]
    asked = [(assignment.tracks, assignment.candidates, gates) for assignment, gates in made.proposing.asked]
    assert asked == [((), 3, ())] * 3
    assert evolved.final.name == "r2-structural"  # the highest released score of all rounds, the earlier of equal ones


@pytest.mark.parametrize(("episodes", "each", "expected"), [(None, 64, 10), (640, 64, 10), (703, 64, 10), (1, 64, 1)])
def test_a_budget_is_never_exceeded(episodes: int | None, each: int, expected: int) -> None:
    assert harnesses(episodes, each) == expected
