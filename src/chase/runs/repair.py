"""A repair run: what an audit confirmed to be a shortcut is taken out of the harness."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chase.agents.history import RELEASED
from chase.core.errors import UserError
from chase.core.interfaces import Benchmark
from chase.core.values import Json
from chase.harness.folder import check_free, initial_harness, load_harness, save_harness
from chase.harness.spec import Harness
from chase.methods.audit_plan import fresh_roles
from chase.methods.forecast import forecast_repair
from chase.methods.options import exact_decimal
from chase.methods.repair_audited import NAME, AuditedRepair, RepairPlan, repair_harness
from chase.runs.accounting import episodes_of, served_models, tokens_of
from chase.runs.audit import COMMAND as AUDIT
from chase.runs.config import MODELS, RawSettings, raw_settings
from chase.runs.exposure import Exposure, exposure_of
from chase.runs.finding import Which, run_id
from chase.runs.finished_audit import FinishedAudit, find_audit
from chase.runs.folder import RunFolder
from chase.runs.life import Life, OpenRun, Prepared, identity_of, note_models
from chase.runs.listening import Listener
from chase.runs.loops import run_to_end
from chase.runs.models import checked_models, fitted
from chase.runs.notices import cut_short
from chase.runs.opening import Opener, locate, open_harness
from chase.runs.pricing import priced
from chase.runs.results import ForecastResult, RepairResult
from chase.runs.settings import AuditSettings, RepairSettings
from chase.store.workspace import Workspace

COMMAND = "repair"
OF_THE_AUDIT = ("model", "benchmark", "data", "seed", "level", "concurrency", "patience", "price", MODELS)
"""What is taken from the audit's settings. Caps are not: they were the audit's."""
SAID_AGAIN = ("benchmark", "data", "model", "seed", "split_sizes", "rollouts", "confirm_size", "level")
"""Settings of the audit that the command for the next one repeats, where they are not the default."""
SAID_ALWAYS = ("benchmark", "model")
SELECTED = (
    "the audit used these tasks and baseline scores too, so what goes is overstated: audit with a smaller "
    "--confirm-size to leave tasks for the repair, or audit the repaired harness on other tasks"
)
"""Said of a measurement on tasks that the audit used."""


@dataclass(frozen=True, kw_only=True)
class Repair(Prepared[AuditSettings]):
    """What one `chase repair` does, everything checked. Its settings are the audit's, at this run's pace."""

    asked: RepairSettings
    audit: FinishedAudit
    plan: RepairPlan

    schema = RepairResult.schema

    @property
    def label(self) -> str:
        return f"repair on {self.benchmark.name}"

    @property
    def out(self) -> Path | None:
        return None if self.asked.out is None else Path(self.asked.out)

    def rollouts_between(self) -> tuple[int, int]:
        return forecast_repair(self.plan).rollouts_between

    def identity(self, fingerprint: str) -> dict[str, Json]:
        return self.plan.describe(fingerprint)

    def resolved(self) -> Mapping[str, Any]:
        pace = {name: getattr(self.settings, name) for name in self.asked.names("pace")}
        settled = {"audit": self.audit.run, "benchmark": self.benchmark.name, "epsilon": self.plan.epsilon}
        return self.asked.written(**settled, **pace)

    def harnesses(self) -> Mapping[str, Harness]:
        return {"H0": self.plan.baseline, "H": self.plan.harness}

    async def carry_out(self, run: OpenRun) -> dict[str, Json]:
        plan = self.plan
        found = await repair_harness(
            plan,
            run=run.id,
            store=run.store,
            model=run.model,
            sandbox=run.sandbox,
            tell=run.listener.told,
            progress=run.listener,
            pace=run.pace,
        )
        out = self._written(found, run.folder)
        return {
            "run": run.id,
            "audit": self.audit.run,
            "benchmark": self.benchmark.name,
            "model": self.model,
            "baseline": plan.baseline.hash,
            "harness": plan.harness.hash,
            "seed": plan.seed,
            "epsilon": float(plan.epsilon),
            "level": plan.level,
            "counterfactuals": [
                {key: each[key] for key in ("name", "what", "hash", "source", "status")} for each in self.audit.counted
            ],
            **found.to_json(),
            "exposure": None if found.before is None else self._exposure(run).to_json(),
            "out": None if out is None else str(out),
            "next": None if out is None else self._next(out, run.folder),
            "episodes": episodes_of(run.store, run.id),
            "tokens": tokens_of(run.store, run.id),
            "simulated": run.model.config.simulated,
            "warnings": note_models(
                served_models(run.store, run.id), run.model, [*self._notes(found), *cut_short(run, [run.id])]
            ),
        }

    def _exposure(self, run: OpenRun) -> Exposure:
        """The earlier uses of the tasks of the measurement."""
        return exposure_of(run.store, run.id, fresh_roles(self.benchmark))

    def _written(self, found: AuditedRepair, folder: RunFolder) -> Path | None:
        """Where the repaired harness is: in the run's folder, and in the one that was asked for."""
        if found.harness is None:
            return None
        folder.write_harness(NAME, found.harness)
        if self.out is None:
            return folder.harness(NAME)
        save_harness(found.harness, self.out)
        return self.out

    def _next(self, out: Path, folder: RunFolder) -> str:
        """The command that audits what was repaired, as the harness was."""
        kept, fields = self.audit.folder.read_settings(), AuditSettings.model_fields
        said = {n: kept[n] for n in SAID_AGAIN if n in kept and (n in SAID_ALWAYS or kept[n] != fields[n].default)}
        if address := kept.get(MODELS, {}).get(self.model, {}).get("base_url"):
            said["base_url"] = address
        said["harness"] = out
        if self.plan.baseline.hash != initial_harness(self.benchmark).hash:
            named = self.asked.baseline
            said["baseline"] = named if isinstance(named, str) else folder.harness("H0")
        flags = [part for name, value in said.items() for part in (f"--{name.replace('_', '-')}", _flag(value))]
        return shlex.join(["chase", AUDIT, *flags])

    def _notes(self, found: AuditedRepair) -> list[str]:
        """What whoever reads the result has to know."""
        notes = []
        if self.plan.harness.hash != self.audit.identity["harness"]:
            notes.append("the audit was of another harness: its counterfactuals were confirmed for that one")
        if found.after is None:
            return notes
        if not self.plan.seen.isdisjoint(self.plan.measured_tasks):
            notes.append(SELECTED)
        named = {each.name: each.what for each in self.plan.counterfactuals} | {RELEASED: "no change"}
        return [*notes, *found.after.doubts(self.plan.epsilon, named)]


