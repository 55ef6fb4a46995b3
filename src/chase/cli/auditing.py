"""What `chase audit` does once its flags are read."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path
from typing import Any

import typer

from chase.cli.agents import Models, make_challenger
from chase.cli.budget import begin, given_price, make_meter, paused
from chase.cli.examples import print_example
from chase.cli.forecasting import show_forecast
from chase.cli.harness import checked_hooks
from chase.cli.narration import agent_lines
from chase.cli.opening import open_benchmark
from chase.cli.output import emit_json, printable
from chase.cli.progress import RolloutProgress
from chase.cli.settings import boolean, integer, locate, require, role_sizes, seconds, split_sizes, text
from chase.cli.tokens import token_lines
from chase.core.agents import Draft
from chase.core.errors import BudgetExhausted, ChaseError, UserError
from chase.core.events import AuditConfirmationStarted, AuditSearched, AuditSearchStarted, Event
from chase.core.interfaces import Benchmark, Challenger
from chase.core.keyed import digest
from chase.core.values import Json
from chase.engine.runner import RunPaused
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness, load_harness
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness
from chase.methods.accounting import accounts, stages
from chase.methods.audit import Audited, AuditPlan, AuditSettings, audit_harness
from chase.methods.forecast import forecast_audit
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.protocol.example import example_of
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import parse_for
from chase.protocol.screening import screen_draft
from chase.store.store import Store


class GainNotSupported(ChaseError):
    """The verdict of an audit that ends with exit code 5."""

    exit_code = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    """What the user said beside the settings."""

    transformations: tuple[Path, ...]
    use_cert: str | None
    workspace: Path | None
    as_json: bool
    dry_run: bool = False


def run_audit(settings: dict[str, Any], file: Mapping[str, Any], wishes: Wishes) -> None:
    """Audit what the settings name and print the report."""
    require(settings, "model", "harness")
    name = text(settings, "model")
    models = Models(
        file, settings["base_url"], patience_seconds=seconds(settings, "patience"), meter=make_meter(settings),
        prices={name: given_price(settings)},
    )  # fmt: skip
    model = models.get(name).config
    challenger = make_challenger(settings, models)
    benchmark = open_benchmark(text(settings, "benchmark"))
    benchmark = benchmark.fewer(split_sizes(settings["split_sizes"], role_sizes(benchmark)))
    plan = _plan(settings, benchmark, challenger, wishes)
    if wishes.dry_run:
        place = locate(wishes.workspace)
        show_forecast(forecast_audit(plan), plan, models, settings, place, wishes.as_json)
        return
    started = time.monotonic()
    concurrency = integer(settings, "concurrency", low=1, high=4096)
    run, audited, counts = asyncio.run(_audit(plan, models, model, concurrency, wishes))
    payload = {
        "run": run,
        "benchmark": benchmark.name,
        "model": model.name,
        "baseline": plan.baseline.hash,
        "harness": plan.harness.hash,
        "seed": plan.seed,
        **audited.to_json(),
        **counts,
        "simulated": model.provider == "sim",
        "wall_seconds": time.monotonic() - started,
    }
    locate(wishes.workspace).write_run_file(run, "result.json", json.dumps(payload, indent=2) + "\n")
    if wishes.as_json:
        emit_json("chase.audit/1", payload)
    else:
        print_audit(payload, benchmark)
        typer.echo(f"Run {run}, {payload['episodes']} rollouts, {payload['wall_seconds']:.1f} s")
        for line in token_lines(payload["tokens"]):
            typer.echo(line)
    if audited.verdict.word == "not supported":
        raise GainNotSupported(f"the gain of {settings['harness']} is not supported: {audited.verdict.reason}.")


def _plan(settings: dict[str, Any], benchmark: Benchmark[Any], challenger: Challenger, wishes: Wishes) -> AuditPlan:
    level = settings["level"]
    if isinstance(level, bool) or not isinstance(level, float) or not 0.5 <= level < 1:
        raise UserError(f"level={level} must be a number from 0.5 to below 1.")
    if wishes.use_cert is not None and not wishes.use_cert.strip():
        raise UserError("--use-cert needs a reason: it stays in the record.")
    rollouts = dict(benchmark.defaults.rollouts)
    if settings["rollouts"] is not None:
        count = integer(settings, "rollouts", low=1, high=1000)
        rollouts |= {role: count for role in rollouts if role not in ("evo", "disc")}
    size = settings["confirm_size"]
    kit = ProtocolKit(benchmark)
    plan = AuditPlan(
        benchmark=benchmark,
        kit=kit,
        baseline=_load(settings, "baseline", benchmark) or initial_harness(benchmark),
        harness=_load(settings, "harness", benchmark) or initial_harness(benchmark),
        challenger=challenger,
        settings=AuditSettings(
            rounds=integer(settings, "rounds", low=1, high=20),
            proposals=integer(settings, "proposals", low=1, high=64),
            reduce=not boolean(settings, "no_reduce"),
            level=level,
        ),
        rollouts=rollouts,
        seed=integer(settings, "seed", low=0, high=2**31 - 1),
        confirm_size=None if size is None else integer(settings, "confirm_size", low=2, high=10**6),
        use_cert=wishes.use_cert,
        given=tuple(_draft(path, kit) for path in wishes.transformations),
    )
    if plan.harness.hash == plan.baseline.hash:
        raise UserError(f"harness={settings['harness']} is the same as its baseline: there is no gain to audit.")
    return plan


def _load(settings: Mapping[str, Any], name: str, benchmark: Benchmark[Any]) -> Harness | None:
    if settings[name] is None:
        return None
    folder = text(settings, name)
    harness = load_harness(Path(folder))
    check_for_benchmark(harness, benchmark, where=folder)
    checked_hooks(harness, Path(folder))
    return harness


def _draft(path: Path, kit: ProtocolKit) -> Draft:
    """A given transformation, through the same screens as a Challenger's: before anything is run."""
    try:
        form = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"--transformations={path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise UserError(f"--transformations={path} is not valid JSON: {error}.") from None
    if not isinstance(form, dict):
        raise UserError(f"--transformations={path} must hold one JSON object. See docs/transformations.md.")
    screened = screen_draft(kit, Draft(form=form), archived=())
    if screened.verdict != "valid":
        raise UserError(f"--transformations={path} is {screened.verdict}: {screened.reason}")
    return screened.draft


