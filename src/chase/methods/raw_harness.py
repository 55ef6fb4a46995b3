"""RawHarness: `H_0` unchanged, what every gain is measured against. Holds no tasks, asks nobody."""

from __future__ import annotations

from collections.abc import Collection

from chase.core.agents import Agent
from chase.core.events import FinalSelected
from chase.methods.bounds import EvolutionBounds, ForecastRequest
from chase.methods.contract import Traits, World
from chase.methods.evolution import EvolutionOutcome
from chase.methods.options import MethodOptions


class RawHarnessOptions(MethodOptions):
    """There is nothing to choose."""


class RawHarness:
    """Nothing is evaluated, so nothing is paid for before certification."""

    name = "raw-harness"
    summary = "the initial harness, unchanged"
    Options = RawHarnessOptions
    traits = Traits()
    agents: tuple[Agent, ...] = ()

    def roles(self, roles: tuple[str, ...], sealed: Collection[str]) -> tuple[str, ...]:
        return ()

    def reader(self, role: str) -> Agent | None:
        return None

    def forecast(self, request: ForecastRequest[RawHarnessOptions]) -> EvolutionBounds:
        return EvolutionBounds(rollouts=(), episodes={})

    async def evolve(self, world: World[RawHarnessOptions]) -> EvolutionOutcome:
        h0 = world.initial
        world.tell(FinalSelected(pool=(), selected=h0.name))
        return EvolutionOutcome(
            final=h0,
            harnesses=(h0,),
            archive=world.archive,
            variants=(world.released,),
            rounds=(),
            selection={"pool": [], "selected": h0.name, "hash": h0.harness.hash},
        )
