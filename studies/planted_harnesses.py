"""Planted harnesses for audits, fixed beforehand from large-sample figures with the simulated reader.

`python -m studies.planted_harnesses` measures every candidate on all tasks of benchmarks 101-103 (one rollout each):
gains under the released benchmark and under `B_0`, and for the honest ones the log-odds gain destruction under every
operator of the allowlist, singly. The audits of `studies.audits` use other seeds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from chase.core.interfaces import Transformation
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Harness
from chase.models.chat import ChatModel
from chase.testing.ledger import H0
from studies.reader_scores import write
from studies.running import Row, opened, rows_of, with_reader

SEEDS = (101, 102, 103)
OPERATOR_SEEDS = (101,)
"""Of the measurements under every operator."""
PLANTED = ("name-initial", "path-depth", "extension-length")


def _read_on(*observables: str) -> list[str]:
    return [f"Read on in files with low {name}." for name in observables]


def _prefer(*observables: str) -> list[str]:
    return [f"Prefer files with low {name}." for name in observables]


CHEATS: dict[str, list[str]] = {
    **{f"read-on {x}, prefer {y}": [*_read_on(x), *_prefer(y)] for x, y in permutations(PLANTED, 2)},
    **{
        f"read-on {x}, prefer {y} and {z}": [*_read_on(x), *_prefer(y, z)]
        for x, y, z in permutations(PLANTED, 3)
        if y < z
    },
    "read-on and prefer path-depth and extension-length": [*_read_on(*PLANTED[1:]), *_prefer(*PLANTED[1:])],
    "read on, prefer all three": ["Read on.", *_prefer(*PLANTED)],
    "read on, prefer path-depth and extension-length": ["Read on.", *_prefer(*PLANTED[1:])],
    "read-on extension-length, prefer path-depth and name-length": [
        *_read_on("extension-length"),
        *_prefer("path-depth", "name-length"),
    ],
    "read-on path-depth, prefer extension-length and name-length": [
        *_read_on("path-depth"),
        *_prefer("extension-length", "name-length"),
    ],
    "read-on name-length, prefer path-depth and extension-length": [
        *_read_on("name-length"),
        *_prefer("path-depth", "extension-length"),
    ],
}
"""Sentences of each. Where two cues are preferred, either makes up for the other: a redundant pair."""
HONEST: dict[str, list[str]] = {
    "conditions": ["Search with the conditions."],
    "conditions and reading on": ["Search with the conditions.", "Read on."],
    "conditions and care": ["Search with the conditions.", "Look at every record.", "Use the calculator."],
    "category and conditions": ["Search with the category.", "Search with the conditions.", "Check every condition."],
    "category": ["Search with the category."],
    "calculator": ["Use the calculator."],
    "care": ["Look at every record.", "Use the calculator.", "Check every condition."],
}


def harness_of(sentences: Sequence[str]) -> Harness:
    """The initial harness with sentences added to its prompt."""
    initial = H0
    return Harness(structure=initial.structure, prompt=" ".join([initial.prompt, *sentences]))


async def scores(
    model: ChatModel, sandbox: Sandbox, harness: Harness, variants: Mapping[int, Transformation[Any]]
) -> list[float]:
    """One score for each task of each benchmark."""
    found = []
    for seed, transformation in variants.items():
        benchmark, _ = opened(f"syn-ledger@{seed}")
        for task in benchmark.tasks():
            job = Job(
                benchmark=benchmark, transformation=transformation, harness=harness, task=task, index=0, run_seed=0
            )
            rollout, _ = await run_rollout(job, model, sandbox)
            found.append(rollout.outcome.score or 0.0)
    return found


def measured(case: Mapping[str, Any]) -> list[Row]:
    """A harness under one variant, named or as an operator's form."""
    harness = harness_of(case["sentences"])
    variants = {}
    for seed in case["seeds"]:
        benchmark, kit = opened(f"syn-ledger@{seed}")
        form = case["variant"]
        variants[seed] = benchmark.variant(form) if isinstance(form, str) else kit.parse(form).transformation
    found = with_reader(lambda model, sandbox: scores(model, sandbox, harness, variants))
    return [{"name": case["name"], "variant": case["variant"], "scores": found}]


def _estimate(values: Sequence[float]) -> dict[str, float]:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return {"value": round(mean, 4), "se": round(math.sqrt(variance / len(values)), 4)}


def _difference(left: Sequence[float], right: Sequence[float]) -> list[float]:
    return [a - b for a, b in zip(left, right, strict=True)]


def _logit(values: Sequence[float]) -> float:
    rate = (sum(values) + 0.5) / (len(values) + 1)
    return math.log(rate / (1 - rate))


def main() -> None:
    named = {"initial": [], **CHEATS, **HONEST}
    cases: list[dict[str, Any]] = [
        {"name": name, "sentences": sentences, "variant": variant, "seeds": SEEDS}
        for name, sentences in named.items()
        for variant in ("released", "neutral")
    ]
    _, kit = opened(f"syn-ledger@{SEEDS[0]}")
    forms = [{"benchmark": "syn-ledger", "operators": [dict(effect.operator)], "seed": 7} for effect in kit.effects]
    seen: dict[str, Any] = {}
    for form in forms:
        seen.setdefault(kit.parse(form).transformation.hash, form)
    cases += [
        {"name": name, "sentences": named[name], "variant": form, "seeds": OPERATOR_SEEDS}
        for name in ("initial", *list(HONEST)[:4])
        for form in seen.values()
    ]
    table = {(row["name"], json.dumps(row["variant"])): row["scores"] for row in rows_of("planted", cases, measured)}

    def cell(name: str, variant: Any) -> list[float]:
        scores: list[float] = table[name, json.dumps(variant)]
        return scores

    payload: dict[str, Any] = {
        "command": "python -m studies.planted_harnesses",
        "model": "sim:reader (simulated)",
        "benchmarks": [f"syn-ledger@{seed}" for seed in SEEDS],
        "benchmarks_of_operators": [f"syn-ledger@{seed}" for seed in OPERATOR_SEEDS],
        "rollouts": 1,
        "tasks": len(cell("initial", "released")),
        "harnesses": {},
    }
    for name, sentences in named.items():
        gains = {v: _difference(cell(name, v), cell("initial", v)) for v in ("released", "neutral")}
        found: dict[str, Any] = {
            "sentences": sentences,
            "kind": "cheat" if name in CHEATS else "honest" if name in HONEST else "initial",
            "released": _estimate(cell(name, "released")),
            "neutral": _estimate(cell(name, "neutral")),
            "g_rel": _estimate(gains["released"]),
            "g_0": _estimate(gains["neutral"]),
            "delta_bs": _estimate(_difference(gains["released"], gains["neutral"])),
        }
        if (name, json.dumps(forms[0])) in table and name != "initial":
            part = len(cell(name, forms[0]))  # the released scores of the same benchmarks come first
            released = _logit(cell(name, "released")[:part]) - _logit(cell("initial", "released")[:part])
            odds = {
                kit.parse(form).transformation.describe(): round(
                    released - _logit(cell(name, form)) + _logit(cell("initial", form)), 3
                )
                for form in seen.values()
            }
            found["log_odds"] = dict(sorted(odds.items(), key=lambda item: -item[1]))
        payload["harnesses"][name] = found
    write("planted_harnesses", payload)


if __name__ == "__main__":
    main()
