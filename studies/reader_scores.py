"""Scores of harnesses with the simulated reader, without a store: what the studies of the reader share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger, open_syn_ledger
from chase.core.interfaces import Transformation
from chase.engine.rollout import Job, run_rollout
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Harness
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.testing.ledger import H0

RESULTS = Path(__file__).parent / "results"
PUBLISHED = {"released": 0.8189, "neutral": 0.1522}
"""RawHarness in the paper's table of Syn-Ledger results."""


@lru_cache(maxsize=8)
def benchmark_of(name: str) -> SynLedger:
    return open_syn_ledger(name)


def per_task_scores(
    name: str,
    variant: str | Transformation[Any],
    settings: Mapping[str, Any],
    *,
    rollouts: int = 1,
    split: str | None = "cert",
    harness: Harness | None = None,
) -> list[float]:
    """Each task's mean score, in the order of the task ids. The split None is all tasks."""
    return asyncio.run(_scores(name, variant, settings, rollouts, split, harness or H0))


async def _scores(
    name: str,
    variant: str | Transformation[Any],
    settings: Mapping[str, Any],
    rollouts: int,
    split: str | None,
    harness: Harness,
) -> list[float]:
    benchmark = benchmark_of(name)
    transformation = benchmark.variant(variant) if isinstance(variant, str) else variant
    means = []
    async with Sandbox() as sandbox, connect(ModelConfig(name="sim:reader", settings=settings)) as model:
        for task in benchmark.tasks(split):
            total = 0.0
            for index in range(rollouts):
                job = Job(
                    benchmark=benchmark,
                    transformation=transformation,
                    harness=harness,
                    task=task,
                    index=index,
                    run_seed=0,
                )
                rollout, _ = await run_rollout(job, model, sandbox)
                total += rollout.outcome.score or 0.0
            means.append(total / rollouts)
    return means


def mean_scores(names: Sequence[str], settings: Mapping[str, Any], *, rollouts: int = 1) -> dict[str, float]:
    """RawHarness's mean over several benchmarks' certification tasks, under `released` and `neutral`."""
    means = {}
    for variant in ("released", "neutral"):
        scores = [s for name in names for s in per_task_scores(name, variant, settings, rollouts=rollouts)]
        means[variant] = sum(scores) / len(scores)
    return means


def _mean_scores(arguments: tuple[Sequence[str], Mapping[str, Any], int]) -> dict[str, float]:
    names, settings, rollouts = arguments
    return mean_scores(names, settings, rollouts=rollouts)


def many_mean_scores(
    names: Sequence[str], all_settings: Sequence[Mapping[str, Any]], *, rollouts: int = 1
) -> list[dict[str, float]]:
    """`mean_scores` for many settings, on every core."""
    with ProcessPoolExecutor() as pool:
        return list(pool.map(_mean_scores, [(names, settings, rollouts) for settings in all_settings]))


def write(name: str, payload: Mapping[str, Any]) -> None:
    """Commit-ready JSON under `studies/results/`."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(payload, indent=2) + "\n")
