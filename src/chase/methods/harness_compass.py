"""HarnessCompass, as the paper adapts it: CHASE's Proposer, a fixed generalization gate, selection by released score.
Holds `evo` only.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pydantic import Field

from chase.core.agents import Agent
from chase.methods.bounds import EvolutionBounds, ForecastRequest, released_rounds
from chase.methods.contract import Traits, World
from chase.methods.desks import MOST_CANDIDATES, Assignment
from chase.methods.evaluation import EvaluationOptions
from chase.methods.evolution import EvolutionOutcome
from chase.methods.gate import GeneralizationGate
from chase.methods.rounds import EVO, EvolutionState, conclude, propose_and_select
from chase.methods.selection import SelectionRule


class HarnessCompassOptions(EvaluationOptions):
    """`T`."""

    rounds: int = Field(ge=1, le=20, description="Rounds, 1 to 20.")


class HarnessCompass:
    """A candidate replaces the current harness only with a higher released score. So each `H_t` is the best so far,
    ties keep the earlier one, and `H_T` is what the final selection over `H_0 … H_T` takes.
    """

    name = "harness-compass"
    summary = "candidates pass a fixed generalization gate, and are selected by released score"
    Options = HarnessCompassOptions
    traits = Traits(shortcut_aware=True)
    agents: tuple[Agent, ...] = ("proposer",)

    def roles(self, roles: tuple[str, ...], sealed: Collection[str]) -> tuple[str, ...]:
        return (EVO,)

    def reader(self, role: str) -> Agent | None:
        return "proposer"

    def forecast(self, request: ForecastRequest[HarnessCompassOptions]) -> EvolutionBounds:
        return released_rounds(request, EVO, request.options.rounds, MOST_CANDIDATES)

    async def evolve(self, world: World[HarnessCompassOptions]) -> EvolutionOutcome:
        state = EvolutionState.begin(world, world.options.rounds)
        return await evolve_gated(world, state, SelectionRule(gates=(gate_of(world),)))


def gate_of(world: World[Any]) -> GeneralizationGate:
    """The gate of a run, fixed before its first round. What the benchmark knows stays with the host."""
    return GeneralizationGate(world.kit.benchmark.gate, initial=world.initial.harness, observed=world.roles)


async def evolve_gated(world: World[Any], state: EvolutionState, rule: SelectionRule) -> EvolutionOutcome:
    """The schedule of HarnessCompass: rounds of a structural, a guidance and an integrated candidate, each held to the
    rule's gates before it is evaluated.
    """
    for _ in range(state.planned or 0):
        record = state.open_round()
        record["gates"] = {gate.name: gate.record for gate in rule.gates if isinstance(gate, GeneralizationGate)}
        await propose_and_select(world, state, rule, Assignment())
    return await conclude(world, state, rule)
