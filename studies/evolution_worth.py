"""What harnesses that evolved are worth on certification tasks, and whether archived counterfactuals hold elsewhere.

Rollouts are run without a store and each is kept: harnesses that several rows share, and `H_0`, are run once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger, SynLedgerSpec, open_syn_ledger
from chase.benchmarks.syn_ledger.operators import ASPECTS
from chase.core.interfaces import Transformation
from chase.core.values import Json
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.diff import Change, diff_harnesses
from chase.harness.spec import Harness
from chase.methods.arena import Contender
from chase.methods.evolution import EvolutionOutcome
from chase.models.chat import ChatModel
from chase.protocol.kit import ProtocolKit
from chase.testing.ledger import H0
from studies.running import Row

DRAWS = 3
"""Fresh random protocols for each benchmark."""
OTHER_SEEDS = range(691, 695)
"""Benchmarks on which archived counterfactuals are tried again."""
CUES: Mapping[str, tuple[str, ...]] = {
    "filename": ("name-length", "name-initial"),
    "depth": ("path-depth",),
    "rank": ("hit-position",),
    "position": (),
    "serialization": ("extension-length", "bar-count", "line-count", "text-size"),
    "digits": ("name-digits",),
    "folder": ("folder-initial",),
    "preamble": ("preamble-lines",),
    "title": ("title-length",),
    "casing": ("capital-words",),
}
"""Planted feature → the observables that show it. Known to the studies, to no agent."""
Means = Mapping[str, Mapping[str, float]]
"""Harness, by its hash → variant → mean score."""

Kept = tuple[str, str, str, str, int]
"""What names a rollout: benchmark, harness, variant, task, run seed."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where rollouts are run, and what they scored so far."""

    model: ChatModel
    sandbox: Sandbox
    kept: dict[Kept, float]

    async def score(
        self, benchmark: SynLedger, harness: Harness, variant: Transformation[Any], task: str, run_seed: int
    ) -> float:
        key = benchmark.name, harness.hash, variant.hash, task, run_seed
        if key not in self.kept:
            job = Job(
                benchmark=benchmark, transformation=variant, harness=harness, task=task, index=0, run_seed=run_seed
            )
            rollout, _ = await run_rollout(job, self.model, self.sandbox)
            self.kept[key] = rollout.outcome.score or 0.0
        return self.kept[key]


def random_protocol(kit: ProtocolKit, seed: int) -> Transformation[Any]:
    """Every aspect and the records of each document permuted: what somebody else's files might look like."""
    operators = [{"name": "permute", "arguments": {"aspect": aspect}} for aspect in (*ASPECTS, "records")]
    return kit.parse({"benchmark": kit.benchmark.base, "operators": operators, "seed": seed}).transformation


def variants_of(benchmark: SynLedger, kit: ProtocolKit) -> dict[str, Transformation[Any]]:
    """What `H*` is measured under: released, `B_0`, each planted feature neutralised, and random protocols."""
    named = ("released", "neutral", *(f"neutralise-{feature}" for feature in benchmark.planted))
    drawn = {f"random-{draw}": random_protocol(kit, 1000 * benchmark.spec.seed + draw) for draw in range(1, DRAWS + 1)}
    return {**{name: benchmark.variant(name) for name in named}, **drawn}


async def certification_means(
    bench: Bench,
    benchmark: SynLedger,
    harnesses: Iterable[Harness],
    seed: int,
    variants: Mapping[str, Transformation[Any]],
) -> Means:
    """Each harness under each variant on the certification tasks, one rollout of each task.

    The harnesses take turns on a task, so that its files are made once.
    """
    distinct = {harness.hash: harness for harness in harnesses}
    tasks = benchmark.tasks("cert")
    found: dict[str, dict[str, float]] = {name: {} for name in distinct}
    for variant, transformation in variants.items():
        totals = dict.fromkeys(distinct, 0.0)
        for task in tasks:
            for name, harness in distinct.items():
                totals[name] += await bench.score(benchmark, harness, transformation, task, seed)
        for name, total in totals.items():
            found[name][variant] = total / len(tasks)
    return found


