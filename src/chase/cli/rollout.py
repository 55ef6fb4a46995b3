"""`chase rollout`: evaluate one harness on one split under one variant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from chase.cli.options import (
    AsJson,
    BaseUrl,
    BenchmarkName,
    Concurrency,
    ConfigFile,
    ModelName,
    Patience,
    Seed,
    WorkspaceFolder,
)
from chase.cli.settings import load_config, resolve
from chase.cli.variants import HELP

DEFAULTS: dict[str, Any] = {
    "benchmark": "syn-ledger",
    "model": None,
    "harness": None,
    "split": "evo",
    "rollouts": None,
    "variant": "released",
    "seed": 0,
    "concurrency": 64,
    "patience": 600.0,
    "base_url": None,
}


def rollout(
    benchmark: BenchmarkName = None,
    model: ModelName = None,
    harness: Annotated[Path | None, typer.Option("--harness", metavar="DIR", help="A harness folder.")] = None,
    split: Annotated[str | None, typer.Option("--split", help="evo, disc, conf1, conf2, conf3 or cert")] = None,
    rollouts: Annotated[int | None, typer.Option("--rollouts", metavar="N", help="Rollouts for each task.")] = None,
    variant: Annotated[str | None, typer.Option("--variant", metavar="V", help=HELP)] = None,
    seed: Seed = None,
    concurrency: Concurrency = None,
    patience: Patience = None,
    base_url: BaseUrl = None,
    exclude: Annotated[list[str] | None, typer.Option("--exclude-task", metavar="ID", help="Leave a task out.")] = None,
    unseal: Annotated[str | None, typer.Option("--unseal", metavar="REASON", help="Why cert is opened.")] = None,
    config: ConfigFile = None,
    workspace: WorkspaceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Score a harness: the mean within task, then across tasks. What the store has is not run again.

    JSON: `score {value, se, n, low, high, level}, per_task {id: mean}, failures, usage, executed, reused,
    wall_seconds, served_models, warnings`.
    """
    flags = {
        "benchmark": benchmark,
        "model": model,
        "harness": str(harness) if harness else None,
        "split": split,
        "rollouts": rollouts,
        "variant": variant,
        "seed": seed,
        "concurrency": concurrency,
        "patience": patience,
        "base_url": base_url,
    }
    file = load_config(config, frozenset(DEFAULTS))
    settings = resolve(file, flags, DEFAULTS)
    # Models and engine take a second to import: only who runs them waits for them.
    from chase.cli.evaluation import Wishes, evaluate

    evaluate(settings, file, Wishes(exclude=tuple(exclude or ()), unseal=unseal, workspace=workspace, as_json=as_json))
