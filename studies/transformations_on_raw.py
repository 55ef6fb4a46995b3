"""What transformations do to RawHarness with the simulated reader: three rollouts on all tasks of three benchmarks.

`python -m studies.transformations_on_raw` scores H_0 under the released benchmark, the neutralisations and
Challenger-style transformations, each checked by the firewall first. The default benchmark is not touched. Resumable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from chase.benchmarks.syn_ledger.features import PAPER_FEATURES
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.benchmarks.syn_ledger.operators import ASPECTS
from chase.protocol.firewall import run_checks
from chase.protocol.transformation import OperatorList
from chase.stats.bounded import GAINS, SCORES
from chase.stats.estimates import difference, estimate, mean
from chase.testing.ledger import parse_ledger
from studies.reader_scores import benchmark_of, per_task_scores, write
from studies.running import Row, rows_of

NAMES = tuple(f"syn-ledger@{seed}" for seed in (811, 812, 813))
ROLLOUTS = 3
SEED = 7
"""What seeded operators draw from."""
CONSTRUCTIONS = ("released", "neutral", *(f"neutralise-{feature}" for feature in PAPER_FEATURES))
Operators = Sequence[Mapping[str, Any]]


def _on(verb: str, *aspects: str) -> Operators:
    return [{"name": verb, "arguments": {"aspect": aspect}} for aspect in aspects]


def _one(name: str, **arguments: Any) -> Operators:
    return [{"name": name, "arguments": arguments}]


SINGLE: Mapping[str, Operators] = {
    **{f"{verb} {aspect}": _on(verb, aspect) for verb in ("reverse", "permute") for aspect in (*ASPECTS, "records")},
    **{f"equalise {aspect}": _on("equalise", aspect) for aspect in ASPECTS},
    "shift records by 3": _one("shift", by=3),
    **{f"re-encode as {form}": _one("re-encode", format=form) for form in ("markdown", "csv", "key-value")},
    **{f"re-layout at depth {depth}": _one("re-layout", depth=depth) for depth in (0, 2)},
    "re-order rank by path": _one("re-order", order="rank", by="path"),
    "re-order rank by seed": _one("re-order", order="rank", by="seed"),
    "re-order listing by seed": _one("re-order", order="listing", by="seed"),
}
COMPOSED: Mapping[str, Operators] = {
    "reverse name, depth, format": _on("reverse", "name", "depth", "format"),
    "reverse rank, shift records by 3": [*_on("reverse", "rank"), *_one("shift", by=3)],
    "reverse name, depth, rank, format, shift records by 3": [
        *_on("reverse", "name", "depth", "rank", "format"),
        *_one("shift", by=3),
    ],
    "reverse every aspect and the records": _on("reverse", *ASPECTS, "records"),
    "permute every aspect and the records": _on("permute", *ASPECTS, "records"),
    "equalise every aspect, permute the records": [*_on("equalise", *ASPECTS), *_on("permute", "records")],
}


def _valid(operators: Operators) -> OperatorList[Manifest]:
    """The transformation, if the firewall lets it pass on the first benchmark."""
    proposal = parse_ledger({"benchmark": "syn-ledger", "operators": list(operators), "seed": SEED})
    subject = benchmark_of(NAMES[0]).subject
    record = run_checks(proposal.lifted(subject), subject)
    if not record.valid:
        raise SystemExit(f"{proposal.transformation.describe()} failed {', '.join(record.failed)}")
    return proposal.transformation


def measured(case: Mapping[str, Any]) -> list[Row]:
    """H_0 under one variant: its hash, and each benchmark's scores task by task."""
    name, proposed = case["variant"], {**SINGLE, **COMPOSED}
    transformation = _valid(proposed[name]) if name in proposed else benchmark_of(NAMES[0]).variant(name)
    # A construction is bound to its benchmark: it goes by name.
    variant = transformation if name in proposed else name
    scores = {n: per_task_scores(n, variant, {}, rollouts=ROLLOUTS, split=None) for n in NAMES}
    return [{"variant": name, "hash": transformation.hash, "scores": scores}]


def _exact(scores: Mapping[str, Sequence[float]]) -> dict[str, dict[str, Fraction]]:
    """Benchmark → task → mean score, exactly."""
    return {
        name: {
            task: Fraction(round(ROLLOUTS * score), ROLLOUTS)
            for task, score in zip(benchmark_of(name).tasks(), of_benchmark, strict=True)
        }
        for name, of_benchmark in scores.items()
    }


def _all_tasks(scores: Mapping[str, Mapping[str, Fraction]]) -> dict[str, Fraction]:
    return {f"{name}/{task}": score for name, means in scores.items() for task, score in means.items()}


def _row(scores: dict[str, dict[str, Fraction]], released: dict[str, dict[str, Fraction]]) -> dict[str, Any]:
    return {
        "score": asdict(estimate(_all_tasks(scores), SCORES)),
        "difference": asdict(estimate(difference(_all_tasks(scores), _all_tasks(released)), GAINS)),
        "score_by_benchmark": {name: float(mean(means)) for name, means in scores.items()},
    }


def _kind(name: str) -> str:
    return "composed" if name in COMPOSED else "single" if name in SINGLE else "construction"


def main() -> None:
    names = (*CONSTRUCTIONS, *SINGLE, *COMPOSED)
    cases = [{"variant": name, "benchmarks": NAMES, "rollouts": ROLLOUTS, "seed": SEED} for name in names]
    found = {row["variant"]: row for row in rows_of("transformations_on_raw", cases, measured)}
    released = _exact(found["released"]["scores"])
    rows = {
        name: {"kind": _kind(name), "hash": row["hash"], **_row(_exact(row["scores"]), released)}
        for name, row in found.items()
    }
    write(
        "transformations_on_raw",
        {
            "command": "python -m studies.transformations_on_raw",
            "model": "sim:reader (simulated reader)",
            "harness": "RawHarness (H_0)",
            "benchmarks": NAMES,
            "split": "all tasks",
            "tasks": len(_all_tasks(released)),
            "rollouts": ROLLOUTS,
            "run_seed": 0,
            "transformation_seed": SEED,
            "difference": "to released, task by task; se over tasks",
            "variants": rows,
        },
    )


if __name__ == "__main__":
    main()
