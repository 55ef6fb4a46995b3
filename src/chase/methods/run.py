"""One run of a method from its settings: builds what the method holds, runs it, and certifies once all is fixed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from chase.agents.history import RELEASED, HistoryWriter
from chase.agents.records import attach_agents
from chase.core.agents import ALL_EDITS, Agent, EditSpace
from chase.core.errors import ChaseError, IntegrityError, SetupError, UserError
from chase.core.events import Tell
from chase.core.interfaces import Benchmark, Challenger, Proposer
from chase.core.values import Json
from chase.engine.evaluator import Evaluator, Opening
from chase.engine.rollout import Job
from chase.engine.runner import Pace, Progress, Runner, ScoredRollout
from chase.engine.sandbox import Sandbox, check_control
from chase.harness.folder import render_files
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness
from chase.methods.arena import Contender, StoreArena, Variant
from chase.methods.certification import CertificationOutcome, certify
from chase.methods.contract import Desks, Method, World
from chase.methods.desks import ChallengerDesk, ProposerDesk
from chase.methods.evolution import EvolutionOutcome
from chase.methods.journal import Journal
from chase.methods.references import REFERENCE, ReferenceDesk, ReferenceOptions
from chase.methods.references.desk import maker_of
from chase.methods.registry import plug_in
from chase.models.chat import ChatModel
from chase.protocol.archive import Archive
from chase.protocol.kit import ProtocolKit
from chase.store.records import Use
from chase.store.store import Store

MOST_CHARS = 300
"""Of what a plug-in's error says."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """What every run has, whatever it does, that decides its result."""

    benchmark: Benchmark[Any]
    kit: ProtocolKit
    rollouts: Mapping[str, int]
    """Of each task, by role."""
    seed: int

    @property
    def released(self) -> Variant:
        """The benchmark as it was released."""
        return Variant(name=RELEASED, transformation=self.benchmark.variant("released"))

    @property
    def sizes(self) -> dict[str, Json]:
        """Role → number of tasks."""
        return {role: len(self.benchmark.tasks(role)) for role in self.benchmark.roles}

    def evaluator(
        self, runner: Runner, store: Store, roles: Sequence[str], opening: Opening | None = None
    ) -> Evaluator:
        """Evaluates on the tasks of these roles and of no other."""
        held = {role: self.rollouts[role] for role in roles}
        return Evaluator(
            benchmark=self.benchmark, runner=runner, store=store, roles=held, run_seed=self.seed, opening=opening
        )


