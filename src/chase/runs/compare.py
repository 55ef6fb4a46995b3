"""A comparison: several methods over several seeds in one store; when all are done the sealed tasks are opened once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chase.core.agents import EDIT_SPACES
from chase.core.errors import UserError, choose
from chase.core.values import Json
from chase.harness.spec import Harness
from chase.methods.options import check_options
from chase.methods.registry import DEFAULT_METHOD
from chase.methods.run import Plan
from chase.runs.accounting import counts_of, episodes_of, served_models, total_counts
from chase.runs.agents import challenger_kind, make_challenger, make_proposer, proposer_kind, refuse_unused
from chase.runs.compared_certificates import certificates
from chase.runs.comparison import explanations, features, figures, paper_figures
from chase.runs.comparison_forecast import forecast_comparison
from chase.runs.comparison_tables import write_tables
from chase.runs.config import RawSettings
from chase.runs.evolve import AGENT_SETTINGS, INITIAL, laid_over, named_run
from chase.runs.finding import Which, runs_of
from chase.runs.folder import RunFolder
from chase.runs.life import Life, OpenRun, Prepared, identity_of, note_models
from chase.runs.listening import Listener, MemberEnded
from chase.runs.loops import run_to_end
from chase.runs.members import (
    FinishedMember,
    Member,
    Spec,
    carry_out,
    in_order,
    read_specs,
    usable,
    with_budget,
)
from chase.runs.models import checked_models, fitted
from chase.runs.notices import cut_short
from chase.runs.opening import Opener, locate, open_harness, require_readable, rollout_counts, settled_sizes
from chase.runs.pricing import priced
from chase.runs.results import CompareResult, ForecastResult
from chase.runs.sealed import measure_sealed
from chase.runs.settings import CompareSettings
from chase.runs.together import Together
from chase.store.store import Store
from chase.store.workspace import Workspace

COMMAND = "compare"
OF_ALL = ("rounds", "evaluation")
"""Settings that are an option of every method that has it."""


@dataclass(frozen=True, kw_only=True)
class Comparison(Prepared[CompareSettings]):
    """What one `chase compare` does, everything checked."""

    sizes: Mapping[str, int]
    specs: tuple[Spec, ...]
    members: tuple[Member, ...]
    initial: Harness
    match: str | None
    """The method whose episodes a matched-budget control gets."""
    notes: tuple[str, ...]
    """Why methods of a set were left out, and the like."""

    schema = CompareResult.schema

    @property
    def workers(self) -> int:
        return os.cpu_count() or 1

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(member.seed for member in self.members))

    @property
    def label(self) -> str:
        return f"{len(self.specs)} methods, {len(self.seeds)} seeds on {self.benchmark.name}"

    def identity(self, fingerprint: str) -> dict[str, Json]:
        first = self.members[0].plan
        described = [member.plan.describe(fingerprint) for member in self.members]
        agents = {agent: {found[agent] for found in described} - {None} for agent in ("proposer", "challenger")}
        return {
            "command": COMMAND,
            "benchmark": self.benchmark.name,
            "content_hash": self.benchmark.content_hash,
            "model": self.model,
            "model_fingerprint": fingerprint,
            "initial": self.initial.hash,
            "methods": {
                member.label: member.plan.options.model_dump(mode="json")
                for member in self.members
                if member.seed == self.seeds[0]
            },
            **{agent: next(iter(names), None) for agent, names in agents.items()},
            "edit_space": first.edit_space.name,
            "rollouts": dict(first.rollouts),
            "tasks": first.sizes,
            "seeds": list(self.seeds),
            "match": self.match,
        }

    def resolved(self) -> Mapping[str, Any]:
        return self.settings.written(
            methods=[spec.label for spec in self.specs],
            seeds=list(self.seeds),
            benchmark=self.benchmark.name,
            rollouts=dict(self.members[0].plan.rollouts),
            split_sizes=dict(self.sizes) or None,
        )

    def harnesses(self) -> Mapping[str, Harness]:
        return {INITIAL: self.initial}

    def rollouts_between(self) -> tuple[int, int]:
        return forecast_comparison(self.members, self.specs, self.settings, self.match).rollouts_between

    def ids(self, run: str) -> Sequence[str]:
        return (run, *(member.id(run) for member in self.members))

    async def carry_out(self, run: OpenRun) -> dict[str, Json]:
        """Every member, then the sealed tasks. What was done before comes from the store and the members' folders."""
        watched = replace(run, listener=Together(run.listener, len(self.members)))
        finished = await self._evolved(watched)
        found: dict[str, Json] = {"certified": False}
        if not self.settings.no_certify:
            neutral = self.benchmark.neutral is not None
            sealed = await measure_sealed(watched, finished, initial=self.initial, reason=self.settings.reopen or "")
            found = {"certified": True, **figures(sealed, self.specs, self.seeds, neutral=neutral)}
            found["explanations"] = explanations(found, neutral=neutral)
            found["certificates"] = certificates(run, sealed, finished)
        payload = {
            "run": run.id,
            "config": self.identity(run.model.fingerprint),
            "seeds": list(self.seeds),
            **found,
            "features": features(self.specs),
            "tokens": _tokens(run, finished),
            **total_counts(run.store, self.ids(run.id)),
            "members": [_member(member) for member in finished],
            "paper": paper_figures(self.benchmark.base),
            "reopened": [seal.reason for seal in run.store.seals(run.id) if seal.reason],
            "warnings": note_models(
                _served(run, finished), run.model, [*self.notes, *cut_short(run, self.ids(run.id))]
            ),
        }
        write_tables(run.folder, payload)
        return payload

    async def _evolved(self, run: OpenRun) -> list[FinishedMember]:
        """Every member's end. Seeds are under way side by side where there are processes to compute them."""
        room = asyncio.Semaphore(1 if run.pace.processes is None else run.pace.processes.count + 1)
        finished: dict[tuple[str, int], FinishedMember] = {}

        async def one_seed(seed: int) -> None:
            async with room:
                for member in in_order([m for m in self.members if m.seed == seed], self.specs):
                    ready = self._matched(member, run, finished)
                    finished[member.label, seed] = await carry_out(ready, run)
                    run.listener.told(MemberEnded(method=member.label, seed=seed))

        try:
            async with asyncio.TaskGroup() as group:
                for seed in self.seeds:
                    group.create_task(one_seed(seed))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [finished[member.label, member.seed] for member in self.members]

    def _matched(self, member: Member, run: OpenRun, finished: Mapping[tuple[str, int], FinishedMember]) -> Member:
        """The member with its budget, where that is what another one used in the same seed."""
        other = finished.get((self.match or "", member.seed))
        if other is None or not next(spec for spec in self.specs if spec.label == member.label).matched:
            return member
        return with_budget(member, episodes_of(run.store, other.folder.run))


