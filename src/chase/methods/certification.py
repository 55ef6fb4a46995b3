"""Certification: all is fixed and recorded, then `D_cert` is opened once and what is left of the gain measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from chase.agents.history import RELEASED
from chase.core.interfaces import Benchmark
from chase.core.keyed import digest
from chase.core.values import Json
from chase.engine.evaluator import Evaluator, unseal
from chase.engine.runner import Runner
from chase.methods.arena import Contender, StoreArena, Variant, gain_destruction
from chase.methods.evolution import EvolutionOutcome
from chase.protocol.archive import Archive
from chase.protocol.kit import ProtocolKit
from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES
from chase.stats.destruction import archive_summary, destruction, excess_estimate, gain
from chase.stats.estimates import Estimate, estimate
from chase.store.store import Store

OWN = "methods/certification.py"
NEUTRAL = "neutral"
"""The name of `B_0` in a certification, where a benchmark knows it."""


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
) -> CertificationOutcome:
    """Commit, then reveal. A run whose set was opened before for the same hashes goes on without a reason.

    The firewall has seen the sealed tasks of no counterfactual: it examines them first, and one that is not valid there
    is left out.
    """
    hashes = {
        "final": evolved.final.harness.hash,
        "harnesses": [named.harness.hash for named in evolved.harnesses],
        "archive": [entry.digest() for entry in evolved.archive.entries],
        "analysis": analysis_hash(),
    }
    initial, final = evolved.harnesses[0], evolved.final
    opening = unseal(store, run, hashes, reason, room=runner.room(benchmark))
    roles = {"cert": rollouts["cert"], "evo": rollouts["evo"]}
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
    archived = {name: per_task for name, per_task in gains.items() if name != NEUTRAL}
    summary = archive_summary(archived, released=RELEASED)
    evo = await arena.means(pair, variants[:1], "evo")
    search = gain(evo["H*", RELEASED], evo["H0", RELEASED])
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
    )


def failed_checks(archive: Archive, kit: ProtocolKit, tasks: Sequence[str]) -> dict[str, list[str]]:
    """Archived counterfactuals that are not valid on tasks → each check that fails, and where."""
    records = {entry.name: kit.run_checks(kit.parse(entry.transformation), tasks) for entry in archive.entries}
    return {
        name: [f"{verdict.check}: {verdict.evidence}" for verdict in record.verdicts if not verdict.passed]
        for name, record in records.items()
        if not record.valid
    }
