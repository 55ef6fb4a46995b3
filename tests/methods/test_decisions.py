"""What methods decide where a careless change would decide otherwise: mutants that once survived."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from chase.agents.history import RELEASED
from chase.methods.chase_without_challenger import ChaseWithoutChallenger, ChaseWithoutChallengerOptions
from chase.methods.evolution import EvolutionOutcome
from chase.protocol.kit import ProtocolKit
from tests.methods.replay import BOUNDARY, CONTEXT, EVOLUTION, draft, replay

WORSE = dict.fromkeys(EVOLUTION, (-1, -1))
"""Every candidate scores less than the initial harness."""


async def optimised(officeqa_kit: ProtocolKit, gains: dict[str, int]) -> EvolutionOutcome:
    """Three rounds of CHASE without its Challenger, with these gains as released."""
    evolution = WORSE | {name: (gain, 0) for name, gain in gains.items()}
    made = replay(officeqa_kit, evolution=evolution)
    world = replace(made.world, options=ChaseWithoutChallengerOptions(rounds=3))  # type: ignore[arg-type]
    return await ChaseWithoutChallenger().evolve(world)  # type: ignore[arg-type]


async def test_the_best_candidate_is_taken_wherever_it_stands(officeqa_kit: ProtocolKit) -> None:
    evolved = await optimised(
        officeqa_kit, {"r1-structural": 5, "r1-integrated": 3, "r2-guidance": 9, "r3-integrated": 8}
    )
    assert [harness.name for harness in evolved.harnesses] == ["H0", "r1-structural", "r2-guidance", "r2-guidance"]
    assert evolved.final.name == "r2-guidance"


async def test_the_harness_of_the_round_before_stays_where_no_candidate_is_better(officeqa_kit: ProtocolKit) -> None:
    evolved = await optimised(officeqa_kit, {"r1-guidance": 5, "r2-integrated": 4, "r3-structural": 4})
    assert [harness.name for harness in evolved.harnesses] == ["H0", *["r1-guidance"] * 3]
    pools = [[row["harness"] for row in round["selection"]["pool"]] for round in evolved.rounds]
    assert [pool[:2] for pool in pools[1:]] == [["H0", "r1-guidance"]] * 2


async def test_the_discovery_tasks_are_evaluated_where_nothing_is_challenged_too(officeqa_kit: ProtocolKit) -> None:
    made = replay(officeqa_kit, evolution=WORSE, rounds=1)
    evolved = await made.evolve()
    assert evolved.rounds[0]["challenger"] == {"skipped": "H_t = H_0"}
    assert [asked for asked in made.arena.asked if asked[0] == "disc"] == [("disc", "H0", RELEASED)]


@pytest.mark.parametrize(
    ("kept", "frozen"),
    [(8, "wrap-text"), (7, "wrap-text, then shift-passages (by 10)")],
)
async def test_a_part_stands_for_the_whole_from_four_fifths_of_its_destruction_on(
    officeqa_kit: ProtocolKit, kept: int, frozen: str
) -> None:
    deltas = {"wrap-text+shift-passages": 10, "wrap-text": kept, "shift-passages": 1}
    discovery = {("r1-integrated", name): Fraction(delta, 98) for name, delta in deltas.items()}
    made = replay(officeqa_kit, discovery=discovery, rounds=1, drafts={1: [draft(CONTEXT, BOUNDARY)]})
    assert (await made.evolve()).rounds[0]["challenger"]["frozen"]["symbols"] == frozen
