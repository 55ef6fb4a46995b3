"""The conformance suite catches a method that breaks its contract."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chase.core.agents import Agent
from chase.core.events import Event
from chase.methods.arena import Contender
from chase.methods.bounds import Between, EvolutionBounds, ForecastRequest
from chase.methods.chase_without_challenger import ChaseWithoutChallenger, ChaseWithoutChallengerOptions
from chase.methods.contract import World
from chase.methods.evolution import EvolutionOutcome
from chase.methods.rounds import EVO, EvolutionState, conclude
from chase.methods.selection import SelectionRule
from chase.testing.method_suite import MethodConformance, small_parts
from chase.testing.method_trial import MethodTrial

pytestmark = pytest.mark.slow

suite = MethodConformance()
Check = Callable[[MethodTrial], None]


def trial_of(method: Any, folder: Path, rounds: int = 1) -> MethodTrial:
    options = ChaseWithoutChallengerOptions(rounds=rounds)
    return MethodTrial(method=method, options=options, parts=small_parts(), folder=folder)


class Honest(ChaseWithoutChallenger):
    """CHASE without its Challenger, to be spoilt."""


class HoldsTheSealed(Honest):
    def roles(self, roles: tuple[str, ...], sealed: Any) -> tuple[str, ...]:
        return (EVO, *sorted(sealed))


class LetsAStrangerRead(Honest):
    def reader(self, role: str) -> Agent | None:
        return "challenger"


class LetsTheProposerReadDisc(Honest):
    """Holds two roles, lets the Proposer read one, and writes the other into its tree."""

    def roles(self, roles: tuple[str, ...], sealed: Any) -> tuple[str, ...]:
        return (EVO, "disc")

    def reader(self, role: str) -> Agent | None:
        return "proposer" if role == EVO else None

    async def evolve(self, world: World[Any]) -> EvolutionOutcome:
        world.proposer.tree.add_entry("notes", {"tasks": list(world.tasks("disc"))})
        return await super().evolve(world)


class Counting(Honest):
    """Keeps state of its own: every run tries something else."""

    runs = itertools.count()

    async def evolve(self, world: World[Any]) -> EvolutionOutcome:
        state = EvolutionState.begin(world)
        memory = f"Run {next(self.runs)}."
        state.line.append(Contender(name="try", harness=replace(world.initial.harness, memory=memory)))
        return await conclude(world, state, SelectionRule())


class TakesTheLast(Honest):
    """Ties go to the later harness."""

    async def evolve(self, world: World[Any]) -> EvolutionOutcome:
        found = await super().evolve(world)
        other = Contender(name="H0", harness=replace(world.initial.harness, memory="Later."))
        return replace(found, final=other, harnesses=(*found.harnesses, other))


class TellsTexts(Honest):
    async def evolve(self, world: World[Any]) -> EvolutionOutcome:
        world.tell("round")  # type: ignore[arg-type]
        return await super().evolve(world)


class HandsOutObjects(Honest):
    async def evolve(self, world: World[Any]) -> EvolutionOutcome:
        event = type("Strange", (Event,), {})()
        object.__setattr__(event, "arena", world.arena)
        world.tell(event)
        return await super().evolve(world)


class Understates(Honest):
    def forecast(self, request: ForecastRequest[Any]) -> EvolutionBounds:
        told = super().forecast(request)
        return replace(told, rollouts=(request.cells("round 1", EVO, least=0, most=1),))


class Overstates(Honest):
    def forecast(self, request: ForecastRequest[Any]) -> EvolutionBounds:
        told = super().forecast(request)
        return replace(told, rollouts=(request.cells("round 1", EVO, least=90, most=99),))


class UnderstatesEpisodes(Honest):
    def forecast(self, request: ForecastRequest[Any]) -> EvolutionBounds:
        return replace(super().forecast(request), episodes={"proposer": Between(least=0, most=0)})


class AsksAgain(Honest):
    """Does not go by the journal: a round that was asked for is asked for again under another number."""

    async def evolve(self, world: World[Any]) -> EvolutionOutcome:
        (world.journal.path / "rounds" / "1" / "candidates.json").unlink(missing_ok=True)
        return await super().evolve(world)


class SelectsTheForbidden(Honest):
    async def evolve(self, world: World[Any]) -> EvolutionOutcome:
        found = await super().evolve(world)
        return replace(found, selection={**found.selection, "selected": "nobody"})


FAULTS: list[tuple[type[Honest], Check]] = [
    (HoldsTheSealed, suite.test_it_holds_roles_of_the_benchmark_and_none_that_is_sealed),
    (LetsAStrangerRead, suite.test_it_holds_roles_of_the_benchmark_and_none_that_is_sealed),
    (LetsTheProposerReadDisc, suite.test_a_history_tree_is_about_the_tasks_of_its_readers_roles),
    (Counting, suite.test_two_runs_are_the_same),
    (TakesTheLast, suite.test_where_nothing_is_better_the_initial_harness_stays),
    (TellsTexts, suite.test_its_events_are_typed_and_plain_data),
    (HandsOutObjects, suite.test_its_events_are_typed_and_plain_data),
    (Understates, suite.test_its_forecast_bounds_what_it_spends),
    (Overstates, suite.test_its_forecast_bounds_what_it_spends),
    (UnderstatesEpisodes, suite.test_its_forecast_bounds_what_it_spends),
    (AsksAgain, suite.test_a_run_that_dies_again_and_again_comes_to_the_same_and_pays_once),
    (SelectsTheForbidden, suite.test_its_result_is_whole),
]


@pytest.mark.parametrize(("method", "check"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_fault_is_caught_and_an_honest_method_passes(method: type[Honest], check: Check, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        check(trial_of(method(), tmp_path / "faulty"))
    check(trial_of(Honest(), tmp_path / "honest"))


def test_a_world_that_leads_to_another_role_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluator that checks nothing."""
    monkeypatch.setattr("chase.engine.evaluator.Evaluator._check", lambda self, role: None)
    with pytest.raises(AssertionError, match="disc"):
        suite.test_no_role_and_no_agent_that_is_not_its_own_can_be_reached(trial_of(Honest(), tmp_path))


def test_a_world_with_a_desk_too_many_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chase.methods.contract._held", lambda desk, agent: desk or object())
    with pytest.raises(AssertionError, match="challenger"):
        suite.test_no_role_and_no_agent_that_is_not_its_own_can_be_reached(trial_of(Honest(), tmp_path))


@pytest.mark.slow
def test_a_store_that_forgets_a_rollout_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then an interrupted run pays for it again, and may never end."""
    trial = trial_of(Honest(), tmp_path)
    assert trial.whole.used
    monkeypatch.setattr("chase.store.store.Store.get_many", lambda self, digests: {})
    with pytest.raises(AssertionError, match="it does not go on where it stopped"):
        suite.test_a_run_that_dies_again_and_again_comes_to_the_same_and_pays_once(trial)
