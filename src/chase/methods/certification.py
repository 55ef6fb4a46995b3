"""Certification: all is fixed and recorded, then `D_cert` is opened once and what is left of the gain measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from chase.agents.history import RELEASED
from chase.core.events import CertificationStarted, Tell, ignore
from chase.core.interfaces import Benchmark
from chase.core.keyed import digest
from chase.core.values import Json
from chase.engine.evaluator import Evaluator, jobs_of, unseal
from chase.engine.runner import Runner
from chase.methods.arena import Contender, Means, StoreArena, Variant, gain_destruction
from chase.methods.evolution import EvolutionOutcome
from chase.methods.search_sets import search_terms
from chase.protocol.archive import Archive
from chase.protocol.compositions import Composition, fewest_that_make
from chase.protocol.kit import ProtocolKit
from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES
from chase.stats.certificates import Certificate, certificate, neutral_certificate
from chase.stats.destruction import archive_summary, destruction, excess_estimate, gain
from chase.stats.estimates import Estimate, PerTask, estimate
from chase.stats.rademacher import Rademacher
from chase.stats.theorems import ArchiveBounds
from chase.store.store import Store

OWN = "methods/certification.py"
NEUTRAL = "neutral"
"""The name of `B_0` in a certification, where a benchmark knows it."""
ALPHA = 0.05
"""Of certificates: each statement holds with probability `1 − α/2`."""
SEARCH = ("evo", "disc")
"""The task sets that are searched on."""


@dataclass(frozen=True, kw_only=True)
class CertificationOutcome:
    """`H*` against `H_0` on the sealed tasks."""

    scores: Mapping[str, Mapping[str, Estimate]]
    """Harness → variant → `R̂`."""
    gains: Mapping[str, Estimate]
    """Variant → `Ĝ_b(H*; H_0)`."""
    destruction: Mapping[str, Estimate]
    """Variant → `Δ̂_b(H*; H_0)`; under `B_0` it is `Δ̂_BS`."""
    gamma: Estimate
    """`Γ̂` over the archive: the `Δ̂` of its worst entry."""
    g_min: Estimate
    """`Ĝ_min` over the archive: the gain under its worst entry."""
    worst: str
    """The entry with the largest gain destruction. Standard errors take it as given."""
    excess_search_gain: Estimate
    """`Δ̂_TS` with `evo` and `cert`."""
    tasks: int
    invalid: Mapping[str, Sequence[str]]
    """Archived counterfactual → the checks that it fails on the sealed tasks, with where. It is no evidence there, and
    stands in nothing above."""
    variants: Mapping[str, str]
    """Variant → its transformation's hash."""
    elsewhere: Mapping[str, Mapping[str, Estimate]]
    """Further sealed role, a second corpus say → `H0`, `H*`: scores as released there; `gain`."""
    certificate: Certificate
    """Bounds on `Γ_A` and `G_min,A` that hold together with probability `1 − α/2`."""
    neutral: Mapping[str, ArchiveBounds] | None
    """`hoeffding` and `betting` → bounds on `Δ_BS` (as `gamma_upper`) and `G_0` (as `g_min_lower`), measured under
    `B_0` itself; None where it is not known."""
    composition: Composition | None
    """`K(A)`; None where `B_0` is not known."""
    search: Mapping[str, Rademacher]
    """`evo` and `disc` → the Rademacher term of what was evaluated there."""

    def to_json(self) -> dict[str, Json]:
        return asdict(self)


@cache
def analysis_hash() -> str:
    """Digest of the code that turns scores into the certified figures."""
    return analysis_digest(files("chase"))


def analysis_digest(package: Traversable, own: Sequence[str] = (OWN,)) -> str:
    """The same of a package's source: statistics and these modules. How a harness came about is in its own hash."""
    modules = [module for module in package.joinpath("stats").iterdir() if module.name.endswith(".py")]
    named = {f"stats/{module.name}": module.read_text(encoding="utf-8") for module in modules}
    return digest({**named, **{name: package.joinpath(name).read_text(encoding="utf-8") for name in own}})