def compare(said: RawSettings[CompareSettings], listener: Listener) -> CompareResult:
    """Start the comparison that was described, or go on with one. Going on pays for nothing and asks nothing twice."""
    workspace = locate(said.given.get("workspace"))
    if (named := named_run(said, workspace, COMMAND)) is not None:
        folder = RunFolder(workspace, named.id)
        if named.status == "finished" and not said.describes:
            return CompareResult(payload=folder.read_result(), folder=folder.path)
        said = laid_over(said, folder)
    settings = said.settings()
    if settings.no_certify and settings.reopen is not None:
        raise UserError("--reopen says why certified seeds are certified again, --no-certify leaves the set sealed.")
    life, work = _begun(said, workspace, listener)
    if not settings.no_certify:
        _require_reason(work, workspace, life.which)
    lived = run_to_end(lambda: life.live(work))
    return CompareResult(payload=lived.payload, folder=lived.folder.path)


def forecast(said: RawSettings[CompareSettings], listener: Listener) -> ForecastResult:
    """What the comparison can take at most. Runs nothing and writes nothing."""
    workspace = locate(said.given.get("workspace"))
    if (named := named_run(said, workspace, COMMAND)) is not None:
        said = laid_over(said, RunFolder(workspace, named.id))
    _, work = _begun(said, workspace, listener)
    return priced(
        forecast_comparison(work.members, work.specs, work.settings, work.match),
        COMMAND,
        None,
        work.benchmark,
        work.models,
        work.settings,
    )


def _begun(said: RawSettings[CompareSettings], workspace: Workspace, listener: Listener) -> tuple[Life, Comparison]:
    resume = said.settings().resume
    which = Which(command=COMMAND, anew=resume is None, resume=resume)
    life, opener = Life(which=which, workspace=workspace, listener=listener), Opener(listener)
    return life, life.prepared(said, lambda said: prepare(said, opener, listener))


def prepare(said: RawSettings[CompareSettings], opener: Opener, listener: Listener) -> Comparison:
    """The comparison that was described; a contradiction is refused before anything runs."""
    settings = said.settings()
    specs = read_specs(settings.methods)
    _refuse_idle(specs, said.given)
    common = {name: getattr(settings, name) for name in OF_ALL}
    for spec in specs:
        fields = spec.method.Options.model_fields
        check_options(spec.method.name, spec.method.Options, {n: v for n, v in common.items() if n in fields})
    edit_space = EDIT_SPACES[choose("edit-space", settings.edit_space, EDIT_SPACES)]
    models = checked_models(settings, said.models, listener)
    kinds = {"proposer": proposer_kind(settings), "challenger": challenger_kind(settings)}
    asked = {agent for spec in specs for agent in spec.method.agents}
    refuse_unused(said.given, [f"{kind} {agent}" for agent, kind in kinds.items() if agent in asked])
    require_readable(settings.harness)
    match, unmatched = _matched_with(specs, settings.match)
    whole = fitted(opener.benchmark(settings), models, settings)
    specs, notes = usable(specs, settings.methods, whole)
    notes += unmatched
    sizes = settled_sizes(settings, whole)
    benchmark = whole.fewer(sizes)
    initial = open_harness(settings.harness, benchmark)
    members = tuple(
        Member(
            label=spec.label,
            seed=seed,
            plan=Plan(
                benchmark=benchmark,
                options=spec.options(common, benchmark),
                kit=opener.kit(benchmark),
                initial=initial,
                method=spec.method,
                proposer=make_proposer(settings, models),
                challenger=make_challenger(settings, models),
                rollouts=rollout_counts(settings.rollouts, benchmark),
                seed=seed,
                edit_space=edit_space,
            ),
        )
        for seed in map(int, settings.seeds)
        for spec in specs
    )
    for member in members:
        member.plan.check()
    return Comparison(
        settings=settings,
        models=models,
        benchmark=benchmark,
        sizes=sizes,
        specs=tuple(specs),
        members=members,
        initial=initial,
        match=match,
        notes=tuple(notes),
    )