@dataclass(frozen=True, kw_only=True)
class Plan(Design):
    """What a run of a method is: everything that decides its result."""

    initial: Harness
    method: Method
    options: BaseModel
    """The method's, settled."""
    proposer: Proposer | None = None
    challenger: Challenger | None = None
    """One that the method does not ask is never asked."""
    edit_space: EditSpace = ALL_EDITS

    @property
    def roles(self) -> tuple[str, ...]:
        """The task sets that the method holds."""
        return self.method.roles(tuple(self.benchmark.roles), self.benchmark.sealed)

    @property
    def rollout_roles(self) -> tuple[str, ...]:
        """The roles of all rollouts that its evolution can make: the method's, and that of reference trajectories."""
        return (*self.roles, REFERENCE) if isinstance(self.options, ReferenceOptions) else self.roles

    @property
    def agents(self) -> dict[Agent, Proposer | Challenger]:
        """The agents that the method asks."""
        made: dict[Agent, Proposer | Challenger | None] = {"proposer": self.proposer, "challenger": self.challenger}
        return {name: agent for name in self.method.agents if (agent := made[name]) is not None}

    def describe(self, fingerprint: str) -> dict[str, Json]:
        """The run's identity; `fingerprint` is the connected model's."""
        asked = {name: agent.name for name, agent in self.agents.items()}
        return {
            "command": "evolve",
            "benchmark": self.benchmark.name,
            "content_hash": self.benchmark.content_hash,
            "method": self.method.name,
            "model_fingerprint": fingerprint,
            "initial": self.initial.hash,
            **self.options.model_dump(mode="json"),
            "proposer": asked.get("proposer"),
            "challenger": asked.get("challenger"),
            "edit_space": self.edit_space.name,
            "rollouts": dict(self.rollouts),
            "tasks": self.sizes,
            "seed": self.seed,
        }

    def check(self) -> None:
        """Refuse contradictory settings before anything runs."""
        name, roles = self.method.name, self.roles
        if sealed := self.benchmark.sealed & set(roles):
            raise IntegrityError(f"method '{name}' wants to hold '{min(sealed)}', which is sealed.")
        if not self.method.traits.neutral_free and self.benchmark.neutral is None:
            raise UserError(
                f"method '{name}' looks at the neutral benchmark B_0, and {self.benchmark.name} has none. Use another "
                "method, or a benchmark whose B_0 is known."
            )
        if missing := set(self.method.agents) - self.agents.keys():
            raise UserError(f"method '{name}' asks a {min(missing)}, and none was given.")
        if strange := {self.method.reader(role) for role in roles} - {None, *self.method.agents}:
            raise SetupError(f"method '{name}' lets the {min(map(str, strange))} read, which it does not ask.")
        for role in (*roles, *sorted(self.benchmark.sealed)):
            if not self.benchmark.tasks(role):
                raise UserError(f"{self.benchmark.name} has no task of role '{role}': {name} needs one.")
            if self.rollouts.get(role, 0) < 1:
                raise UserError(f"rollouts of role '{role}' must be at least 1.")
        check_for_benchmark(self.initial, self.benchmark, where="the initial harness")


class TimedRunner(Runner):
    """A runner that knows how long it was at work."""

    seconds = 0.0

    async def evaluate(self, jobs: Sequence[Job]) -> list[ScoredRollout]:
        started = time.monotonic()
        try:
            return await super().evaluate(jobs)
        finally:
            self.seconds += time.monotonic() - started


