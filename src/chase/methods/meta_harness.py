"""Meta-Harness: free candidates from the complete file history; no tracks, no R³, no gate.

Candidates a round are our inference from the paper's count of episodes: 983 = 10 harnesses × 98 rollouts + 3 episodes
of the Proposer, so nine candidates in three rounds.
"""

from __future__ import annotations

from collections.abc import Collection

from pydantic import Field

from chase.core.agents import Agent
from chase.methods.bounds import EvolutionBounds, ForecastRequest, released_rounds
from chase.methods.contract import Traits, World
from chase.methods.desks import Assignment
from chase.methods.evaluation import EvaluationOptions
from chase.methods.evolution import EvolutionOutcome
from chase.methods.rounds import EVO, EvolutionState, conclude, propose_and_select
from chase.methods.selection import SelectionRule


class MetaHarnessOptions(EvaluationOptions):
    """`T`, and how many harnesses are written in a round."""

    rounds: int = Field(ge=1, le=20, description="Rounds, 1 to 20.")
    candidates: int = Field(default=3, ge=1, le=16, description="Candidates a round, 1 to 16.")


class MetaHarness:
    """Selects by released score alone, in every round and at the end."""

    name = "meta-harness"
    summary = "free candidates, selected by released score alone"
    Options = MetaHarnessOptions
    traits = Traits()
    agents: tuple[Agent, ...] = ("proposer",)

    def roles(self, roles: tuple[str, ...], sealed: Collection[str]) -> tuple[str, ...]:
        return (EVO,)

    def reader(self, role: str) -> Agent | None:
        return "proposer"

    def forecast(self, request: ForecastRequest[MetaHarnessOptions]) -> EvolutionBounds:
        return released_rounds(request, EVO, request.options.rounds, request.options.candidates)

    async def evolve(self, world: World[MetaHarnessOptions]) -> EvolutionOutcome:
        rounds, rule = world.options.rounds, SelectionRule()
        free = Assignment(tracks=(), candidates=world.options.candidates)
        state = EvolutionState.begin(world, rounds)
        for _ in range(rounds):
            state.open_round()
            await propose_and_select(world, state, rule, free)
        return await conclude(world, state, rule)