def _matched_with(specs: Sequence[Spec], asked: str | None) -> tuple[str | None, list[str]]:
    """The method whose budget a control gets, and what is to be said where there is none to be had."""
    controls = [spec.label for spec in specs if spec.matched]
    others = [spec.label for spec in specs if not spec.matched]
    if asked is not None:
        if not controls:
            raise UserError("none of the methods takes another's budget: leave --match out, or add best-of-n.")
        return choose("match", asked, others), []
    if not controls or DEFAULT_METHOD in others:
        return DEFAULT_METHOD if controls else None, []
    return None, [
        f"{', '.join(controls)} had a budget of its own, not a matched one: {DEFAULT_METHOD} is not compared. "
        "Say with --match METHOD whose episodes it gets"
    ]


def _refuse_idle(specs: Sequence[Spec], given: Mapping[str, Any]) -> None:
    """Refuse what was given and means nothing to any of the methods."""
    idle = [name for name in OF_ALL if not any(name in spec.method.Options.model_fields for spec in specs)]
    for agent, names in AGENT_SETTINGS.items():
        if not any(agent in spec.method.agents for spec in specs):
            idle += names
    if flagged := [f"--{name.replace('_', '-')}" for name in idle if name in given]:
        raise UserError(f"none of the methods has a use for this: leave {', '.join(flagged)} out.")


def _require_reason(work: Comparison, workspace: Workspace, which: Which) -> None:
    """Refuse, before anything is run, seeds whose sealed tasks another comparison has seen, unless it is said why they
    are opened again; and a reason where they were not.
    """
    earlier = _opened_for(work, workspace, which)
    if earlier is None and work.settings.reopen is not None:
        raise UserError("--reopen: no comparison has opened the sealed tasks for these seeds. Leave it out.")
    if earlier is not None and work.settings.reopen is None:
        other, seeds = earlier
        raise UserError(
            f"seeds={','.join(map(str, seeds))}: comparison '{other}' has opened the sealed tasks for them. "
            "Use other seeds, or say with --reopen REASON why they are opened again (it stays in the record); "
            f"--no-certify compares without them, and `chase compare --resume {other}` shows its result. "
            "Nothing was run."
        )


def _opened_for(work: Comparison, workspace: Workspace, which: Which) -> tuple[str, list[int]] | None:
    """Another comparison, and the seeds for which it has opened the sealed tasks."""
    if not workspace.database.exists():
        return None
    mine = identity_of(work)
    with Store.open(workspace, write=False) as store:
        own = which.stored(store, mine)
        for other in runs_of(store, COMMAND):
            same = all(other.config[key] == mine[key] for key in ("content_hash", "model_fingerprint"))
            seeds = sorted(set(other.config["seeds"]) & set(work.seeds))
            if (own is None or other.id != own.id) and same and seeds and store.seals(other.id):
                return other.id, seeds
    return None


def _tokens(run: OpenRun, members: Sequence[FinishedMember]) -> dict[str, Json]:
    """The paper's token tables: each method's episodes and tokens by stage, over all seeds."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    for member in members:
        counts = counts_of(run.store, member.folder.run)["tokens"]
        stages = found.setdefault(member.label, {})
        for stage, account in counts.items():
            sums = stages.setdefault(stage, dict.fromkeys(("episodes", "reused", "total", "uncached"), 0))
            for key in sums:
                sums[key] += account[key]
    return found


def _member(member: FinishedMember) -> dict[str, Json]:
    final = member.result["final"]
    return {
        "method": member.label,
        "seed": member.seed,
        "run": member.folder.run,
        "final": {"name": final["name"], "hash": final["hash"]},
        "changes": final["changes"],
        "archive": [entry["symbols"] for entry in member.result["archive"]],
    }


def _served(run: OpenRun, members: Sequence[FinishedMember]) -> list[str]:
    return sorted({name for member in members for name in served_models(run.store, member.folder.run)})
