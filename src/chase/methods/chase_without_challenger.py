"""CHASE without its Challenger, an ablation: candidates are selected by released score alone. Holds `evo` only."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import Field

from chase.core.agents import Agent
from chase.methods.bounds import EvolutionBounds, ForecastRequest, released_rounds
from chase.methods.contract import Traits, World
from chase.methods.desks import MOST_CANDIDATES, Assignment
from chase.methods.evaluation import EvaluationOptions
from chase.methods.evolution import EvolutionOutcome
from chase.methods.rounds import EVO, EvolutionState, conclude, propose_and_select
from chase.methods.selection import SelectionRule


class ChaseWithoutChallengerOptions(EvaluationOptions):
    """`T`."""

    rounds: int = Field(ge=1, le=20, description="Rounds, 1 to 20.")


class ChaseWithoutChallenger:
    """Nothing is challenged, so there is no archive and no constraint."""

    name = "chase-without-challenger"
    summary = "the same Proposer, candidates selected by released score alone"
    Options = ChaseWithoutChallengerOptions
    traits = Traits()
    agents: tuple[Agent, ...] = ("proposer",)

    def roles(self, roles: tuple[str, ...], sealed: Collection[str]) -> tuple[str, ...]:
        return (EVO,)

    def reader(self, role: str) -> Agent | None:
        return "proposer"

    def forecast(self, request: ForecastRequest[ChaseWithoutChallengerOptions]) -> EvolutionBounds:
        return released_rounds(request, EVO, request.options.rounds, MOST_CANDIDATES)

    async def evolve(self, world: World[ChaseWithoutChallengerOptions]) -> EvolutionOutcome:
        rounds, rule = world.options.rounds, SelectionRule()
        state = EvolutionState.begin(world, rounds)
        for _ in range(rounds):
            state.open_round()
            await propose_and_select(world, state, rule, Assignment())
        return await conclude(world, state, rule)