async def _audit(
    plan: AuditPlan, models: Models, config: ModelConfig, concurrency: int, wishes: Wishes
) -> tuple[str, Audited, dict[str, Json]]:
    model = models.get(config.name)
    async with models.opened():
        described = plan.describe(model.fingerprint)
        run = f"audit-{digest(described)[:12]}"
        with Store.open(locate(wishes.workspace), write=True) as store:
            if all(known.id != run for known in store.runs()):
                store.create_run(run, described)
            begin(models.meter, store, run)
            store.set_run_status(run, "running")
            try:
                audited = await _run(plan, run, store, model, concurrency)
            except RunPaused:
                store.set_run_status(run, "paused")
                raise
            except BudgetExhausted as reached:
                store.set_run_status(run, "paused")
                raise paused(reached, models.meter, None) from None
            store.set_run_status(run, "finished")
            episodes = store.episodes(run)
            counts = {
                "episodes": sum(c.episodes for c in episodes),
                "tokens": stages(accounts(episodes, store.spend(run))),
            }
    return run, audited, counts


async def _run(plan: AuditPlan, run: str, store: Store, model: ChatModel, concurrency: int) -> Audited:
    progress = RolloutProgress(f"audit on {plan.benchmark.name}")
    try:
        async with Sandbox(max_sessions=concurrency) as sandbox:
            return await audit_harness(
                plan, run=run, store=store, model=model, sandbox=sandbox, tell=_say, progress=progress,
                concurrency=concurrency,
            )  # fmt: skip
    finally:
        progress.close()


