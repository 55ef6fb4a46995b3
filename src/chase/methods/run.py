"""One run of a method from its settings: builds what the method holds, runs it, and certifies once all is fixed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from chase.agents.history import RELEASED, HistoryWriter
from chase.agents.records import attach_agents
from chase.core.agents import ALL_EDITS, EditSpace
from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, Challenger, Proposer
from chase.core.keyed import digest
from chase.core.values import Json
from chase.engine.evaluator import Evaluator
from chase.engine.rollout import Job
from chase.engine.runner import Pace, Progress, Runner, Scored
from chase.engine.sandbox import Sandbox, check_control
from chase.harness.folder import render_files
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness
from chase.methods.arena import Named, StoreArena, Variant
from chase.methods.certification import Certified, certify
from chase.methods.chase import Chase, Settings
from chase.methods.desks import ChallengerDesk, ProposerDesk
from chase.methods.evolution import Evolved, Tell
from chase.methods.journal import Journal
from chase.methods.meta_harness import MetaHarness
from chase.models.chat import ChatModel
from chase.protocol.archive import Archive
from chase.protocol.kit import ProtocolKit
from chase.store.records import Use
from chase.store.store import Store

Method = Literal["chase", "meta-harness"]
METHODS: tuple[Method, ...] = ("chase", "meta-harness")


def method_roles(method: str, benchmark: Benchmark[Any]) -> tuple[str, ...]:
    """The task sets that a method holds: CHASE all but the sealed one, the plain optimiser `evo`."""
    open_roles = tuple(role for role in benchmark.roles if role not in benchmark.sealed)
    return open_roles if method == "chase" else ("evo",)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run is: everything that decides its result."""

    benchmark: Benchmark[Any]
    kit: ProtocolKit
    initial: Harness
    method: Method
    settings: Settings
    proposer: Proposer
    challenger: Challenger
    rollouts: Mapping[str, int]
    seed: int
    edit_space: EditSpace = ALL_EDITS
    proposals: int = 8

    def describe(self, fingerprint: str) -> dict[str, Json]:
        """The run's identity; `fingerprint` is the connected model's."""
        return {
            "command": "evolve",
            "benchmark": self.benchmark.name,
            "content_hash": self.benchmark.content_hash,
            "method": self.method,
            "model_fingerprint": fingerprint,
            "initial": self.initial.hash,
            **asdict(self.settings),
            "proposer": self.proposer.name,
            "challenger": self.challenger.name if self.method == "chase" else None,
            "proposals": self.proposals,
            "edit_space": self.edit_space.name,
            "rollouts": dict(self.rollouts),
            "tasks": {role: len(self.benchmark.tasks(role)) for role in self.benchmark.roles},
            "seed": self.seed,
        }

    def check(self) -> None:
        """Refuse contradictory settings before anything runs."""
        for role in (*method_roles(self.method, self.benchmark), "cert"):
            if not self.benchmark.tasks(role):
                raise UserError(f"{self.benchmark.name} has no task of role '{role}': {self.method} needs one.")
            if self.rollouts.get(role, 0) < 1:
                raise UserError(f"rollouts of role '{role}' must be at least 1.")
        check_for_benchmark(self.initial, self.benchmark, where="the initial harness")


class TimedRunner(Runner):
    """A runner that knows how long it was at work."""

    seconds = 0.0

    async def evaluate(self, jobs: Sequence[Job]) -> list[Scored]:
        started = time.monotonic()
        try:
            return await super().evaluate(jobs)
        finally:
            self.seconds += time.monotonic() - started


