"""What `chase rollout` does once its flags are read: build the evaluation, run it, sum it up."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from chase.cli.harness import checked_hooks
from chase.cli.opening import open_benchmark
from chase.cli.output import emit_json, printable
from chase.cli.progress import RolloutProgress, say_aside
from chase.cli.settings import integer, locate, model_config, require, seconds, text
from chase.cli.variants import resolve_variant
from chase.core.errors import UserError, choose
from chase.core.interfaces import Benchmark, Transformation
from chase.core.keyed import digest
from chase.core.values import Usage
from chase.engine.rollout import Job
from chase.engine.runner import Pace, Runner, RunPaused, Scored
from chase.engine.sandbox import Sandbox
from chase.harness.folder import load_harness
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect, make_pacer
from chase.stats.estimates import estimate, within_task_means
from chase.store.records import Use
from chase.store.store import Store


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What one `chase rollout` evaluates."""

    benchmark: Benchmark[Any]
    variant: str
    transformation: Transformation[Any]
    harness: Harness
    model: ModelConfig
    split: str
    tasks: tuple[str, ...]
    rollouts: int
    seed: int
    concurrency: int
    patience_seconds: float

    def jobs(self) -> list[Job]:
        return [
            Job(
                benchmark=self.benchmark,
                transformation=self.transformation,
                harness=self.harness,
                task=task,
                index=index,
                run_seed=self.seed,
            )
            for task in self.tasks
            for index in range(self.rollouts)
        ]

    def describe(self, fingerprint: str) -> dict[str, Any]:
        """What is evaluated; `fingerprint` is that of the connected model, an in-process model's version included."""
        return {
            "command": "rollout",
            "benchmark": self.benchmark.name,
            "variant": self.variant,
            "transformation": self.transformation.hash,
            "harness": self.harness.hash,
            "model": self.model.name,
            "model_fingerprint": fingerprint,
            "split": self.split,
            "tasks": len(self.tasks),
            "rollouts": self.rollouts,
            "seed": self.seed,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    """What the user said beside the settings."""

    exclude: tuple[str, ...]
    unseal: str | None
    workspace: Path | None
    as_json: bool


def evaluate(settings: dict[str, Any], file: dict[str, Any], wishes: Wishes) -> None:
    """Run the evaluation that the settings name and print it."""
    evaluation = _evaluation(settings, file, list(wishes.exclude))
    if evaluation.split in evaluation.benchmark.sealed and not (wishes.unseal or "").strip():
        raise UserError("split=cert is sealed: give --unseal REASON. The reason stays in the record.")
    payload = run_evaluation(evaluation, wishes)
    if wishes.as_json:
        emit_json("chase.rollout/1", payload)
    else:
        _print(payload, evaluation)


def run_evaluation(evaluation: Evaluation, wishes: Wishes) -> dict[str, Any]:
    """The evaluation's results as `chase rollout --json` has them, with progress on stderr."""
    started = time.monotonic()
    config, scored = asyncio.run(_evaluate(evaluation, wishes))
    return {**config, **_results(evaluation, scored), "wall_seconds": time.monotonic() - started}


def _evaluation(settings: dict[str, Any], file: dict[str, Any], exclude: list[str]) -> Evaluation:
    """The evaluation that the settings name, everything checked before anything runs."""
    require(settings, "model", "harness")
    if settings["base_url"] is not None:
        text(settings, "base_url")
    benchmark = open_benchmark(text(settings, "benchmark"))
    split = choose("split", text(settings, "split"), benchmark.roles)
    folder = Path(text(settings, "harness"))
    harness = load_harness(folder)
    check_for_benchmark(harness, benchmark, where=str(folder))
    checked_hooks(harness, folder)
    for task in exclude:
        if benchmark.role_of(task) != split:
            raise UserError(f"--exclude-task={task} is not a task of split={split}. Leave it out.")
    tasks = tuple(task for task in benchmark.tasks(split) if task not in exclude)
    if not tasks:
        raise UserError(f"split={split}: every task is excluded. Leave at least one.")
    if settings["rollouts"] is None:
        settings["rollouts"] = benchmark.defaults.rollouts[split]
    return Evaluation(
        benchmark=benchmark,
        variant=text(settings, "variant"),
        transformation=resolve_variant(benchmark, settings["variant"]),
        harness=harness,
        model=model_config(text(settings, "model"), file, base_url=settings["base_url"]),
        split=split,
        tasks=tasks,
        rollouts=integer(settings, "rollouts", low=1, high=1000),
        seed=integer(settings, "seed", low=0, high=2**31 - 1),
        concurrency=integer(settings, "concurrency", low=1, high=4096),
        patience_seconds=seconds(settings, "patience"),
    )


def _open_run(store: Store, config: dict[str, Any], unseal: str | None) -> str:
    """The run's id: the same for the same evaluation, so that a rerun goes on where the last one stopped."""
    run = f"rollout-{digest(config)[:12]}"
    if all(known.id != run for known in store.runs()):
        store.create_run(run, config)
    else:
        store.set_run_status(run, "running")
    if config["split"] == "cert":
        store.record_seal(run, {"harness": config["harness"]}, reason=unseal or "")
    return run


async def _evaluate(evaluation: Evaluation, wishes: Wishes) -> tuple[dict[str, Any], list[Scored]]:
    """What was evaluated, with its run, and the results."""
    # The model first: without its key no run is begun and no seal is opened.
    pacer = make_pacer(evaluation.model, patience_seconds=evaluation.patience_seconds, on_outage=say_aside)
    async with connect(evaluation.model, pacer=pacer) as model:
        config = {**evaluation.describe(model.fingerprint), "excluded": sorted(wishes.exclude)}
        with Store.open(locate(wishes.workspace), write=True) as store:
            run = _open_run(store, config, wishes.unseal)
            try:
                scored = await _run(store, run, evaluation, model)
            except RunPaused:
                store.set_run_status(run, "paused")
                raise
            store.set_run_status(run, "finished")
    return {**config, "run": run}, scored


async def _run(store: Store, run: str, evaluation: Evaluation, model: ChatModel) -> list[Scored]:
    progress = RolloutProgress(f"{evaluation.benchmark.name}/{evaluation.split}/{evaluation.variant}")
    try:
        async with Sandbox(max_sessions=evaluation.concurrency) as sandbox:
            runner = Runner(
                model=model,
                store=store,
                sandbox=sandbox,
                use=Use(run=run, method="rollout"),
                pace=Pace(concurrency=evaluation.concurrency),
                progress=progress,
            )
            return await runner.evaluate(evaluation.jobs())
    finally:
        progress.close()


def _results(evaluation: Evaluation, scored: Sequence[Scored]) -> dict[str, Any]:
    scores: dict[str, list[float]] = defaultdict(list)
    for result in scored:
        scores[result.task].append(result.outcome.score or 0.0)
    per_task = within_task_means(scores)
    usage = sum((result.usage for result in scored), Usage())
    spent = sum((result.usage for result in scored if not result.reused), Usage())
    served = sorted({name for result in scored for name in result.served_models})
    warnings = [f"the provider served more than one model: {', '.join(served)}"] if len(served) > 1 else []
    if evaluation.model.provider == "sim":
        warnings.append("simulated reader: these scores are of an embedded simulator, not of a language model")
    return {
        "score": asdict(estimate(per_task)),
        "per_task": {task: float(value) for task, value in per_task.items()},
        "failures": dict(Counter(r.outcome.reason for r in scored if r.outcome.reason != "answered")),
        "usage": asdict(usage),
        "spent": asdict(spent),
        "executed": sum(not result.reused for result in scored),
        "reused": sum(result.reused for result in scored),
        "served_models": served,
        "warnings": warnings,
    }


def _print(payload: dict[str, Any], evaluation: Evaluation) -> None:
    score, usage = payload["score"], payload["usage"]
    typer.echo(
        f"{evaluation.benchmark.name} {evaluation.split} under {evaluation.variant}, harness "
        f"{evaluation.harness.hash[:12]}, model {evaluation.model.name}, seed {evaluation.seed}"
    )
    typer.echo(
        f"score {100 * score['value']:.2f} % ± {100 * score['se']:.2f} (95 %: {100 * score['low']:.2f} to "
        f"{100 * score['high']:.2f}), n = {score['n']} tasks x {evaluation.rollouts} rollouts"
    )
    cost = "unknown" if usage["cost_usd"] is None else f"${usage['cost_usd']:.4f}"
    typer.echo(
        f"{payload['executed']} rollouts executed, {payload['reused']} from the store; {usage['requests']} requests, "
        f"{usage['input_tokens']} input ({usage['cached_tokens']} cached) and {usage['output_tokens']} output tokens, "
        f"cost {cost}; {payload['wall_seconds']:.1f} s"
    )
    reasons = ", ".join(f"{reason} {count}" for reason, count in payload["failures"].items()) or "none"
    typer.echo(f"rollouts without an answer: {reasons}")
    if payload["excluded"]:
        typer.echo(f"excluded: {', '.join(payload['excluded'])}")
    for warning in payload["warnings"]:
        typer.echo(printable(f"note: {warning}"))
