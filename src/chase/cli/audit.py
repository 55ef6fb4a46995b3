"""`chase audit`: is a harness's gain real, or a benchmark-wide shortcut?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from chase.cli.options import (
    SHARED_DEFAULTS,
    AllowNetwork,
    AsJson,
    BaseUrl,
    BenchmarkName,
    BudgetTokens,
    BudgetUsd,
    Challenger,
    ChallengerCommand,
    ChallengerModel,
    Concurrency,
    ConfigFile,
    DryRun,
    HistoryTokens,
    ModelName,
    NoDiff,
    NoReduce,
    PassEnv,
    Patience,
    Preset,
    PriceOf,
    Readable,
    Seed,
    SplitSizes,
    Unconfined,
    WorkspaceFolder,
    flags_of,
)
from chase.cli.presets import AUDIT, with_preset
from chase.cli.settings import load_config, resolve

DEFAULTS: dict[str, Any] = {
    "benchmark": "syn-ledger",
    "model": None,
    "baseline": None,
    "harness": None,
    "rounds": 3,
    "proposals": 8,
    "confirm_size": None,
    "rollouts": None,
    "level": 0.95,
    **SHARED_DEFAULTS,
}


def audit(
    context: typer.Context,
    harness: Annotated[Path | None, typer.Option("--harness", metavar="DIR", help="The harness to audit.")] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", metavar="DIR", help="What its gain is over; default: H_0.")
    ] = None,
    benchmark: BenchmarkName = None,
    model: ModelName = None,
    rounds: Annotated[int | None, typer.Option("--rounds", metavar="N", help="Rounds of search.")] = None,
    proposals: Annotated[int | None, typer.Option("--proposals", metavar="N", help="Proposals in a round.")] = None,
    transformations: Annotated[
        list[Path] | None, typer.Option("--transformations", metavar="FILE", help="Test these; do not search.")
    ] = None,
    confirm_size: Annotated[
        int | None, typer.Option("--confirm-size", metavar="N", help="Confirmation tasks; default: all unsealed.")
    ] = None,
    rollouts: Annotated[
        int | None, typer.Option("--rollouts", metavar="N", help="Rollouts of a confirmation task.")
    ] = None,
    level: Annotated[float | None, typer.Option("--level", help="Of all intervals together.")] = None,
    use_cert: Annotated[
        str | None, typer.Option("--use-cert", metavar="REASON", help="Confirm on the sealed tasks too.")
    ] = None,
    no_diff: NoDiff = None,
    no_reduce: NoReduce = None,
    challenger: Challenger = None,
    challenger_model: ChallengerModel = None,
    challenger_command: ChallengerCommand = None,
    history_tokens: HistoryTokens = None,
    split_sizes: SplitSizes = None,
    preset: Preset = None,
    allow_network: AllowNetwork = None,
    unconfined: Unconfined = None,
    pass_env: PassEnv = None,
    readable: Readable = None,
    seed: Seed = None,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    price: PriceOf = None,
    dry_run: DryRun = False,
    concurrency: Concurrency = None,
    patience: Patience = None,
    base_url: BaseUrl = None,
    config: ConfigFile = None,
    workspace: WorkspaceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Search for valid changes of the protocol that destroy a harness's gain, confirm them on fresh tasks, and judge.

    Searches on evo and disc, confirms on all other unsealed tasks. The same command again goes on where it stopped.
    Ends with 5 if the gain is not supported, with 0 for every other verdict, with 4 if its budget is
    reached: then the same command with a higher one goes on.

    JSON: `verdict, reason, tasks_needed, g_rel, gamma, g_min, confirmed[], not_confirmed[], tried[],
    tokens {optimisation, certification}`; with --dry-run `per_rollout, rollouts[], agents[], total` (chase.forecast/1).
    """
    flags = flags_of(context, [*DEFAULTS, "preset"])
    file = load_config(config, frozenset(DEFAULTS) | {"preset"})
    settings = resolve(with_preset(file, AUDIT, preset), flags, DEFAULTS)
    from chase.cli.auditing import Wishes, run_audit

    wishes = Wishes(
        transformations=tuple(transformations or ()),
        use_cert=use_cert,
        workspace=workspace,
        as_json=as_json,
        dry_run=dry_run,
    )
    run_audit(settings, file, wishes)
