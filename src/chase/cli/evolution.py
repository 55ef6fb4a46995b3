"""What `chase evolve` and `chase certify` do once their flags are read: build the run, go through it, sum it up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from chase.cli.agents import Models, make_challenger, make_proposer
from chase.cli.budget import BUDGET, begin, given_price, make_meter, paused
from chase.cli.evolve import DEFAULTS
from chase.cli.forecasting import show_forecast
from chase.cli.harness import checked_hooks
from chase.cli.narration import Narrator, print_certification, print_evolution
from chase.cli.opening import open_benchmark
from chase.cli.output import emit_json
from chase.cli.presets import EVOLVE, with_preset
from chase.cli.progress import RolloutProgress
from chase.cli.run_folder import (
    INITIAL,
    find_evolution,
    find_same,
    find_unfinished,
    free_id,
    has_settings,
    read_result,
    read_settings,
    require_same,
    write_settings,
)
from chase.cli.settings import (
    boolean,
    integer,
    locate,
    option_pairs,
    require,
    resolve,
    role_sizes,
    rollout_counts,
    seconds,
    split_sizes,
    text,
)
from chase.core.agents import EDIT_SPACES, Agent
from chase.core.errors import BudgetExhausted, IntegrityError, UserError, choose
from chase.core.interfaces import Benchmark
from chase.core.values import Json, Usage
from chase.engine.runner import RunPaused
from chase.engine.sandbox import Sandbox
from chase.harness.diff import diff_harnesses
from chase.harness.folder import initial_harness, load_harness, render_files
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness
from chase.methods.accounting import accounts, stages
from chase.methods.certification import Certified
from chase.methods.contract import Method
from chase.methods.evolution import Evolved
from chase.methods.forecast import forecast_evolution
from chase.methods.journal import Journal
from chase.methods.options import settle_options
from chase.methods.registry import find_method
from chase.methods.run import Plan, Run, write_result
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.protocol.kit import ProtocolKit
from chase.store.records import Run as StoredRun
from chase.store.store import Store
from chase.store.workspace import Workspace

KEPT = frozenset({"concurrency", "patience", *BUDGET})
FREE = frozenset({"no_certify", "preset", *KEPT})
"""Settings that do not decide a run's result: a resumed run may have others. Those of `KEPT` are else its own."""
OPTION_FLAGS = ("rounds", "epsilon", "eta", "proposals", "no_reduce")
"""Settings that are options of a method: of its field of that name, or of the one that `no_` denies."""
AGENT_FLAGS: Mapping[Agent, tuple[str, ...]] = {
    "proposer": ("proposer", "proposer_model", "command", "prior", "edit_space"),
    "challenger": ("no_diff", "challenger", "challenger_model", "challenger_command"),
}
"""Settings that mean nothing to a method that does not ask the agent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    """What the user said beside the settings."""

    resume: str | None
    reopen: str | None
    workspace: Path | None
    as_json: bool
    dry_run: bool = False
    budget: Mapping[str, Any] = field(default_factory=dict)
    """Caps of a certification that differ from its run's."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A run that the settings describe, everything checked."""

    plan: Plan
    benchmark: Benchmark[Any]
    """Whole, as it was opened."""
    model: ModelConfig
    models: Models
    """All that the run asks, by name."""
    settings: Mapping[str, Any]
    """Resolved, as `config.toml` keeps them."""
    certify: bool
    concurrency: int

    def identity(self, fingerprint: str) -> dict[str, Json]:
        return {**self.plan.describe(fingerprint), "model": self.model.name}


Opened = Callable[[Store, Mapping[str, Json]], tuple[str, bool]]
"""Which run to go through, and whether it is finished already."""


