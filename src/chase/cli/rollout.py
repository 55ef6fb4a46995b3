"""`chase rollout`: evaluate one harness on one split under one variant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

import chase
from chase.cli.options import AsJson, takes
from chase.cli.output import emit, printable
from chase.cli.tokens import judge_lines
from chase.runs.results import RolloutResult
from chase.runs.settings import RolloutSettings


@takes(RolloutSettings)
def rollout(given: Mapping[str, Any], as_json: AsJson = False) -> None:
    """Score a harness: the mean within task, then across tasks. What the store has is not run again.

    JSON: `score {value, se, n, low, high, level}, per_task {id: mean}, failures, usage, executed, reused,
    wall_seconds, served_models, judge {model, verdicts, …} where there is one, hook_failures[{harness, hook, rollouts,
    of, reason, line, detail}], warnings`.
    """
    result = chase.rollout(**given, progress=True)
    if as_json:
        emit(result)
    else:
        _print(result)


def _print(result: RolloutResult) -> None:
    found = result.payload
    score, usage = result.score, result.usage
    typer.echo(
        f"{found['benchmark']} {found['split']} under {found['variant']}, harness {found['harness'][:12]}, "
        f"model {found['model']}, seed {found['seed']}"
    )
    typer.echo(
        f"score {100 * score.value:.2f} % ± {100 * score.se:.2f} (95 %: {100 * score.low:.2f} to "
        f"{100 * score.high:.2f}), n = {score.n} tasks x {found['rollouts']} rollouts"
    )
    cost = "unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    typer.echo(
        f"{found['executed']} rollouts executed, {found['reused']} from the store; {usage.requests} requests, "
        f"{usage.input_tokens} input ({usage.cached_tokens} cached) and {usage.output_tokens} output tokens, "
        f"cost {cost}; {result.wall_seconds:.1f} s"
    )
    for line in judge_lines(found):
        typer.echo(printable(line))
    reasons = ", ".join(f"{reason} {count}" for reason, count in found["failures"].items()) or "none"
    typer.echo(f"rollouts without an answer: {reasons}")
    if found["excluded"]:
        typer.echo(f"excluded: {', '.join(found['excluded'])}")
    for warning in result.warnings:
        typer.echo(printable(f"note: {warning}"))
