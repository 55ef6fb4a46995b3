"""The sealed tasks of a comparison: opened once, when every method of every seed is done, for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from chase.agents.history import RELEASED
from chase.core.events import CertificationStarted
from chase.core.values import Json
from chase.engine.evaluator import Opening, jobs_of, unseal
from chase.engine.rollout import Job
from chase.engine.runner import Runner
from chase.harness.spec import Harness
from chase.methods.arena import Contender, Means, StoreArena, Variant
from chase.methods.certification import NEUTRAL, analysis_digest, failed_checks
from chase.methods.run import Plan
from chase.runs.life import OpenRun
from chase.runs.members import FinishedMember
from chase.stats.destruction import gain
from chase.stats.estimates import PerTask
from chase.store.records import Use

CERT, EVO = "cert", "evo"
ANALYSIS = ("methods/certification.py", "runs/sealed.py", "runs/comparison.py")
"""Beside the statistics: what turns scores into a comparison's figures."""
INITIAL = "H_0"
"""Stands where a method's name does, for the harness that all gains are over."""


@dataclass(frozen=True, kw_only=True)
class Cells:
    """What one harness scored in one seed: by variant on the certification tasks, as released on other sets."""

    cert: Mapping[str, PerTask]
    evo: PerTask
    others: Mapping[str, PerTask]
    """Sealed role → scores as released: a second corpus, say."""


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """All that was measured on sealed tasks."""

    cells: Mapping[tuple[str, int], Cells]
    """(method or `H_0`, seed) → its cells."""
    finals: Mapping[tuple[str, int], str]
    """(method, seed) → the hash of its `H*`."""
    archives: Mapping[int, Sequence[str]]
    """Seed → the names of the counterfactuals that all methods were measured under."""
    invalid: Mapping[str, Mapping[str, Sequence[str]]]
    """Seed → counterfactual → checks that it fails on the sealed tasks: it was left out."""
    certified: Mapping[tuple[str, int], Certified]
    """(method, seed) → what certificates are made of."""


@dataclass(frozen=True, kw_only=True)
class Certified:
    """One `H*` against `H_0` under everything that it was measured under: its archive, and `B_0` where it is known."""

    gains: Mapping[str, PerTask]
    variants: Sequence[Variant]
    invalid: Mapping[str, Sequence[str]]
    """Archived counterfactuals that were left out."""


async def measure_sealed(run: OpenRun, members: Sequence[FinishedMember], *, initial: Harness, reason: str) -> Sealed:
    """Commit to every `H*`, every archive and the analysis; then open the sealed tasks once, and measure all.

    Where `B_0` is known everything is measured under it, and an `H*` that has an archive under that too; else
    everything is measured under the archive of the same seed's challenged method.
    """
    room = _runner(run, run.id, "").room(_jobs(members, initial))
    opening = unseal(run.store, run.id, commitments(members), reason, room=room)
    benchmark = members[0].plan.benchmark
    run.listener.told(CertificationStarted(tasks=sum(len(benchmark.tasks(role)) for role in benchmark.sealed)))
    cells: dict[tuple[str, int], Cells] = {}
    archives: dict[int, Sequence[str]] = {}
    invalid: dict[str, Mapping[str, Sequence[str]]] = {}
    certified: dict[tuple[str, int], Certified] = {}
    neutral = members[0].plan.benchmark.neutral is not None
    for seed in dict.fromkeys(member.seed for member in members):
        own = [member for member in members if member.seed == seed]
        variants, failed = _variants(own)
        archives[seed] = [variant.name for variant in variants if variant.name not in (RELEASED, NEUTRAL)]
        if failed:
            invalid[str(seed)] = failed
        cells[INITIAL, seed] = await _cells(run, own[0], initial, variants, opening, use=run.id)
        for member in own:
            found = await _cells(run, member, member.final, variants, opening, use=member.folder.run)
            cells[member.label, seed] = found
            shared = {v.name: gain(found.cert[v.name], cells[INITIAL, seed].cert[v.name]) for v in variants}
            own_archive, left_out = _archive(member) if neutral else ([], failed)
            certified[member.label, seed] = Certified(
                gains={**shared, **await _gains(run, member, initial, own_archive, opening)},
                variants=[*variants, *own_archive],
                invalid=left_out,
            )
    finals = {(member.label, member.seed): member.final.hash for member in members}
    return Sealed(cells=cells, finals=finals, archives=archives, invalid=invalid, certified=certified)