def evolve_harness(flags: Mapping[str, Any], file: Mapping[str, Any], wishes: Wishes) -> None:
    """Start the run that the settings describe, or go on with one, and print what came out."""
    workspace = locate(wishes.workspace)
    if wishes.resume is not None and not _describes(flags, file):
        stored = _look_up(workspace, lambda store: find_unfinished(store, wishes.resume or ""))
        if stored.status == "finished":
            return _show(read_result(workspace, stored.id), workspace, wishes)
        file, wishes = read_settings(workspace, stored.id), replace(wishes, resume=stored.id)
    prepared = _prepare(flags, file)
    if wishes.resume is not None:
        prepared = _with_kept(prepared, flags, file, workspace, wishes.resume)
    if not prepared.certify and wishes.reopen is not None:
        raise UserError("--reopen says why the certification set is opened again, --no-certify leaves it sealed.")
    if wishes.dry_run:
        forecast = forecast_evolution(prepared.plan, certify=prepared.certify)
        return show_forecast(forecast, prepared.plan, prepared.models, prepared.settings, workspace, wishes.as_json)
    payload = asyncio.run(_go(prepared, workspace, lambda store, identity: _open(store, identity, wishes), wishes))
    return _show(payload, workspace, wishes)


def certify_run(reference: str, wishes: Wishes) -> None:
    """Print a finished run's certification; make it first where there is none, or where it is asked for again."""
    workspace = locate(wishes.workspace)
    stored = _look_up(workspace, lambda store: find_evolution(store, reference))
    if stored.status != "finished":
        raise UserError(f"run '{stored.id}' is not finished: go on with `chase evolve --resume {stored.id}`.")
    payload = read_result(workspace, stored.id)
    if wishes.reopen is not None and not wishes.reopen.strip():
        raise UserError("--reopen needs a reason: it stays in the record.")
    if payload["certification"] is None or wishes.reopen is not None:
        flags = {"no_certify": False, **wishes.budget}
        prepared = replace(_prepare(flags, read_settings(workspace, stored.id)), certify=True)
        earlier = payload

        def again(store: Store, identity: Mapping[str, Json]) -> tuple[str, bool]:
            require_same(stored, identity)
            return stored.id, False

        payload = asyncio.run(_go(prepared, workspace, again, wishes, earlier))
    if wishes.as_json:
        shown = ("run", "config", "final", "certification", "warnings")
        return emit_json("chase.certify/1", {name: payload[name] for name in shown})
    return print_certification(payload)


def _look_up(workspace: Workspace, find: Callable[[Store], StoredRun]) -> StoredRun:
    with Store.open(workspace, write=False) as store:
        return find(store)


def _with_kept(
    prepared: Prepared, flags: Mapping[str, Any], file: Mapping[str, Any], workspace: Workspace, reference: str
) -> Prepared:
    """The run with the pace and the caps that it had, where nothing is said: a cap does not vanish by not being said.

    A run that was killed before its settings were written down has none, and is as it is described now.
    """
    if not workspace.database.exists():
        return prepared
    identity = prepared.identity(prepared.models.get(prepared.model.name).fingerprint)
    stored = _look_up(workspace, lambda store: find_same(store, identity, reference))
    if not has_settings(workspace, stored.id):
        return prepared
    kept = read_settings(workspace, stored.id)
    return _prepare(flags, {**{name: kept[name] for name in KEPT if name in kept}, **file}, built=prepared)


def _describes(flags: Mapping[str, Any], file: Mapping[str, Any]) -> bool:
    """Whether the user said anything about which run is meant."""
    return bool(({name for name, value in flags.items() if value is not None} | set(file)) - FREE)


def _show(payload: dict[str, Any], workspace: Workspace, wishes: Wishes) -> None:
    if wishes.as_json:
        emit_json("chase.evolve/1", payload)
    else:
        print_evolution(payload, workspace.run_folder(payload["run"]))


