"""A method of a few lines that asks nobody: random edits of `H_0`, of which the best is taken."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import Field

from chase.core.agents import Agent
from chase.core.keyed import uniform
from chase.methods.arena import Contender
from chase.methods.bounds import EvolutionBounds, ForecastRequest
from chase.methods.contract import Traits, World
from chase.methods.evolution import EvolutionOutcome
from chase.methods.options import MethodOptions
from chase.methods.rounds import EVO, EvolutionState, conclude
from chase.methods.selection import SelectionRule
from chase.proposers.mining.edits import combine, every_edit


class RandomEditsOptions(MethodOptions):
    tries: int = Field(default=3, ge=1, le=20, description="Harnesses that are tried.")


class RandomEdits:
    name = "random-edits"
    summary = "the best of some random edits of the initial harness"
    Options = RandomEditsOptions
    traits = Traits()
    agents: tuple[Agent, ...] = ()

    def roles(self, roles: tuple[str, ...], sealed: Collection[str]) -> tuple[str, ...]:
        return (EVO,)

    def reader(self, role: str) -> Agent | None:
        return None

    def forecast(self, request: ForecastRequest[RandomEditsOptions]) -> EvolutionBounds:
        return EvolutionBounds(
            rollouts=(request.cells("tries", EVO, least=1, most=1 + request.options.tries),), episodes={}
        )

    async def evolve(self, world: World[RandomEditsOptions]) -> EvolutionOutcome:
        state, benchmark = EvolutionState.begin(world), world.kit.benchmark
        edits = every_edit((), {}, list(benchmark.placeholders), space="all")
        for n in range(world.options.tries):
            drawn = min(edits, key=lambda edit: uniform("random-edit", world.seed, n, edit.name))
            state.line.append(
                Contender(name=f"try-{n}", harness=combine(world.initial.harness, [drawn], benchmark.bounds)[0])
            )
        return await conclude(world, state, SelectionRule())