def _jobs(members: Sequence[FinishedMember], initial: Harness) -> list[Job]:
    """The rollouts on sealed tasks, as far as they are known before these are opened: as released and, of certification
    tasks where it is known, under `B_0` and under a member's own archive.
    """
    found = []
    for member in members:
        plan = member.plan
        benchmark, released = plan.benchmark, plan.released.transformation
        known = [] if benchmark.neutral is None else [benchmark.variant(benchmark.neutral)]
        if benchmark.neutral is not None:
            known += [variant.transformation for variant in member.variants(plan.kit)]
        for role in sorted(benchmark.sealed):
            transformations = [released, *(known if role == CERT else ())]
            pairs = [(harness, each) for harness in (initial, member.final) for each in transformations]
            found += jobs_of(benchmark, pairs, benchmark.tasks(role), plan.rollouts[role], member.seed)
    return found


def commitments(members: Sequence[FinishedMember]) -> dict[str, Json]:
    """Everything that is fixed before the sealed tasks are opened."""
    return {
        "members": {f"{member.label} seed {member.seed}": member.committed for member in members},
        "analysis": analysis_digest(files("chase"), ANALYSIS),
    }


def _variants(members: Sequence[FinishedMember]) -> tuple[list[Variant], dict[str, list[str]]]:
    """What a seed's harnesses are measured under, and archived counterfactuals that are not valid on these tasks."""
    plan = members[0].plan
    benchmark = plan.benchmark
    if benchmark.neutral is not None:
        return [plan.released, Variant(name=NEUTRAL, transformation=benchmark.variant(benchmark.neutral))], {}
    challenged = next((member for member in members if "challenger" in member.plan.method.agents), None)
    if challenged is None:
        return [plan.released], {}
    archived, failed = _archive(challenged)
    return [plan.released, *archived], failed


def _archive(member: FinishedMember) -> tuple[list[Variant], dict[str, list[str]]]:
    """A member's archived counterfactuals that are valid on the sealed tasks, and the checks that the others fail."""
    plan = member.plan
    failed = failed_checks(member.archive, plan.kit, plan.benchmark.tasks(CERT))
    return [variant for variant in member.variants(plan.kit) if variant.name not in failed], failed


async def _gains(
    run: OpenRun, member: FinishedMember, initial: Harness, variants: Sequence[Variant], opening: Opening
) -> dict[str, PerTask]:
    """A member's gain over `H_0` on the certification tasks, under each of its own variants."""
    if not variants:
        return {}
    arena = _arena(run, member.plan, (CERT,), opening, member.folder.run)
    pair = [Contender(name=INITIAL, harness=initial), Contender(name=member.label, harness=member.final)]
    means = await arena.means(pair, variants, CERT)
    return {v.name: gain(means[member.label, v.name], means[INITIAL, v.name]) for v in variants}


async def _cells(
    run: OpenRun, member: FinishedMember, harness: Harness, variants: Sequence[Variant], opening: Opening, *, use: str
) -> Cells:
    plan = member.plan
    others = tuple(sorted(plan.benchmark.sealed - {CERT}))
    arena = _arena(run, plan, (CERT, *others), opening, use)
    named = Contender(name=member.label, harness=harness)
    cert = await arena.means([named], variants, CERT)
    # The search tasks are no part of a certification: what is not in the store the comparison itself runs.
    evo = await _arena(run, plan, (EVO,), None, run.id).means([named], variants[:1], EVO)
    return Cells(
        cert=_by_variant(cert),
        evo=evo[named.name, RELEASED],
        others={role: (await arena.means([named], variants[:1], role))[named.name, RELEASED] for role in others},
    )


def _arena(run: OpenRun, plan: Plan, roles: Sequence[str], opening: Opening | None, use: str) -> StoreArena:
    runner = _runner(run, use, plan.method.name)
    return StoreArena(plan.evaluator(runner, run.store, roles, opening), {})


def _by_variant(means: Means) -> dict[str, Any]:
    return {variant: per_task for (_, variant), per_task in means.items()}


def _runner(run: OpenRun, use: str, method: str) -> Runner:
    return Runner(
        model=run.model,
        store=run.store,
        sandbox=run.sandbox,
        use=Use(run=use, method=method),
        pace=run.pace,
        progress=run.listener,
    )
