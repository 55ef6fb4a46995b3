"""A comparison's certificates: for each method and seed what the sealed tasks prove of its `H*`, as for one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from chase.core.values import Json
from chase.methods.certification import bounds_of, searched_sets
from chase.methods.search_sets import search_terms
from chase.runs.certified_theory import theorems_of
from chase.runs.life import OpenRun
from chase.runs.members import FinishedMember
from chase.runs.sealed import CERT, Certified, Sealed


def certificates(run: OpenRun, sealed: Sealed, members: Sequence[FinishedMember]) -> list[dict[str, Json]]:
    """Every method and seed: its archive (without those that are not valid on the sealed tasks) and its theorems."""
    reasons = [seal.reason for seal in run.store.seals(run.id)[1:]]
    found = []
    for member in members:
        certified = sealed.certified[member.label, member.seed]
        bounds = _certification(run, member, certified)
        theorems = theorems_of({**member.result, "certification": {**bounds, "reopened": reasons}})
        found.append(
            {
                "method": member.label,
                "seed": member.seed,
                "run": member.folder.run,
                "unchanged": member.final.hash == member.plan.initial.hash,
                "theorems": theorems,
            }
        )
    return found


def _certification(run: OpenRun, member: FinishedMember, certified: Certified) -> dict[str, Json]:
    """What the theorems take from a certification."""
    plan, benchmark = member.plan, member.plan.benchmark
    bounds = bounds_of(
        certified.gains, certified.variants, benchmark=benchmark, tasks=benchmark.tasks(CERT), seed=member.seed
    )
    terms = search_terms(
        run.store.used(member.folder.run), searched_sets(benchmark), initial=plan.initial.hash,
        released=plan.released.transformation.hash, seed=member.seed,
    )  # fmt: skip
    search = {role: asdict(term) for role, term in terms.items()}
    return {**asdict(bounds), "search": search, "invalid": {name: list(why) for name, why in certified.invalid.items()}}