class Run:
    """A plan at work in a workspace, under a run id."""

    def __init__(
        self, plan: Plan, *, run: str, store: Store, model: ChatModel, sandbox: Sandbox, tell: Tell,
        progress: Progress | None = None, pace: Pace | None = None,
    ) -> None:  # fmt: skip
        plan.check()
        self.plan = plan
        self.run = run
        self.store = store
        self.journal = Journal(store.workspace, run)
        use = Use(run=run, method=plan.method.name)
        hidden = plan.benchmark.private_paths
        attach_agents(plan.agents.values(), store, use, self.journal.path, tell, model.meter, hidden)
        self.tell = tell
        self._model = model
        self.candidate_names: dict[str, str] = {}
        """Hash → name of every candidate that was evaluated; known when the evolution is over."""
        self._runner = TimedRunner(
            model=model,
            store=store,
            sandbox=sandbox,
            use=use,
            pace=pace,
            progress=progress,
        )

    async def evolve(self) -> EvolutionOutcome:
        """The method's own part. It ends before the certification set is opened."""
        world = self._world()
        evolved = await _evolved(self.plan.method, world)
        desk = world.desks.proposer
        self.candidate_names = dict(desk.evaluated) if desk is not None else {}
        self._keep(evolved)
        return evolved

    def _world(self) -> World[Any]:
        """What the method may use, and no more."""
        plan, roles = self.plan, self.plan.roles
        evaluator = plan.evaluator(self._runner, self.store, roles)
        trees = {agent: HistoryWriter(self._history / agent, records=agent == "proposer") for agent in plan.agents}
        readers = {role: agent for role in roles if (agent := plan.method.reader(role)) is not None}
        return World(
            initial=Contender(name="H0", harness=plan.initial, record={}),
            arena=StoreArena(evaluator, {role: trees[agent] for role, agent in readers.items()}),
            desks=self._desks(trees),
            kit=plan.kit,
            journal=self.journal,
            released=plan.released,
            options=plan.options,
            roles=roles,
            tasks=evaluator.tasks,
            rollouts={role: plan.rollouts[role] for role in roles},
            archive=Archive(benchmark=plan.benchmark.name, content_hash=plan.benchmark.content_hash),
            seed=plan.seed,
            tell=self.tell,
        )

    def _desks(self, trees: Mapping[Agent, HistoryWriter]) -> Desks:
        """A desk for each agent that the method asks."""
        plan = self.plan
        proposer = challenger = None
        if "proposer" in trees and plan.proposer is not None:
            proposer = ProposerDesk(
                proposer=plan.proposer,
                tree=trees["proposer"],
                journal=self.journal,
                check=self._check,
                benchmark=plan.benchmark,
                edit_space=plan.edit_space,
                seed=plan.seed,
            )
        if "challenger" in trees and plan.challenger is not None:
            tree, journal = trees["challenger"], self.journal
            challenger = ChallengerDesk(
                challenger=plan.challenger, tree=tree, journal=journal, kit=plan.kit, seed=plan.seed
            )
        return Desks(proposer=proposer, challenger=challenger, references=self._references())

    def _references(self) -> ReferenceDesk | None:
        """The desk of the maker of reference trajectories, where the method's options ask for one. It serves the tasks
        that an agent of the method may read of.
        """
        plan, options = self.plan, self.plan.options
        if not isinstance(options, ReferenceOptions):
            return None
        training = [role for role in plan.roles if plan.method.reader(role) is not None]
        return ReferenceDesk(
            benchmark=plan.benchmark,
            runner=self._runner,
            store=self.store,
            maker=maker_of(options.maker, self._model, plan.benchmark),
            attempts=options.attempts,
            tasks=frozenset(task for role in training for task in plan.benchmark.tasks(role)),
            seed=plan.seed,
        )

    async def certify(self, evolved: EvolutionOutcome, reason: str = "") -> CertificationOutcome:
        """Commit what was found, open the sealed set, and measure what is left of the gain there."""
        return await certify(
            evolved,
            benchmark=self.plan.benchmark,
            kit=self.plan.kit,
            runner=self._runner,
            store=self.store,
            run=self.run,
            rollouts=self.plan.rollouts,
            run_seed=self.plan.seed,
            reason=reason,
            tell=self.tell,
        )

    @property
    def rollout_seconds(self) -> float:
        """Time that went into rollouts, looking them up included; the rest went into agents and checks."""
        return self._runner.seconds

    @property
    def _history(self) -> Path:
        return self.journal.path / "history"

    def _check(self, harness: Harness, where: str) -> None:
        check_for_benchmark(harness, self.plan.benchmark, where=where)
        if harness.control_source is not None:
            check_control(harness.control_source)

    def _keep(self, evolved: EvolutionOutcome) -> None:
        """The run's folder: every harness, `H*` and the archive."""
        for t, named in enumerate(evolved.harnesses):
            self._write_harness(f"harnesses/H{t}", named.harness)
        self._write_harness("final", evolved.final.harness)
        self.journal.write("archive.json", evolved.archive.to_json())

    def _write_harness(self, folder: str, harness: Harness) -> None:
        for name, text in render_files(harness).items():
            self.journal.write(f"{folder}/{name}", text)


async def _evolved(method: Method, world: World[Any]) -> EvolutionOutcome:
    """What a method ends with. What a plug-in does wrong is a `SetupError` that says whose fault it is."""
    where = plug_in(method.name)
    if where is None:
        return await method.evolve(world)
    mend = "The fault is the plug-in's: mend or uninstall it."
    try:
        evolved: object = await method.evolve(world)
    except ChaseError:
        raise
    except Exception as error:  # whatever a plug-in raises: it is somebody else's code
        said = " ".join(str(error).split())[:MOST_CHARS]
        raise SetupError(f"{where} failed in evolve(): {type(error).__name__}: {said}. {mend}") from error
    if not isinstance(evolved, EvolutionOutcome):
        raise SetupError(f"{where}: evolve() returned {type(evolved).__name__}, no EvolutionOutcome. {mend}")
    return evolved
