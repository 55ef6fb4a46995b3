"""Whole runs of a method with the simulated reader, and what they left: what the conformance suite looks at."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from chase.core.agents import Candidate, ChallengerContext, Draft, ProposerContext, Refusal
from chase.core.errors import ChaseError, IntegrityError
from chase.core.events import Event
from chase.core.interfaces import Benchmark, Challenger, Proposer
from chase.core.values import Json, Usage
from chase.engine.runner import Pace, ScoredRollout, Silence
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness
from chase.methods.contract import Method, World
from chase.methods.evolution import EvolutionOutcome
from chase.methods.run import Plan, Run
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.protocol.kit import ProtocolKit
from chase.store.records import EpisodeCount, Spend, UsedRollout
from chase.store.store import Store
from chase.store.workspace import Workspace

RUN = "run-1"
AGENTS = ("proposer", "challenger")
MOST_ATTEMPTS = 60


class ProcessDied(ChaseError):
    """The process ends here, as far as a run can see."""


@dataclass
class AskedAgents:
    """Both agents as one: does as those it stands for, counts what was answered, and dies where it is told to."""

    proposer: Proposer
    challenger: Challenger
    answered: Counter[str] = field(default_factory=Counter)
    """Which answers were given, by purpose and round."""
    dies_at: set[str] = field(default_factory=set)
    """Asks at which the process dies before there is an answer, once each."""

    @property
    def name(self) -> str:
        return f"{self.proposer.name}+{self.challenger.name}"

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        self._die(f"propose {context.round}")
        answers = await self.proposer.propose(context)
        self.answered[f"propose {context.round}"] += 1
        return answers

    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]:
        self._die(f"challenge {context.round}")
        drafts = await self.challenger.challenge(context)
        self.answered[f"challenge {context.round}"] += 1
        return drafts

    async def revise(self, context: Any, refused: Sequence[Refusal]) -> Sequence[Any]:
        agent = self.proposer if isinstance(context, ProposerContext) else self.challenger
        return await agent.revise(context, refused)

    def _die(self, ask: str) -> None:
        if ask in self.dies_at:
            self.dies_at.remove(ask)
            raise ProcessDied(ask)


class DyingProgress(Silence):
    """Dies after so many finished rollouts."""

    def __init__(self, after: int | None) -> None:
        self.left = after

    def finished(self, scored: ScoredRollout) -> None:
        if self.left is not None:
            self.left -= 1
            if not self.left:
                raise ProcessDied("a rollout")


@dataclass
class WatchedMethod:
    """A method that keeps the world that it was given."""

    real: Method
    world: World[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    async def evolve(self, world: World[Any]) -> EvolutionOutcome:
        self.world = world
        return await self.real.evolve(world)


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """A run that ended."""

    evolved: EvolutionOutcome
    used: Sequence[UsedRollout]
    spends: Sequence[Spend]
    episodes: Sequence[EpisodeCount]
    seals: int
    events: Sequence[Event]
    asks: Mapping[str, int]
    history: Path
    attempts: int

    def result(self) -> dict[str, Json]:
        """What the run found, as plain data."""
        found = self.evolved
        return {
            "final": [found.final.name, found.final.harness.hash],
            "harnesses": [[named.name, named.harness.hash] for named in found.harnesses],
            "archive": [entry.digest() for entry in found.archive.entries],
            "variants": [[variant.name, variant.transformation.hash] for variant in found.variants],
            "rounds": [dict(record) for record in found.rounds],
            "selection": dict(found.selection),
        }

    def paid(self) -> list[Any]:
        """What the run paid for, without times."""
        spends = [(s.role, s.purpose, s.episodes, _tokens(s.usage)) for s in self.spends]
        return [spends, [(e.role, e.episodes, e.reused, _tokens(e.usage)) for e in self.episodes]]


def _tokens(usage: Usage) -> tuple[int, int, int]:
    return usage.requests, usage.input_tokens, usage.output_tokens


@dataclass(frozen=True, kw_only=True)
class Cuts:
    """Where a run dies."""

    after_rollouts: int | None = None
    """Each attempt, after so many rollouts of its own."""
    at_asks: tuple[str, ...] = ()
    """At each of these asks ('propose 1'), once."""


@dataclass(frozen=True, kw_only=True)
class TrialParts:
    """What a run takes beside a method: a small benchmark and agents that ask no model."""

    benchmark: Benchmark[Any]
    kit: ProtocolKit
    proposer: Proposer
    challenger: Challenger


@dataclass(kw_only=True)
class MethodTrial:
    """A method with everything that it takes to run it, in workspaces of one folder."""

    method: Method
    options: BaseModel
    parts: TrialParts
    folder: Path
    seed: int = 1
    rollouts: int = 1

    @cached_property
    def whole(self) -> RunOutcome:
        """A run that nothing interrupted."""
        return self.run("whole")

    def plan(self, agents: AskedAgents | None = None, method: Method | None = None) -> Plan:
        return Plan(
            benchmark=self.parts.benchmark,
            kit=self.parts.kit,
            initial=initial_harness(self.parts.benchmark),
            method=method or self.method,
            options=self.options,
            rollouts=dict.fromkeys(self.parts.benchmark.roles, self.rollouts),
            seed=self.seed,
            proposer=agents or self.parts.proposer,
            challenger=agents or self.parts.challenger,
        )

    def run(self, workspace: str, cuts: Cuts | None = None, model: ChatModel | None = None) -> RunOutcome:
        """A run to its end, however often it dies on the way."""
        return asyncio.run(self._finish(workspace, cuts or Cuts(), model))

    def reached(self, workspace: str) -> list[str]:
        """Roles that the method does not hold, and agents that it does not ask, to which its world still leads."""
        return asyncio.run(self._reached(workspace))

    async def _finish(self, workspace: str, cuts: Cuts, model: ChatModel | None) -> RunOutcome:
        agents = AskedAgents(self.parts.proposer, self.parts.challenger, dies_at=set(cuts.at_asks))
        place = Workspace(self.folder / workspace)
        for attempts in range(1, MOST_ATTEMPTS + 1):
            events: list[Event] = []
            with Store.open(place, write=True) as store:
                try:
                    async with self._running(store, self.plan(agents), events, cuts.after_rollouts, model) as run:
                        evolved = await run.evolve()
                except ProcessDied:
                    continue
                return RunOutcome(
                    evolved=evolved,
                    used=store.used(RUN),
                    spends=store.spend(RUN),
                    episodes=store.episodes(RUN),
                    seals=len(store.seals(RUN)),
                    events=events,
                    asks=dict(agents.answered),
                    history=place.run_folder(RUN) / "history",
                    attempts=attempts,
                )

        raise AssertionError(f"the run did not end in {MOST_ATTEMPTS} attempts: it does not go on where it stopped")

    async def _reached(self, workspace: str) -> list[str]:
        watched = WatchedMethod(self.method)
        with Store.open(Workspace(self.folder / workspace), write=True) as store:
            async with self._running(store, self.plan(method=watched), [], None, None) as run:
                await run.evolve()
                world = watched.world
                if world is None:
                    raise RuntimeError("the method was given no world")
                found = [agent for agent in AGENTS if agent not in self.method.agents and _has_desk(world, agent)]
                for role in self.parts.benchmark.roles:
                    if role not in self.plan().roles and await _reaches(world, role, self.parts.benchmark.tasks(role)):
                        found.append(role)
                return found

    @asynccontextmanager
    async def _running(
        self, store: Store, plan: Plan, events: list[Event], after: int | None, model: ChatModel | None
    ) -> AsyncIterator[Run]:
        """One rollout at a time: what is cut has no others beside it."""
        if not store.runs():
            store.create_run(RUN, {})
        async with Sandbox(max_sessions=1) as sandbox, model or connect(ModelConfig(name="sim:reader")) as asked:
            yield Run(
                plan, run=RUN, store=store, model=asked, sandbox=sandbox, tell=events.append,
                progress=DyingProgress(after), pace=Pace(concurrency=1),
            )  # fmt: skip


def _has_desk(world: World[Any], agent: str) -> bool:
    with suppress(IntegrityError):
        return getattr(world, agent) is not None
    return False


async def _reaches(world: World[Any], role: str, tasks: Sequence[str]) -> bool:
    """Whether a world has a role's tasks evaluated or named, whichever way it is asked."""
    for asked, some in ((role, None), *((held, tasks[:1]) for held in world.roles)):
        with suppress(IntegrityError):
            await world.arena.means([world.initial], [world.released], asked, some)
            return True
    with suppress(IntegrityError):
        return bool(world.tasks(role))
    with suppress(IntegrityError):
        return bool(await world.references.verified(tasks[:1]))
    return False
