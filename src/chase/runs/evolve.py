"""An evolution run: a method improves a harness; at the end the sealed tasks are opened once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from chase.core.agents import EDIT_SPACES, Agent
from chase.core.errors import IntegrityError, UserError, choose
from chase.core.values import Json
from chase.harness.diff import diff_harnesses
from chase.harness.spec import Harness
from chase.methods.contract import Method
from chase.methods.evolution import EvolutionOutcome
from chase.methods.forecast import forecast_evolution
from chase.methods.options import check_options, settle_options
from chase.methods.registry import find_method
from chase.methods.run import Plan, Run
from chase.runs.accounting import counts_of, served_models
from chase.runs.agents import challenger_kind, make_challenger, make_proposer, proposer_kind, refuse_unused
from chase.runs.certified_theory import theorems_of
from chase.runs.conclusion import conclusion_of
from chase.runs.config import RawSettings, S
from chase.runs.finding import LATEST, Which, find_unfinished
from chase.runs.folder import RunFolder
from chase.runs.kinds import Options
from chase.runs.life import Life, OpenRun, Prepared, note_models
from chase.runs.listening import Listener
from chase.runs.loops import run_to_end
from chase.runs.models import checked_models, fitted
from chase.runs.notices import Compared, notice
from chase.runs.opening import Opener, locate, open_harness, require_readable, rollout_counts, settled_sizes
from chase.runs.pricing import priced
from chase.runs.results import EvolveResult, ForecastResult
from chase.runs.settings import EvolveSettings
from chase.store.records import Run as StoredRun
from chase.store.store import Store
from chase.store.workspace import Workspace

COMMAND, INITIAL = "evolve", "H0"
AGENT_SETTINGS: Mapping[Agent, tuple[str, ...]] = {
    "proposer": ("proposer", "proposer_model", "command", "prior", "edit_space"),
    "challenger": ("no_diff", "challenger", "challenger_model", "challenger_command"),
}
"""Settings that mean nothing to a method that does not ask the agent."""


@dataclass(frozen=True, kw_only=True)
class Evolution(Prepared[EvolveSettings]):
    """What one `chase evolve` does, everything checked."""

    sizes: Mapping[str, int]
    plan: Plan
    certify: bool
    reason: str = ""
    """Why the sealed tasks are opened, where they were before."""
    earlier: Mapping[str, Any] | None = None
    """The result of a finished run that is certified now."""

    schema = EvolveResult.schema

    @property
    def label(self) -> str:
        return f"{self.plan.method.name} on {self.benchmark.name}"

    def rollouts_between(self) -> tuple[int, int]:
        return forecast_evolution(self.plan, certify=self.certify).rollouts_between

    def identity(self, fingerprint: str) -> dict[str, Json]:
        return {**self.plan.describe(fingerprint), "model": self.model}

    def resolved(self) -> Mapping[str, Any]:
        settled = self.plan.options.model_dump(mode="json")
        fields = self.settings.of_method
        named = {name: settled.get(field) for field, name in fields.items() if field == name != "repair"}
        return self.settings.written(
            **named,
            no_reduce=not settled.get("reduce", True),
            repair=bool(settled.get("repair", False)),
            options={n: v for n, v in settled.items() if n not in fields and v is not None} or None,
            benchmark=self.benchmark.name,
            rollouts=dict(self.plan.rollouts),
            split_sizes=dict(self.sizes) or None,
        )

    def harnesses(self) -> Mapping[str, Harness]:
        return {INITIAL: self.plan.initial}

    async def carry_out(self, run: OpenRun) -> dict[str, Json]:
        """Evolve, then certify. What was done before comes from the store and the journal."""
        plan, listener = self.plan, run.listener
        work = Run(
            plan, run=run.id, store=run.store, model=run.model, sandbox=run.sandbox, tell=listener.told,
            progress=listener, pace=run.pace,
        )  # fmt: skip
        evolved = await work.evolve()
        before = self.earlier or {}
        if before and evolved.final.harness.hash != before["final"]["hash"]:
            raise IntegrityError(f"run '{run.id}' does not end with its H* any more: it cannot be certified.")
        certification = None
        if self.certify:
            certified = await work.certify(evolved, self.reason)
            reasons = [seal.reason for seal in run.store.seals(run.id)[1:]]
            certification = {**certified.to_json(), "reopened": reasons}
        found = {**found_of(plan, evolved), "certification": certification}
        noticed = notice(
            run, Compared(harness=evolved.final.harness, baseline=plan.initial, name="H*"), work.candidate_names
        )
        config = self.identity(run.model.fingerprint)
        return {
            "run": run.id,
            "config": config,
            "conclusion": conclusion_of(found),
            **found,
            "theorems": theorems_of({**found, "config": config}),
            **counts_of(run.store, run.id),
            "rollout_seconds": before.get("rollout_seconds", 0.0) + work.rollout_seconds,
            "hook_failures": noticed.hook_failures,
            "warnings": note_models(served_models(run.store, run.id), run.model, [*evolved.warnings, *noticed.texts]),
        }


def evolve(said: RawSettings[EvolveSettings], listener: Listener) -> EvolveResult:
    """Start the run that was described, or go on with one. Going on pays for nothing and asks nothing twice."""
    workspace = locate(said.given.get("workspace"))
    if (named := named_run(said, workspace)) is not None:
        folder = RunFolder(workspace, named.id)
        if named.status == "finished" and not said.describes:
            return EvolveResult(payload=folder.read_result(), folder=folder.path)
        said = laid_over(said, folder)
    settings = said.settings()
    if settings.no_certify and settings.reopen is not None:
        raise UserError("--reopen says why the certification set is opened again, --no-certify leaves it sealed.")
    life, work = _begun(said, workspace, listener)
    lived = run_to_end(lambda: life.live(work))
    return EvolveResult(payload=lived.payload, folder=lived.folder.path)


def forecast(said: RawSettings[EvolveSettings], listener: Listener) -> ForecastResult:
    """What the run can take at most. Runs nothing and writes nothing."""
    workspace = locate(said.given.get("workspace"))
    if (named := named_run(said, workspace)) is not None:
        said = laid_over(said, RunFolder(workspace, named.id))
    _, work = _begun(said, workspace, listener)
    plan = work.plan
    found = forecast_evolution(plan, certify=work.certify)
    return priced(found, COMMAND, plan.method.name, work.benchmark, work.models, work.settings)


def _begun(said: RawSettings[EvolveSettings], workspace: Workspace, listener: Listener) -> tuple[Life, Evolution]:
    resume = said.settings().resume
    life = Life(
        which=Which(command=COMMAND, anew=resume is None, resume=resume), workspace=workspace, listener=listener
    )
    opener = Opener(listener)
    return life, life.prepared(said, lambda said: prepare(said, opener, listener))


def named_run(said: RawSettings[S], workspace: Workspace, command: str = COMMAND) -> StoredRun | None:
    """The run whose settings count where nothing is said: one that is named, or the latest unfinished one.

    Beside all that is required `latest` is the latest run of these settings, which is found by them.
    """
    reference = said.given.get("resume")
    if reference is None or (reference == LATEST and said.describes and said.complete):
        return None
    with Store.open(workspace, write=False) as store:
        return find_unfinished(store, command, str(reference))


def laid_over(said: RawSettings[S], folder: RunFolder) -> RawSettings[S]:
    """`with_settings_of`; a run that was killed before it wrote its settings is described by what was said."""
    if said.complete and not folder.has_settings:
        return said
    return with_settings_of(said, folder)


def with_settings_of(said: RawSettings[S], folder: RunFolder) -> RawSettings[S]:
    """What was said, with a run's resolved settings below it and the initial harness that its folder keeps."""
    stored = {**folder.read_settings(), "harness": str(folder.harness(INITIAL))}
    return replace(said, given={**said.given, "resume": folder.run}).above(stored)