def _prepare(flags: Mapping[str, Any], file: Mapping[str, Any], built: Prepared | None = None) -> Prepared:
    """The run that flags and config file describe; a contradiction is refused before anything runs.

    `built` is a run on the same benchmark, whose large parts are taken.
    """
    settings = resolve(with_preset(file, EVOLVE, flags.get("preset")), flags, DEFAULTS)
    require(settings, "model")
    method = find_method(text(settings, "method"))
    _refuse_idle(method, flags)
    for name in ("no_reduce", "no_diff", "no_certify"):
        boolean(settings, name)
    # What can be refused at once is, before a benchmark is built.
    edit_space = EDIT_SPACES[choose("edit-space", text(settings, "edit_space"), EDIT_SPACES)]
    base_url = None if settings["base_url"] is None else text(settings, "base_url")
    name = text(settings, "model")
    models = Models(
        file, base_url, patience_seconds=seconds(settings, "patience"), meter=make_meter(settings),
        prices={name: given_price(settings)},
    )  # fmt: skip
    model = models.get(name).config
    proposer, challenger = make_proposer(settings, models), make_challenger(settings, models)
    whole = open_benchmark(text(settings, "benchmark")) if built is None else built.benchmark
    settings["split_sizes"] = split_sizes(settings["split_sizes"], role_sizes(whole)) or None
    benchmark = whole.fewer(settings["split_sizes"] or {})
    options = _options(method, settings, benchmark)
    settings["rollouts"] = rollout_counts(settings["rollouts"], benchmark.defaults.rollouts)
    plan = Plan(
        benchmark=benchmark,
        kit=ProtocolKit(benchmark) if built is None else built.plan.kit,
        initial=_initial(settings, benchmark),
        method=method,
        options=options,
        proposer=proposer,
        challenger=challenger,
        rollouts=settings["rollouts"],
        seed=integer(settings, "seed", low=0, high=2**31 - 1),
        edit_space=edit_space,
    )
    plan.check()
    return Prepared(
        plan=plan,
        benchmark=whole,
        model=model,
        models=models,
        settings=settings,
        certify=not settings["no_certify"],
        concurrency=integer(settings, "concurrency", low=1, high=4096),
    )


def _refuse_idle(method: Method, flags: Mapping[str, Any]) -> None:
    """Refuse flags that mean nothing to a method: no options of it, or of an agent that it does not ask."""
    idle = [name for name in OPTION_FLAGS if name.removeprefix("no_") not in method.Options.model_fields]
    idle += [name for agent, names in AGENT_FLAGS.items() if agent not in method.agents for name in names]
    if flagged := [f"--{name.replace('_', '-')}" for name in idle if flags.get(name) is not None]:
        raise UserError(f"method={method.name} has no use for this: leave {', '.join(flagged)} out.")


def _options(method: Method, settings: dict[str, Any], benchmark: Benchmark[Any]) -> BaseModel:
    """The method's options from the settings, which then say them in full."""
    flags = {name.removeprefix("no_"): name for name in OPTION_FLAGS}
    fields = method.Options.model_fields.keys()
    given = {
        field: settings[name] if field == name else False if settings[name] else None
        for field, name in flags.items()
        if field in fields
    }
    given |= option_pairs(settings["options"])
    made = settle_options(method.name, method.Options, given, benchmark.defaults)
    settled = made.model_dump(mode="json")
    settings |= {name: settled.get(field) for field, name in flags.items() if not name.startswith("no_")}
    settings["no_reduce"] = not settled.get("reduce", True)
    settings["options"] = {name: settled[name] for name in settled.keys() - flags.keys()} or None
    return made


def _initial(settings: Mapping[str, Any], benchmark: Benchmark[Any]) -> Harness:
    if settings["harness"] is None:
        return initial_harness(benchmark)
    folder = Path(text(settings, "harness"))
    harness = load_harness(folder)
    check_for_benchmark(harness, benchmark, where=str(folder))
    checked_hooks(harness, folder)
    return harness


def _open(store: Store, identity: Mapping[str, Json], wishes: Wishes) -> tuple[str, bool]:
    if wishes.resume is None:
        run = free_id(store, identity)
        store.create_run(run, identity)
        return run, False
    stored = find_same(store, identity, wishes.resume)
    if stored.status == "finished":
        return stored.id, True
    store.set_run_status(stored.id, "running")
    return stored.id, False