class Run:
    """A plan at work in a workspace, under a run id."""

    def __init__(
        self, plan: Plan, *, run: str, store: Store, model: ChatModel, sandbox: Sandbox, tell: Tell,
        progress: Progress | None = None, concurrency: int = 64,
    ) -> None:  # fmt: skip
        plan.check()
        self.plan = plan
        self.run = run
        self.store = store
        self.journal = Journal(store.workspace, run)
        agents = (plan.proposer, plan.challenger)
        attach_agents(agents, store, Use(run=run, method=plan.method), self.journal.folder, tell, model.meter)
        self.tell = tell
        self._runner = TimedRunner(
            model=model,
            store=store,
            sandbox=sandbox,
            use=Use(run=run, method=plan.method),
            pace=Pace(concurrency=concurrency),
            progress=progress,
        )

    async def evolve(self) -> Evolved:
        """The method's own part. It ends before the certification set is opened."""
        plan = self.plan
        roles = method_roles(plan.method, plan.benchmark)
        evaluator = Evaluator(
            benchmark=plan.benchmark,
            runner=self._runner,
            store=self.store,
            roles={role: plan.rollouts[role] for role in roles},
            run_seed=plan.seed,
        )
        trees = {role: HistoryWriter(self._history / name) for role, name in self._agents.items() if role in roles}
        arena = StoreArena(evaluator, trees)
        initial = Named(name="H0", harness=plan.initial, record={})
        proposer = ProposerDesk(
            proposer=plan.proposer,
            tree=trees["evo"],
            journal=self.journal,
            check=self._check,
            benchmark=plan.benchmark,
            epsilon=plan.settings.epsilon,
            edit_space=plan.edit_space,
            constrained=plan.method == "chase",
            seed=plan.seed,
        )
        archive = Archive(benchmark=plan.benchmark.name, content_hash=plan.benchmark.content_hash)
        if plan.method == "meta-harness":
            evolved = await MetaHarness(
                initial=initial,
                arena=arena,
                proposer=proposer,
                archive=archive,
                rounds=plan.settings.rounds,
                tell=self.tell,
                released=self.released,
            ).evolve()
        else:
            challenger = ChallengerDesk(
                challenger=plan.challenger,
                tree=trees["disc"],
                journal=self.journal,
                kit=plan.kit,
                proposals=plan.proposals,
                seed=plan.seed,
            )
            evolved = await Chase(
                initial=initial,
                arena=arena,
                proposer=proposer,
                challenger=challenger,
                kit=plan.kit,
                tasks=evaluator.tasks,
                confirmation_roles=[role for role in roles if role.startswith("conf")],
                archive=archive,
                settings=plan.settings,
                tell=self.tell,
                released=self.released,
            ).evolve()
        self._keep(evolved)
        return evolved

    async def certify(self, evolved: Evolved, reason: str = "") -> Certified:
        """Commit what was found, open the sealed set, and measure what is left of the gain there."""
        return await certify(
            evolved,
            benchmark=self.plan.benchmark,
            runner=self._runner,
            store=self.store,
            run=self.run,
            rollouts=self.plan.rollouts,
            run_seed=self.plan.seed,
            reason=reason,
        )

    @property
    def rollout_seconds(self) -> float:
        """Time that went into rollouts, looking them up included; the rest went into agents and checks."""
        return self._runner.seconds

    @property
    def released(self) -> Variant:
        return Variant(name=RELEASED, transformation=self.plan.benchmark.variant("released"))

    _agents: Mapping[str, str] = {"evo": "proposer", "disc": "challenger"}
    """Role → who reads its history."""

    @property
    def _history(self) -> Path:
        return self.journal.folder / "history"

    def _check(self, harness: Harness, where: str) -> None:
        check_for_benchmark(harness, self.plan.benchmark, where=where)
        if harness.control_source is not None:
            check_control(harness.control_source)

    def _keep(self, evolved: Evolved) -> None:
        """The run's folder: every harness, `H*` and the archive."""
        for t, named in enumerate(evolved.harnesses):
            self._write_harness(f"harnesses/H{t}", named.harness)
        self._write_harness("final", evolved.final.harness)
        self.journal.write("archive.json", evolved.archive.to_json())

    def _write_harness(self, folder: str, harness: Harness) -> None:
        for name, text in render_files(harness).items():
            self.journal.write(f"{folder}/{name}", text)


def run_id(config: Mapping[str, Json]) -> str:
    """The first id for a config: method and digest. A second run of the same config adds a number."""
    return f"{config.get('method') or config['command']}-{digest(config)[:10]}"


def write_result(journal: Journal, payload: Mapping[str, Json]) -> None:
    journal.write("result.json", json.dumps(payload, indent=2) + "\n")