def _flag(value: Any) -> str:
    """A setting's value as its flag takes it."""
    return ",".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, Mapping) else str(value)


def repair(said: RawSettings[RepairSettings], listener: Listener) -> RepairResult:
    """Repair what was asked for. The same again goes on where it stopped, and pays for nothing twice."""
    workspace = locate(said.settings().workspace)
    life = Life(which=Which(command=COMMAND), workspace=workspace, listener=listener)
    opener = Opener(listener)
    work = life.prepared(said, lambda said: prepare(said, opener, listener))
    _require_free(work, workspace)
    lived = run_to_end(lambda: life.live(work))
    return RepairResult(payload=lived.payload, folder=lived.folder.path)


def forecast(said: RawSettings[RepairSettings], listener: Listener) -> ForecastResult:
    """What the repair can take at most. Runs nothing and writes nothing."""
    work = prepare(said, Opener(listener), listener)
    return priced(forecast_repair(work.plan), COMMAND, None, work.benchmark, work.models, work.settings)


def prepare(said: RawSettings[RepairSettings], opener: Opener, listener: Listener) -> Repair:
    """The repair that was described, everything checked before anything runs."""
    asked = said.settings()
    audit = find_audit(locate(asked.workspace), str(asked.audit))
    raw = _settings_of(said, audit)
    settings = raw.settings()
    models = checked_models(settings, raw.models, listener)
    benchmark = fitted(opener.benchmark(settings), models, settings).fewer(audit.identity["tasks"])
    _require_unchanged(audit, benchmark, models.get(str(settings.model)).fingerprint)
    kit, epsilon = opener.kit(benchmark), _epsilon(asked, benchmark)
    plan = RepairPlan(
        benchmark=benchmark,
        kit=kit,
        rollouts=dict(audit.identity["rollouts"]),
        seed=settings.seed,
        audit=audit.run,
        verdict=str(audit.payload["verdict"]),
        baseline=open_harness(settings.baseline, benchmark),
        harness=open_harness(settings.harness, benchmark),
        counterfactuals=audit.counterfactuals(kit),
        shortcuts=audit.shortcuts(epsilon),
        honest=audit.honest(),
        seen=audit.tasks,
        epsilon=epsilon,
        level=settings.level,
        confirm_size=audit.identity["confirm_size"],
    )
    if plan.harness.hash == plan.baseline.hash:
        raise UserError("the harness is the same as its baseline: there is no gain to repair.")
    return Repair(settings=settings, models=models, benchmark=benchmark, asked=asked, audit=audit, plan=plan)


def _settings_of(said: RawSettings[RepairSettings], audit: FinishedAudit) -> RawSettings[AuditSettings]:
    """The audit's settings, with its harnesses unless others were named, at the pace that was said."""
    asked = said.settings()
    kept = {name: value for name, value in audit.folder.read_settings().items() if name in OF_THE_AUDIT}
    given = {name: getattr(asked, name) for name in asked.names("pace") if name in said.given or name in said.file}
    given |= {
        "workspace": asked.workspace,
        "benchmark": asked.benchmark,
        "data": asked.data,
        "harness": asked.harness or audit.folder.harness("H"),
        "baseline": asked.baseline or audit.folder.harness("H0"),
    }
    return replace(raw_settings(AuditSettings, given), models=said.models).above(kept)


def _require_unchanged(audit: FinishedAudit, benchmark: Benchmark[Any], fingerprint: str) -> None:
    """Refuse what is not what was audited: nothing that the audit found would be known of it."""
    now = {"content_hash": ("benchmark", benchmark.content_hash), "model_fingerprint": ("model", fingerprint)}
    if changed := [what for key, (what, value) in now.items() if audit.identity[key] != value]:
        raise UserError(f"audit '{audit.run}': {' and '.join(changed)} changed since. Audit the harness again.")


def _epsilon(asked: RepairSettings, benchmark: Benchmark[Any]) -> str:
    if asked.epsilon is None:
        return benchmark.defaults.epsilon
    try:
        return exact_decimal(asked.epsilon)
    except ValueError as error:
        raise UserError(f"epsilon={asked.epsilon} {error}.") from None


def _require_free(work: Repair, workspace: Workspace) -> None:
    """Refuse, before anything is paid, a folder that holds anything but what this very repair wrote there."""
    if work.out is None:
        return
    identity = identity_of(work)
    made = RunFolder(workspace, run_id(identity)).harness(NAME)
    check_free(work.out, load_harness(made) if made.exists() else None)