def worth(final: Contender, means: Means, planted: Sequence[str]) -> Row:
    """`H*` against `H_0`: scores, gains, and how much of the released gain each planted feature carries."""
    mine, initial = means[final.harness.hash], means[H0.hash]
    gains = {variant: mine[variant] - initial[variant] for variant in mine}
    carried = {feature: gains["released"] - gains[f"neutralise-{feature}"] for feature in planted}
    named = named_features(named_observables(final), planted)
    random = [gains[f"random-{draw}"] for draw in range(1, DRAWS + 1)]
    return {
        "r_rel": mine["released"],
        "r_0": mine["neutral"],
        "g_rel": gains["released"],
        "g_0": gains["neutral"],
        "delta_bs": gains["released"] - gains["neutral"],
        "g_random": sum(random) / len(random),
        "shortcut_kept": shortcut_kept(carried, named),
        "largest_destruction": max(carried.values()),
        "destruction": carried,
        "named": named,
        "cue": bool(named),
        "initial": final.harness.hash == H0.hash,
    }


def shortcut_kept(carried: Mapping[str, float], named: Sequence[str]) -> float:
    """The largest `Δ` under neutralising a planted feature that an edit of `H*` names; 0 if none names one."""
    return max((carried[feature] for feature in named), default=0.0)


def named_features(observables: Iterable[str], planted: Sequence[str]) -> list[str]:
    """The planted features that observables show."""
    return [feature for feature in planted if set(CUES[feature]) & set(observables)]


def named_observables(final: Contender) -> set[str]:
    """The observables that a harness's edits name, by its record or by its difference from `H_0`.

    A repaired harness has no edits in its record, and one that was built on it may have the later ones only.
    """
    edits: Any = final.record.get("edits", [])
    known = {name for names in CUES.values() for name in names}
    added = " ".join(_added(change) for change in diff_harnesses(H0, final.harness).changes)
    said = {name for name in known if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", added)}
    return said | {edit["observable"] for edit in edits if edit.get("observable")}


def _added(change: Change) -> str:
    """What a change brings in, as text."""
    return " ".join([str(change.new), *(line[1:] for line in change.lines if line.startswith("+"))])


async def entries_elsewhere(bench: Bench, evolved: EvolutionOutcome, planted: tuple[str, ...]) -> list[Row]:
    """Every archived counterfactual on other benchmarks that plant the same, for the pair that it was confirmed for."""
    found = entries_of(evolved)
    for entry, row in zip(evolved.archive.entries, found, strict=True):
        harness, operators = evolved.harnesses[entry.round].harness, entry.transformation["operators"]
        aspects = sorted({o["arguments"].get("aspect", "") for o in operators} - {"", "records"})
        row["elsewhere"] = await destruction_elsewhere(bench, planted, harness, operators)
        row["leans"] = {
            aspect: await destruction_elsewhere(
                bench, planted, harness, [{"name": "equalise", "arguments": {"aspect": aspect}, "seed": 7}]
            )
            for aspect in aspects
        }
    return found


def entries_of(evolved: EvolutionOutcome) -> list[Row]:
    """What the archive holds."""
    return [
        {
            "operators": len(entry.transformation["operators"]),
            "what": [_words(operator) for operator in entry.transformation["operators"]],
            "confirmation": entry.confirmation["value"],
        }
        for entry in evolved.archive.entries
    ]


def _words(operator: Json) -> str:
    return f"{operator['name']} {' '.join(map(str, operator['arguments'].values()))}"


async def destruction_elsewhere(
    bench: Bench, planted: tuple[str, ...], harness: Harness, operators: Sequence[Any]
) -> float:
    """`Δ_b` over the evolution tasks of the other benchmarks."""
    total, count = 0.0, 0
    for seed in OTHER_SEEDS:
        benchmark, kit = _other(seed, planted)
        form = {"benchmark": benchmark.base, "operators": [dict(operator) for operator in operators]}
        sides = (benchmark.variant("released"), 1), (kit.parse(form).transformation, -1)
        for task in benchmark.tasks("evo"):
            count += 1
            for variant, side in sides:
                for which, sign in ((harness, 1), (H0, -1)):
                    total += sign * side * await bench.score(benchmark, which, variant, task, 0)
    return total / count


@lru_cache(maxsize=2 * len(OTHER_SEEDS))
def _other(seed: int, planted: tuple[str, ...]) -> tuple[SynLedger, ProtocolKit]:
    benchmark = open_syn_ledger(SynLedgerSpec(seed=seed, planted=planted).name)
    return benchmark, ProtocolKit(benchmark)