def prepare(said: RawSettings[EvolveSettings], opener: Opener, listener: Listener) -> Evolution:
    """The run that was described; a contradiction is refused before anything runs."""
    settings = said.settings()
    method = find_method(settings.method)
    refuse_idle(method, said.given)
    edit_space = EDIT_SPACES[choose("edit-space", settings.edit_space, EDIT_SPACES)]
    models = checked_models(settings, said.models, listener)
    proposer, challenger = make_proposer(settings, models), make_challenger(settings, models)
    kinds = {"proposer": proposer_kind(settings), "challenger": challenger_kind(settings)}
    refuse_unused(said.given, [f"{kind} {agent}" for agent, kind in kinds.items() if agent in method.agents])
    check_options(method.name, method.Options, given_options(method, settings))
    require_readable(settings.harness)
    whole = fitted(opener.benchmark(settings), models, settings)
    sizes = settled_sizes(settings, whole)
    benchmark = whole.fewer(sizes)
    plan = Plan(
        benchmark=benchmark,
        options=settle_options(method.name, method.Options, given_options(method, settings), benchmark.defaults),
        kit=opener.kit(benchmark),
        initial=open_harness(settings.harness, benchmark),
        method=method,
        proposer=proposer,
        challenger=challenger,
        rollouts=rollout_counts(settings.rollouts, benchmark),
        seed=settings.seed,
        edit_space=edit_space,
    )
    plan.check()
    return Evolution(
        settings=settings,
        models=models,
        benchmark=benchmark,
        sizes=sizes,
        plan=plan,
        certify=not settings.no_certify,
        reason=settings.reopen or "",
    )


def refuse_idle(method: Method, given: Mapping[str, Any]) -> None:
    """Refuse what was given and means nothing to a method: no option of it, or of an agent that it does not ask."""
    idle = [name for field, name in EvolveSettings.of_method.items() if field not in method.Options.model_fields]
    idle += [name for agent, names in AGENT_SETTINGS.items() if agent not in method.agents for name in names]
    if flagged := [f"--{name.replace('_', '-')}" for name in idle if name in given]:
        raise UserError(f"method={method.name} has no use for this: leave {', '.join(flagged)} out.")


def given_options(method: Method, settings: EvolveSettings) -> dict[str, Any]:
    """The method's options as they were given: those with a setting of their own, and those given by name."""
    fields = method.Options.model_fields.keys()
    given: dict[str, Any] = {name: getattr(settings, name) for name in settings.of_method.values() if name in fields}
    if not settings.repair:
        given.pop("repair", None)  # a flag that is not there says nothing
    if settings.no_reduce and "reduce" in fields:
        given["reduce"] = False
    return given | Options().check(settings.options or {})


def found_of(plan: Plan, evolved: EvolutionOutcome) -> dict[str, Json]:
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
                "what": transformation.describe(),
                "symbols": transformation.symbols(),
                "hash": entry.hash,
                "discovery": entry.discovery,
                "confirmation": entry.confirmation,
            }
            for entry in evolved.archive.entries
            for transformation in (plan.kit.parse(entry.transformation).transformation,)
        ],
        **({"evaluation": dict(evolved.evaluation)} if evolved.evaluation else {}),
    }