def _say(event: Event) -> None:
    """What happens, as it happens, on stderr."""
    for line in _lines(event):
        typer.echo(printable(line), err=True)


@singledispatch
def _lines(event: Event) -> Iterator[str]:
    return agent_lines(event)


@_lines.register
def _(event: AuditSearchStarted) -> Iterator[str]:
    yield f"round {event.round}: the Challenger reads, the firewall checks what it writes"


@_lines.register
def _(event: AuditSearched) -> Iterator[str]:
    for tried in event.tried:
        what = tried["what"] or tried["reason"]
        delta = tried["destruction"]
        found = f"gain destruction {_percent(delta)}" if delta else tried["verdict"]
        yield f"  round {event.round}: {what}: {found}"


@_lines.register
def _(event: AuditConfirmationStarted) -> Iterator[str]:
    yield (
        f"confirming {event.transformations} on {event.tasks} fresh tasks: first the firewall there, "
        "then both harnesses are run"
    )


def _percent(estimate: Mapping[str, Any]) -> str:
    return f"{100 * estimate['value']:+.1f} ± {100 * estimate['se']:.1f}"


def _interval(estimate: Mapping[str, Any]) -> str:
    return f"{100 * estimate['value']:+.1f} points ({100 * estimate['low']:+.1f} to {100 * estimate['high']:+.1f})"


def print_audit(payload: Mapping[str, Any], benchmark: Benchmark[Any]) -> None:
    """The report: verdict, gain, destruction, what survives; each finding, the first with a before and after."""
    scores, verdict = payload["scores"], payload["verdict"]
    typer.echo("Verdict: NO GAIN." if verdict == "no gain" else f"Verdict: the gain is {verdict.upper()}.")
    typer.echo(f"  {payload['reason']}")
    if payload["tasks_needed"]:
        have = payload["confirm_tasks"]
        typer.echo(f"  about {payload['tasks_needed']} confirmation tasks would settle it; there were {have}")
    typer.echo(
        f"released gain            {_interval(payload['g_rel'])}: "
        f"{100 * scores['baseline']['value']:.1f} % to {100 * scores['harness']['value']:.1f} %"
    )
    typer.echo(f"largest gain destruction {100 * payload['gamma']:+.1f} points")
    typer.echo(f"surviving gain           {100 * payload['g_min']:+.1f} points")
    typer.echo(
        f"{payload['confirm_tasks']} fresh tasks; intervals hold together at {100 * payload['level']:.0f} %; "
        + (f"searched on {payload['search_tasks']} others" if payload["search_tasks"] else "what was tested was given")
    )
    for place, found in enumerate([*payload["confirmed"], *payload["not_confirmed"]]):
        typer.echo(f"\n{found['status']}: {printable(found['what'])}")
        typer.echo(f"  gain destruction {_interval(found['destruction'])}, log-odds {found['log_odds']['value']:+.2f}")
        if found["status"] == "confirmed":
            suspected = [name for name in found["suspected"] if name in found["touched"]]
            leans = ", ".join(suspected or found["touched"]) or "the protocol"
            typer.echo(printable(f"  the harness leans on: {leans}"))
        if place == 0:
            transformation = parse_for(benchmark, found["transformation"]).transformation
            print_example(example_of(benchmark, transformation), indent="  ")
    if tried := {record["hash"] for record in payload["tried"] if record["hash"]}:
        evaluated = {record["hash"] for record in payload["tried"] if record["destruction"]}
        typer.echo(f"\nTried in search: {len(tried)} transformations, of which {len(evaluated)} were evaluated.")
    if payload["simulated"]:
        typer.echo("note: simulated reader: these scores are of an embedded simulator, not of a language model")