async def certify(
    evolved: EvolutionOutcome,
    *,
    benchmark: Benchmark[Any],
    kit: ProtocolKit,
    runner: Runner,
    store: Store,
    run: str,
    rollouts: Mapping[str, int],
    run_seed: int,
    reason: str = "",
    tell: Tell = ignore,
) -> CertificationOutcome:
    """Commit, then reveal. A run whose set was opened before for the same hashes goes on without a reason.

    The firewall has seen the sealed tasks of no counterfactual: it examines them first, and one that is not valid there
    is left out.
    """
    initial, final = evolved.harnesses[0], evolved.final
    others = sorted(benchmark.sealed - {"cert"})
    jobs = []
    for role in ("cert", *others):
        planned = evolved.variants if role == "cert" else evolved.variants[:1]
        pairs = [(h.harness, v.transformation) for h in (initial, final) for v in planned]
        jobs += jobs_of(benchmark, pairs, benchmark.tasks(role), rollouts[role], run_seed)
    opening = unseal(store, run, _committed(evolved), reason, room=runner.room(jobs))
    tell(CertificationStarted(tasks=sum(len(benchmark.tasks(role)) for role in benchmark.sealed)))
    roles = {role: rollouts[role] for role in ("cert", "evo", *others)}
    evaluator = Evaluator(
        benchmark=benchmark, runner=runner, store=store, roles=roles, run_seed=run_seed, opening=opening
    )
    invalid = failed_checks(evolved.archive, kit, evaluator.tasks("cert"))
    variants = [variant for variant in evolved.variants if variant.name not in invalid]
    if benchmark.neutral is not None:
        variants.append(Variant(name=NEUTRAL, transformation=benchmark.variant(benchmark.neutral)))
    arena = StoreArena(evaluator, {})
    pair = [Contender(name="H0", harness=initial.harness), Contender(name="H*", harness=final.harness)]
    means = await arena.means(pair, variants, "cert")
    gains = {v.name: gain(means["H*", v.name], means["H0", v.name]) for v in variants}
    summary = archive_summary(_archived(gains), released=RELEASED)
    bounds = bounds_of(gains, variants, benchmark=benchmark, tasks=evaluator.tasks("cert"), seed=run_seed)
    evo = await arena.means(pair, variants[:1], "evo")
    search = gain(evo["H*", RELEASED], evo["H0", RELEASED])
    elsewhere = {role: _elsewhere(await arena.means(pair, variants[:1], role)) for role in others}
    return CertificationOutcome(
        scores={h.name: {v.name: estimate(means[h.name, v.name], SCORES) for v in variants} for h in pair},
        gains={name: estimate(per_task, GAINS) for name, per_task in gains.items()},
        destruction={
            v.name: estimate(gain_destruction(means, "H*", "H0", v.name), DESTRUCTIONS)
            for v in variants
            if v.name != RELEASED
        },
        gamma=estimate(destruction(gains[RELEASED], gains[summary.worst]), DESTRUCTIONS),
        g_min=estimate(gains[summary.worst], GAINS),
        worst=summary.worst,
        excess_search_gain=excess_estimate(search, gains[RELEASED]),
        tasks=len(gains[RELEASED]),
        invalid=invalid,
        variants={v.name: v.transformation.hash for v in variants},
        elsewhere=elsewhere,
        certificate=bounds.certificate,
        neutral=bounds.neutral,
        composition=bounds.composition,
        search=search_terms(
            store.used(run), searched_sets(benchmark), initial=initial.harness.hash,
            released=variants[0].transformation.hash, seed=run_seed,
        ),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What gains on the sealed tasks certify, as in a `CertificationOutcome`."""

    certificate: Certificate
    neutral: Mapping[str, ArchiveBounds] | None
    composition: Composition | None


def bounds_of(
    gains: Mapping[str, PerTask],
    variants: Sequence[Variant],
    *,
    benchmark: Benchmark[Any],
    tasks: Sequence[str],
    seed: int,
) -> Bounds:
    """From each variant's gain, task by task: the released benchmark, an archive, and `B_0` where it was measured."""
    return Bounds(
        certificate=certificate(_archived(gains), released=RELEASED, alpha=ALPHA, seed=seed),
        neutral=_measured_neutral(gains, seed),
        composition=_composition(benchmark, variants, tasks),
    )


def searched_sets(benchmark: Benchmark[Any]) -> dict[str, Sequence[str]]:
    """The task sets that are searched on, with their tasks."""
    return {role: benchmark.tasks(role) for role in SEARCH if role in benchmark.roles}


def _archived(gains: Mapping[str, PerTask]) -> dict[str, PerTask]:
    return {name: per_task for name, per_task in gains.items() if name != NEUTRAL}


def _committed(evolved: EvolutionOutcome) -> dict[str, Json]:
    """Everything that is fixed before the sealed tasks are opened."""
    return {
        "final": evolved.final.harness.hash,
        "harnesses": [named.harness.hash for named in evolved.harnesses],
        "archive": [entry.digest() for entry in evolved.archive.entries],
        "analysis": analysis_hash(),
    }


def _measured_neutral(gains: Mapping[str, PerTask], seed: int) -> dict[str, ArchiveBounds] | None:
    if NEUTRAL not in gains:
        return None
    hoeffding, betting = neutral_certificate(gains[RELEASED], gains[NEUTRAL], alpha=ALPHA, seed=seed)
    return {"hoeffding": hoeffding, "betting": betting}


def _composition(benchmark: Benchmark[Any], variants: Sequence[Variant], tasks: Sequence[str]) -> Composition | None:
    """Whether archived counterfactuals compose to `B_0`, where it is known."""
    if benchmark.neutral is None:
        return None
    archived = {v.name: v.transformation for v in variants if v.name not in (RELEASED, NEUTRAL)}
    return fewest_that_make(benchmark.variant(benchmark.neutral), archived, benchmark.subject, tasks)


def _elsewhere(means: Means) -> dict[str, Estimate]:
    own, initial = means["H*", RELEASED], means["H0", RELEASED]
    scores = {"H0": estimate(initial, SCORES), "H*": estimate(own, SCORES)}
    return {**scores, "gain": estimate(gain(own, initial), GAINS)}


def failed_checks(archive: Archive, kit: ProtocolKit, tasks: Sequence[str]) -> dict[str, list[str]]:
    """Archived counterfactuals that are not valid on tasks → each check that fails, and where."""
    records = {entry.name: kit.run_checks(kit.parse(entry.transformation), tasks) for entry in archive.entries}
    return {
        name: [f"{verdict.check}: {verdict.evidence}" for verdict in record.verdicts if not verdict.passed]
        for name, record in records.items()
        if not record.valid
    }