async def _go(
    prepared: Prepared, workspace: Workspace, opened: Opened, wishes: Wishes, earlier: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The payload of a run, gone through now. `earlier` is that of a finished one that is certified now."""
    # The model first: without its key no run is begun and no seal is opened.
    model = prepared.models.get(prepared.model.name)
    async with prepared.models.opened():
        identity = prepared.identity(model.fingerprint)
        with Store.open(workspace, write=True) as store:
            run, finished = opened(store, identity)
            if finished:
                return read_result(workspace, run)
            begin(prepared.models.meter, store, run)
            how = f"chase certify {run}" if earlier else f"chase evolve --resume {run}"
            try:
                payload = await _through(prepared, run, store, model, wishes.reopen or "", earlier, how)
            except RunPaused as outage:
                if earlier is None:
                    store.set_run_status(run, "paused")
                raise RunPaused(outage.reason, f"go on with `{how}`") from None
            except BudgetExhausted as reached:
                if earlier is None:
                    store.set_run_status(run, "paused")
                raise paused(reached, prepared.models.meter, how) from None
            payload = {"run": run, "config": identity, **payload}
            write_result(Journal(workspace, run), {"schema": "chase.evolve/1", **payload})
            store.set_run_status(run, "finished")
    return payload


async def _through(
    prepared: Prepared, run: str, store: Store, model: ChatModel, reason: str, earlier: Mapping[str, Any] | None,
    how: str,
) -> dict[str, Any]:  # fmt: skip
    """Evolve, then certify. What was done before comes from the store and the journal."""
    started = time.monotonic()
    plan, journal = prepared.plan, Journal(store.workspace, run)
    if earlier is None:
        for name, content in render_files(plan.initial).items():
            journal.write(f"{INITIAL}/{name}", content)
        write_settings(journal, prepared.settings, prepared.models.tables())  # last: whoever finds it finds all
    progress = RolloutProgress(run, brief=True)
    narrator = Narrator(progress)
    narrator.say(f"run {run} (after an interruption: {how})")
    certified: Certified | None = None
    try:
        async with Sandbox(max_sessions=prepared.concurrency) as sandbox:
            work = Run(
                plan, run=run, store=store, model=model, sandbox=sandbox, tell=narrator, progress=progress,
                concurrency=prepared.concurrency,
            )  # fmt: skip
            evolved = await work.evolve()
            if earlier is not None and evolved.final.harness.hash != earlier["final"]["hash"]:
                raise IntegrityError(f"run '{run}' does not end with its H* any more: it cannot be certified.")
            if prepared.certify:
                narrator.certification(len(plan.benchmark.tasks("cert")))
                certified = await work.certify(evolved, reason)
    finally:
        progress.close()
    before = earlier or {"wall_seconds": 0.0, "rollout_seconds": 0.0}
    return {
        **_found(plan, evolved),
        "certification": certified and {**certified.to_json(), "reopened": [s.reason for s in store.seals(run)[1:]]},
        **_counted(store, run),
        "wall_seconds": before["wall_seconds"] + time.monotonic() - started,
        "rollout_seconds": before["rollout_seconds"] + work.rollout_seconds,
        "warnings": _warnings(prepared, evolved, sorted({m for u in store.used(run) for m in u.rollout.served_models})),
    }


def _found(plan: Plan, evolved: Evolved) -> dict[str, Any]:
    final = evolved.final
    return {
        "final": {
            "name": final.name,
            "hash": final.harness.hash,
            "selection": dict(evolved.selection),
            "changes": diff_harnesses(plan.initial, final.harness).to_json()["changes"],
        },
        "harnesses": [{"name": named.name, "hash": named.harness.hash} for named in evolved.harnesses],
        "rounds": [dict(round) for round in evolved.rounds],
        "archive": [
            {
                "name": entry.name,
                "round": entry.round,
                "what": plan.kit.parse(entry.transformation).transformation.describe(),
                "hash": entry.hash,
                "discovery": entry.discovery,
                "confirmation": entry.confirmation,
            }
            for entry in evolved.archive.entries
        ],
    }


def _counted(store: Store, run: str) -> dict[str, Any]:
    """What the run used and what it paid for, over all its interruptions."""
    episodes, spends = store.episodes(run), store.spend(run)
    reused = sum(count.reused for count in episodes)
    return {
        "executed": sum(count.episodes for count in episodes) - reused,
        "reused": reused,
        "spent": asdict(sum((spend.usage for spend in spends), Usage())),
        "tokens": stages(accounts(episodes, spends)),
    }


def _warnings(prepared: Prepared, evolved: Evolved, served: Sequence[str]) -> list[str]:
    warnings = [f"the provider served more than one model: {', '.join(served)}"] if len(served) > 1 else []
    warnings += evolved.warnings
    if prepared.model.provider == "sim":
        warnings.append("simulated reader: these scores are of an embedded simulator, not of a language model")
    return warnings
