"""An audit run: is a harness's gain real, or a benchmark-wide shortcut?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chase.core.agents import Draft
from chase.core.errors import UserError
from chase.core.outside import NotPlain, parse_json
from chase.core.values import Json
from chase.harness.spec import Harness
from chase.methods.audit_plan import AuditPlan, audit_harness
from chase.methods.audit_search import SearchSettings
from chase.methods.forecast import forecast_audit
from chase.methods.sensitivity import sensitivity_json
from chase.protocol.kit import ProtocolKit
from chase.protocol.screening import screen_draft
from chase.runs.accounting import episodes_of, served_models, tokens_of
from chase.runs.agents import challenger_kind, make_challenger, refuse_unused
from chase.runs.config import RawSettings
from chase.runs.exposure import exposure_of
from chase.runs.finding import Which
from chase.runs.life import Life, OpenRun, Prepared, note_models
from chase.runs.listening import Listener
from chase.runs.loops import run_to_end
from chase.runs.models import checked_models, fitted
from chase.runs.notices import Compared, Notices, notice
from chase.runs.opening import Opener, locate, open_harness, require_readable, settled_sizes
from chase.runs.own_agents import at_work, check_hidden, notes_on, own_agent, seen_of, settled
from chase.runs.pricing import priced
from chase.runs.results import AuditResult, ForecastResult
from chase.runs.settings import AuditSettings
from chase.stats.estimates import few_clusters

COMMAND = "audit"
OF_THE_SEARCH = ("rounds", "proposals", "no_reduce", "challenger", "challenger_model", "challenger_command", "no_diff")
"""Settings that mean nothing where transformations are given."""


@dataclass(frozen=True, kw_only=True)
class Audit(Prepared[AuditSettings]):
    """What one `chase audit` examines, everything checked."""

    plan: AuditPlan

    schema = AuditResult.schema

    @property
    def label(self) -> str:
        return f"audit on {self.benchmark.name}"

    def rollouts_between(self) -> tuple[int, int]:
        return forecast_audit(self.plan).rollouts_between

    def identity(self, fingerprint: str) -> dict[str, Json]:
        return self.plan.describe(fingerprint)

    def resolved(self) -> Mapping[str, Any]:
        return self.settings.written(benchmark=self.benchmark.name)

    def harnesses(self) -> Mapping[str, Harness]:
        named = {"H0": self.plan.baseline, "H": self.plan.harness}
        return {name: harness for name, harness in named.items() if isinstance(harness, Harness)}

    async def carry_out(self, run: OpenRun) -> dict[str, Json]:
        plan = self.plan
        with at_work([plan.harness, plan.baseline], run, self.benchmark.private_paths):
            audited = await audit_harness(
                plan,
                run=run.id,
                store=run.store,
                model=run.model,
                sandbox=run.sandbox,
                tell=run.listener.told,
                progress=run.listener,
                pace=run.pace,
            )
        seen = seen_of(run, {"agent": plan.harness, "baseline": plan.baseline})
        noticed = self._noticed(run, seen, audited.tried)
        few = [text] if (text := few_clusters(audited.clusters, audited.confirm_tasks)) else []
        return {
            "run": run.id,
            "benchmark": self.benchmark.name,
            "model": self.model,
            "baseline": plan.baseline.hash,
            "harness": plan.harness.hash,
            "seed": plan.seed,
            **audited.to_json(),
            "exposure": exposure_of(run.store, run.id, plan.confirmation_roles).to_json(),
            "episodes": episodes_of(run.store, run.id),
            "tokens": tokens_of(run.store, run.id),
            "simulated": run.model.config.simulated,
            "agents": seen,
            "hook_failures": noticed.hook_failures,
            "warnings": note_models(served_models(run.store, run.id), run.model, [*noticed.texts, *few]),
        }

    def _noticed(self, run: OpenRun, seen: Mapping[str, Json] | None, tried: Sequence[Mapping[str, Json]]) -> Notices:
        harness, baseline = self.plan.harness, self.plan.baseline
        if not isinstance(harness, Harness) or not isinstance(baseline, Harness):
            return Notices(hook_failures=[], texts=notes_on(seen, tried))
        named = self.settings.harness
        return notice(run, Compared(harness=harness, baseline=baseline, baseline_name="the baseline", source=named))


def audit(said: RawSettings[AuditSettings], listener: Listener) -> AuditResult:
    """Audit what was asked for. The same again goes on where it stopped, and pays for nothing twice."""
    life = Life(which=Which(command=COMMAND), workspace=locate(said.settings().workspace), listener=listener)
    opener = Opener(listener)
    work = life.prepared(said, lambda said: prepare(said, opener, listener))
    lived = run_to_end(lambda: life.live(work))
    return AuditResult(payload=lived.payload, folder=lived.folder.path, benchmark=work.benchmark)


def forecast(said: RawSettings[AuditSettings], listener: Listener) -> ForecastResult:
    """What the audit can take at most. Runs nothing and writes nothing."""
    work = prepare(said, Opener(listener), listener)
    found = priced(forecast_audit(work.plan), COMMAND, None, work.benchmark, work.models, work.settings)
    return replace(found, payload={**found.payload, "detectable": sensitivity_json(work.plan.sensitivity())})


def prepare(said: RawSettings[AuditSettings], opener: Opener, listener: Listener) -> Audit:
    """The audit that was described, everything checked before anything runs."""
    settings = settled(said)
    models = checked_models(settings, said.models, listener)
    challenger = make_challenger(settings, models)
    own = None if not settings.agent_command else (own_agent(settings, "baseline"), own_agent(settings))
    refuse_unused(said.given, [f"{challenger_kind(settings)} challenger", *(["own agent"] if own else [])])
    _refuse_search(said.given)
    if settings.battery_only and settings.no_battery:
        raise UserError("--battery-only and --no-battery leave nothing to measure: give one of them.")
    require_readable(settings.harness, settings.baseline)
    given = [(path, _read_form(Path(path))) for path in settings.transformations]
    whole = fitted(opener.benchmark(settings), models, settings)
    benchmark = whole.fewer(settled_sizes(settings, whole))
    rollouts = dict(benchmark.defaults.rollouts)
    if settings.rollouts is not None:
        rollouts |= {role: settings.rollouts for role in rollouts if role not in ("evo", "disc")}
    kit = opener.kit(benchmark)
    baseline, harness = own or (open_harness(settings.baseline, benchmark), open_harness(settings.harness, benchmark))
    check_hidden([baseline, harness], benchmark, locate(settings.workspace))
    plan = AuditPlan(
        benchmark=benchmark,
        kit=kit,
        baseline=baseline,
        harness=harness,
        challenger=challenger,
        settings=SearchSettings(
            rounds=0 if settings.battery_only else settings.rounds,
            proposals=settings.proposals,
            reduce=not settings.no_reduce,
            battery=not settings.no_battery,
            whole=settings.whole,
            anyway=settings.anyway,
            level=settings.level,
        ),
        rollouts=rollouts,
        seed=settings.seed,
        confirm_size=settings.confirm_size,
        use_cert=settings.use_cert,
        given=tuple(_draft(path, form, kit) for path, form in given),
    )
    _require_enough(plan)
    if plan.harness.hash == plan.baseline.hash:
        named = settings.harness if isinstance(settings.harness, str) else plan.harness.hash[:12]
        raise UserError(f"harness={named} is the same as its baseline: there is no gain to audit.")
    return Audit(settings=settings, models=models, benchmark=benchmark, plan=plan)


def _refuse_search(given: Mapping[str, Any]) -> None:
    """Refuse settings of the search where transformations are given and nothing is searched for."""
    if not given.get("transformations"):
        return
    if idle := [f"--{name.replace('_', '-')}" for name in OF_THE_SEARCH if name in given]:
        raise UserError(f"with --transformations nothing is searched for: leave {', '.join(idle)} out.")


def _require_enough(plan: AuditPlan) -> None:
    """Refuse more confirmation tasks than there are."""
    size = plan.confirm_size
    there = sum(len(plan.benchmark.tasks(role)) for role in plan.confirmation_roles)
    if size is not None and size > there:
        raise UserError(f"confirm_size={size}: there are {there} confirmation tasks. Give at most that many.")


def _read_form(path: Path) -> dict[str, Any]:
    """A given transformation as it is in its file."""
    try:
        form = parse_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"--transformations={path} cannot be read: {error.strerror}.") from None
    except NotPlain as error:
        raise UserError(f"--transformations={path} is {error}.") from None
    if not isinstance(form, dict):
        raise UserError(f"--transformations={path} must hold one JSON object. See docs/transformations.md.")
    return form


def _draft(path: str | Path, form: dict[str, Any], kit: ProtocolKit) -> Draft:
    """A given transformation, through the same screens as a Challenger's: before anything is run."""
    screened = screen_draft(kit, Draft(form=form), archived=())
    if screened.verdict != "valid":
        raise UserError(f"--transformations={path} is {screened.verdict}: {screened.reason}")
    return screened.draft
