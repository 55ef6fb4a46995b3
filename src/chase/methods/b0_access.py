"""B_0-Access: HarnessCompass's schedule and gate, with selection by the score under the neutral benchmark `B_0`.
Holds `evo` only; for benchmarks whose `B_0` is known.
"""

from __future__ import annotations

from chase.core.errors import IntegrityError
from chase.methods.arena import Variant
from chase.methods.bounds import EvolutionBounds, ForecastRequest, released_rounds
from chase.methods.contract import Traits, World
from chase.methods.desks import MOST_CANDIDATES
from chase.methods.evolution import EvolutionOutcome
from chase.methods.harness_compass import HarnessCompass, HarnessCompassOptions, evolve_gated, gate_of
from chase.methods.rounds import EVO, EvolutionState
from chase.methods.selection import ScoreUnder, SelectionRule


class B0Access(HarnessCompass):
    """A candidate replaces the current harness only with a higher `R̂_{B_0}` on `D_evo`.

    `B_0` is in the selection alone: the Proposer reads no score and no trace under it, so that the selection is all
    that differs from HarnessCompass (our reading; the paper does not say).
    """

    name = "b0-access"
    summary = "as harness-compass, selected by the score under the neutral benchmark B_0, where that is known"
    traits = Traits(shortcut_aware=True, neutral_free=False)

    def forecast(self, request: ForecastRequest[HarnessCompassOptions]) -> EvolutionBounds:
        return released_rounds(request, EVO, request.options.rounds, MOST_CANDIDATES, variants=2)

    async def evolve(self, world: World[HarnessCompassOptions]) -> EvolutionOutcome:
        benchmark = world.kit.benchmark
        if benchmark.neutral is None:
            raise IntegrityError(f"{benchmark.name} has no B_0, and a plan with it was not checked.")
        neutral = Variant(name=benchmark.neutral, transformation=benchmark.variant(benchmark.neutral), told=False)
        state = EvolutionState.begin(world, world.options.rounds, unseen=(neutral,))
        rule = SelectionRule(objective=ScoreUnder(neutral.name), gates=(gate_of(world),))
        return await evolve_gated(world, state, rule)
