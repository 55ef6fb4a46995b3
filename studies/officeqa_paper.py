"""The paper's two transformations against the paper's `H_1`, on a sample of OfficeQA with the embedded model `lexical`.

`python -m studies.officeqa_paper --data DIR` rolls out `H_0` and `H_1` (`configs/officeqa-harnesses/`) on every
question of OfficeQA Full as released, under `Φ_b1` and under the ten-line shift of passages, and writes released gain,
gain under each and gain destruction with intervals over questions to `results/officeqa_paper.json`. `--harness` names
others of the folder instead. Each transformation passes the firewall first. Resumable; other code, data or harnesses
start anew.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from chase.benchmarks.officeqa.releases import MANIFEST
from chase.benchmarks.registry import open_benchmark
from chase.core.errors import RolloutError
from chase.core.interfaces import Benchmark, Transformation
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness, load_harness
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import Harness
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.protocol.firewall import run_checks
from chase.protocol.proposal import parse_for
from chase.stats.bounded import DESTRUCTIONS, GAINS, SCORES
from chase.stats.destruction import destruction, gain
from chase.stats.estimates import PerTask, estimate, within_task_means
from studies.reader_scores import write
from studies.running import Row, rows_of

NAME = "officeqa_paper"
MODEL = "lexical"
HARNESSES = Path(__file__).parents[1] / "configs" / "officeqa-harnesses"
ROLES = ("evo", "disc", "conf1", "conf2", "conf3", "cert")
"""All of OfficeQA Full. Pro V2 is another corpus."""
INITIAL, RELEASED = "H0", "released"
TRANSFORMATIONS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    RELEASED: (),
    "b1": ({"name": "wrap-text", "arguments": {}},),
    "ten-line shift": ({"name": "shift-passages", "arguments": {"by": 10}},),
}
"""As the paper's round 1 evaluates them."""
PARTS = 12
"""Pieces that the questions are cut into: what an interruption can lose."""
Means = Mapping[tuple[str, str], PerTask]
"""(harness, variant) → each question's score."""


@lru_cache(maxsize=1)
def sample(data: str) -> Benchmark[Any]:
    return open_benchmark("officeqa", Path(data))


def tasks_of(benchmark: Benchmark[Any], roles: Sequence[str]) -> list[str]:
    return [task for role in roles for task in benchmark.tasks(role)]


def harness_of(name: str, benchmark: Benchmark[Any]) -> Harness:
    harness = initial_harness(benchmark) if name == INITIAL else load_harness(HARNESSES / name)
    check_for_benchmark(harness, benchmark, where=name)
    return harness


def transformation_of(name: str, benchmark: Benchmark[Any]) -> Transformation[Any]:
    form = {"benchmark": benchmark.base, "operators": list(TRANSFORMATIONS[name])}
    return parse_for(benchmark, form).transformation


def check(benchmark: Benchmark[Any]) -> None:
    """Every transformation passes the firewall, and its index is built before several processes want it."""
    for name, operators in TRANSFORMATIONS.items():
        proposal = parse_for(benchmark, {"benchmark": benchmark.base, "operators": list(operators)})
        record = run_checks(proposal.lifted(benchmark.subject), benchmark.subject) if operators else None
        if record is not None and not record.valid:
            raise SystemExit(f"{name} failed {', '.join(record.failed)}")
        benchmark.environment(tasks_of(benchmark, ROLES)[0], proposal.transformation)


def measured(case: Mapping[str, Any]) -> list[Row]:
    """One harness under one variant on one piece of the questions."""
    return asyncio.run(_measured(case))


async def _measured(case: Mapping[str, Any]) -> list[Row]:
    benchmark = sample(case["data"])
    harness = harness_of(case["harness"], benchmark)
    transformation = transformation_of(case["variant"], benchmark)
    rows = []
    async with Sandbox() as sandbox, connect(ModelConfig(name=MODEL)) as model:
        for task in tasks_of(benchmark, case["roles"])[case["part"] :: case["parts"]]:
            job = Job(
                benchmark=benchmark, transformation=transformation, harness=harness, task=task, index=0, run_seed=0
            )
            rollout, _ = await run_rollout(job, model, sandbox)
            if rollout.outcome.score is None:
                raise RolloutError(f"task={task}: {rollout.outcome.reason}. Run the same command again.")
            told = {"harness": case["harness"], "variant": case["variant"], "task": task}
            rows.append({**told, "score": rollout.outcome.score, "reason": rollout.outcome.reason})
    return rows


def means_of(rows: Sequence[Row]) -> Means:
    """The scores by harness and variant, exactly."""
    cells: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        cells.setdefault((row["harness"], row["variant"]), {})[row["task"]] = [row["score"]]
    return {cell: within_task_means(scores) for cell, scores in cells.items()}


def figures(means: Means, harness: str) -> dict[str, Any]:
    """A harness's gain over `H_0` as released and under each transformation, and how much of it is destroyed."""
    gains = {name: gain(means[harness, name], means[INITIAL, name]) for name in TRANSFORMATIONS}
    return {
        name: {
            "score": asdict(estimate(means[harness, name], SCORES)),
            "initial_score": asdict(estimate(means[INITIAL, name], SCORES)),
            "gain": asdict(estimate(per_task, GAINS)),
            **_destruction(gains[RELEASED], per_task, name),
        }
        for name, per_task in gains.items()
    }


def _destruction(released: PerTask, counterfactual: PerTask, name: str) -> dict[str, Any]:
    if name == RELEASED:
        return {}
    return {"gain_destruction": asdict(estimate(destruction(released, counterfactual), DESTRUCTIONS))}


def cases_of(data: Path, harnesses: Sequence[str], benchmark: Benchmark[Any]) -> list[dict[str, Any]]:
    hashes = {name: harness_of(name, benchmark).hash for name in (INITIAL, *harnesses)}
    return [
        {"data": str(data.resolve()), "content": benchmark.content_hash, "hash": hashes[name], "roles": ROLES}
        | {"harness": name, "variant": variant, "part": part, "parts": PARTS}
        for name, variant, part in product(hashes, TRANSFORMATIONS, range(PARTS))
    ]


def _manifest(data: Path) -> Any:
    """What a synthetic sample says of itself; None for the published data."""
    file = data / MANIFEST
    return json.loads(file.read_text()) if file.exists() else None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.officeqa_paper", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder of `chase officeqa sample`")
    parser.add_argument("--harness", action="append", help="a folder of configs/officeqa-harnesses (default: h1)")
    asked = parser.parse_args(arguments)
    names, benchmark = asked.harness or ["h1"], sample(str(asked.data.resolve()))
    check(benchmark)
    rows = rows_of(NAME, cases_of(asked.data, names, benchmark), measured)
    means = means_of(rows)
    write(
        NAME,
        {
            "command": "python -m studies.officeqa_paper --data DIR",
            "model": MODEL,
            "benchmark": {"name": benchmark.name, "content_hash": benchmark.content_hash, "roles": ROLES},
            "sample": _manifest(asked.data),
            "tasks": len(tasks_of(benchmark, ROLES)),
            "rollouts": 1,
            "transformations": TRANSFORMATIONS,
            "intervals": "95 %, over questions, each by itself",
            "harnesses": {name: figures(means, name) for name in names},
            "reasons": dict(Counter(f"{row['harness']}, {row['variant']}: {row['reason']}" for row in rows)),
        },
    )


if __name__ == "__main__":
    main()
