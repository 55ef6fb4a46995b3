"""The matched-budget control: the best of N random edits of `H_0`, for as many rollouts as another method used.

It tells a gain that comes from more search from one that comes from how a method searches. Edits are drawn without any
look at traces, from the vocabulary of the offline Proposer: an entry first, then one of its forms, all alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pydantic import Field

from chase.core.agents import Agent
from chase.core.keyed import uniform
from chase.methods.arena import Contender
from chase.methods.bounds import Between, EvolutionBounds, ForecastRequest, Rollouts
from chase.methods.contract import Traits, World
from chase.methods.evaluation import EvaluationOptions
from chase.methods.evolution import EvolutionOutcome, distinct
from chase.methods.rounds import EVO, EvolutionState, conclude
from chase.methods.selection import SelectionRule
from chase.proposers.mining.diagnosis import quartiles
from chase.proposers.mining.edits import Edit, combine, every_edit

MOST_EDITS = 4
"""Of one harness: as many as an integrated candidate of a round has."""
SOME = 10
"""Harnesses where no budget is given, `H_0` among them: as many as Meta-Harness evaluates."""


class BestOfNOptions(EvaluationOptions):
    """The budget."""

    episodes: int | None = Field(
        default=None, ge=1, le=1_000_000, description="Rollouts that it may use; a comparison gives another method's."
    )


class BestOfN:
    """Asks nobody; holds `evo` alone."""

    name = "best-of-n"
    summary = "the best of N random edits, at another method's number of rollouts"
    Options = BestOfNOptions
    traits = Traits()
    agents: tuple[Agent, ...] = ()

    def roles(self, roles: tuple[str, ...], sealed: Collection[str]) -> tuple[str, ...]:
        return (EVO,)

    def reader(self, role: str) -> Agent | None:
        return None

    def forecast(self, request: ForecastRequest[BestOfNOptions]) -> EvolutionBounds:
        each = request.roles[EVO]
        most = each * harnesses(request.options.episodes, each)
        return EvolutionBounds(
            rollouts=(Rollouts(stage="tries", role=EVO, count=Between(least=each, most=most)),), episodes={}
        )

    async def evolve(self, world: World[BestOfNOptions]) -> EvolutionOutcome:
        state, rule = EvolutionState.begin(world, 1), SelectionRule()
        each = len(world.tasks(EVO)) * world.rollouts[EVO]
        pool = distinct([world.initial, *_tries(world, harnesses(world.options.episodes, each) - 1)])
        choice = await state.evaluation.choose(pool, state.variants, rule)
        state.open_round()["selection"] = {**choice.to_json(), "refused": []}
        state.line.append(choice.harness)
        return await conclude(world, state, rule)


def harnesses(episodes: int | None, each: int) -> int:
    """How many harnesses a budget is enough for, `H_0` among them."""
    return SOME if episodes is None else max(1, episodes // each)


def _tries(world: World[BestOfNOptions], count: int) -> Iterator[Contender]:
    benchmark = world.kit.benchmark
    shown = [seen for task in world.tasks(EVO) for seen in benchmark.sightings(task, world.released.transformation)]
    observables = {observable.name: observable for observable in benchmark.observables}
    edits = every_edit(observables, quartiles(shown, observables), list(benchmark.placeholders), space="all")
    by_entry: dict[str, list[Edit]] = {}
    for edit in edits:
        by_entry.setdefault(edit.entry, []).append(edit)
    for n in range(1, count + 1):
        drawn = [
            _one_of(by_entry[entry], world.seed, n, entry)
            for entry in sorted(by_entry, key=lambda entry: uniform("entry", world.seed, n, entry))
        ]
        size = 1 + int(MOST_EDITS * uniform("size", world.seed, n))
        harness, kept = combine(world.initial.harness, drawn[:size], benchmark.bounds)
        yield Contender(name=f"try-{n}", harness=harness, record={"edits": [edit.to_json() for edit in kept]})


def _one_of(forms: list[Edit], seed: int, n: int, entry: str) -> Edit:
    return min(forms, key=lambda edit: uniform("form", seed, n, entry, edit.name))
