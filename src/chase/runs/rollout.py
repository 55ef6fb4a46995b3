"""A rollout run: one harness on one task set under one variant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from chase.core.errors import UserError, choose
from chase.core.interfaces import Benchmark, Transformation
from chase.core.values import Json, Usage
from chase.engine.evaluator import Evaluator, Opening, jobs_of, unseal
from chase.engine.rollout import Contestant
from chase.engine.runner import Runner, ScoredRollout
from chase.harness.folder import initial_harness
from chase.harness.spec import Harness
from chase.runs.config import RawSettings
from chase.runs.finding import Which
from chase.runs.life import Life, OpenRun, Prepared, note_models
from chase.runs.listening import Listener
from chase.runs.loops import run_to_end
from chase.runs.models import checked_models, fitted
from chase.runs.notices import Compared, Notices, notice
from chase.runs.opening import Opener, locate, open_harness, require_readable
from chase.runs.own_agents import at_work, check_hidden, notes_on, own_agent, seen_of, settled
from chase.runs.results import RolloutResult
from chase.runs.settings import RolloutSettings
from chase.runs.variants import resolve_variant
from chase.stats.bounded import SCORES
from chase.stats.estimates import estimate, within_task_means
from chase.store.records import Use

COMMAND = "rollout"


@dataclass(frozen=True, kw_only=True)
class Evaluation(Prepared[RolloutSettings]):
    """What one `chase rollout` evaluates, everything checked."""

    transformation: Transformation[Any]
    harness: Contestant
    tasks: tuple[str, ...]
    rollouts: int

    schema = RolloutResult.schema

    @property
    def label(self) -> str:
        return f"{self.benchmark.name}/{self.settings.split}/{self.settings.variant}"

    def identity(self, fingerprint: str) -> dict[str, Json]:
        return {
            "command": COMMAND,
            "benchmark": self.benchmark.name,
            "variant": self.settings.variant,
            "transformation": self.transformation.hash,
            "harness": self.harness.hash,
            "model": self.model,
            "model_fingerprint": fingerprint,
            "split": self.settings.split,
            "tasks": len(self.tasks),
            "rollouts": self.rollouts,
            "seed": self.settings.seed,
            "excluded": sorted(self.settings.exclude_task),
        }

    def resolved(self) -> Mapping[str, Any]:
        return self.settings.written(benchmark=self.benchmark.name, rollouts=self.rollouts)

    def harnesses(self) -> Mapping[str, Harness]:
        return {"H": self.harness} if isinstance(self.harness, Harness) else {}

    async def carry_out(self, run: OpenRun) -> dict[str, Json]:
        split = self.settings.split
        runner = Runner(
            model=run.model,
            store=run.store,
            sandbox=run.sandbox,
            use=Use(run=run.id, method=COMMAND),
            pace=run.pace,
            progress=run.listener,
        )
        evaluator = Evaluator(
            benchmark=self.benchmark,
            runner=runner,
            store=run.store,
            roles={split: self.rollouts},
            run_seed=self.settings.seed,
            opening=self._opening(run, runner),
        )
        with at_work([self.harness], run, self.benchmark.private_paths):
            found = await evaluator.rollouts(self.harness, self.transformation, split, self.tasks)
        seen = seen_of(run, {"agent": self.harness})
        return {
            **self.identity(run.model.fingerprint),
            "run": run.id,
            **_summed_up(found, run, self._noticed(run, seen)),
            "agents": seen,
        }

    def _noticed(self, run: OpenRun, seen: Mapping[str, Json] | None) -> Notices:
        if not isinstance(self.harness, Harness):
            return Notices(hook_failures=[], texts=notes_on(seen))
        initial = initial_harness(self.benchmark)
        return notice(run, Compared(harness=self.harness, baseline=initial, source=self.settings.harness))

    def _opening(self, run: OpenRun, runner: Runner) -> Opening | None:
        if self.settings.split not in self.benchmark.sealed:
            return None
        pairs: list[tuple[Contestant, Transformation[Any]]] = [(self.harness, self.transformation)]
        jobs = jobs_of(self.benchmark, pairs, self.tasks, self.rollouts, self.settings.seed)
        fixed, reason = {"harness": self.harness.hash}, self.settings.unseal or ""
        return unseal(run.store, run.id, fixed, reason, room=runner.room(jobs))


def rollout(said: RawSettings[RolloutSettings], listener: Listener) -> RolloutResult:
    """Evaluate what was asked for. The same again goes on where it stopped, and pays for nothing twice."""
    life = Life(which=Which(command=COMMAND), workspace=locate(said.settings().workspace), listener=listener)
    opener = Opener(listener)
    work = life.prepared(said, lambda said: prepare(said, opener, listener))
    lived = run_to_end(lambda: life.live(work))
    return RolloutResult(payload=lived.payload, folder=lived.folder.path)


def prepare(said: RawSettings[RolloutSettings], opener: Opener, listener: Listener) -> Evaluation:
    """The evaluation that was described, everything checked before anything runs."""
    settings = settled(said)
    models = checked_models(settings, said.models, listener, alone=True)
    require_readable(settings.harness)
    own = own_agent(settings) if settings.agent_command else None
    benchmark = fitted(opener.benchmark(settings), models, settings)
    split = choose("split", settings.split, benchmark.roles)
    if split in benchmark.sealed and not (settings.unseal or "").strip():
        raise UserError(f"split={split} is sealed: give --unseal REASON. The reason stays in the record.")
    harness = open_harness(settings.harness, benchmark) if own is None else own
    check_hidden([harness], benchmark, locate(settings.workspace))
    return Evaluation(
        settings=settings,
        models=models,
        benchmark=benchmark,
        transformation=resolve_variant(benchmark, settings.variant),
        harness=harness,
        tasks=_tasks(benchmark, split, settings.exclude_task),
        rollouts=benchmark.defaults.rollouts[split] if settings.rollouts is None else settings.rollouts,
    )


def _tasks(benchmark: Benchmark[Any], split: str, excluded: Sequence[str]) -> tuple[str, ...]:
    for task in excluded:
        if benchmark.role_of(task) != split:
            raise UserError(f"--exclude-task={task} is not a task of split={split}. Leave it out.")
    tasks = tuple(task for task in benchmark.tasks(split) if task not in excluded)
    if not tasks:
        raise UserError(f"split={split}: every task is excluded. Leave at least one.")
    return tasks


def _summed_up(found: Mapping[str, Sequence[ScoredRollout]], run: OpenRun, noticed: Notices) -> dict[str, Json]:
    every = [result for results in found.values() for result in results]
    per_task = within_task_means({task: [r.outcome.score or 0.0 for r in rs] for task, rs in found.items()})
    served = sorted({name for result in every for name in result.served_models})
    return {
        "score": asdict(estimate(per_task, SCORES)),
        "per_task": {task: float(value) for task, value in per_task.items()},
        "failures": dict(Counter(r.outcome.reason for r in every if r.outcome.reason != "answered")),
        "usage": asdict(sum((result.usage for result in every), Usage())),
        "spent": asdict(sum((result.usage for result in every if not result.reused), Usage())),
        "executed": sum(not result.reused for result in every),
        "reused": sum(result.reused for result in every),
        "served_models": served,
        "hook_failures": noticed.hook_failures,
        "warnings": note_models(served, run.model, noticed.texts),
    }
