"""`chase evolve`: evolve a harness, under counterfactual constraints or without."""

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
from chase.cli.settings import load_config
from chase.methods.registry import BUILT_IN, DEFAULT_METHOD

DEFAULTS: dict[str, Any] = {
    "benchmark": "syn-ledger",
    "model": None,
    "method": DEFAULT_METHOD,
    "harness": None,
    "rounds": None,
    "epsilon": None,
    "eta": None,
    "prior": "even",
    "edit_space": "all",
    "proposals": None,
    "rollouts": None,
    "proposer": None,
    "proposer_model": None,
    "command": None,
    "no_certify": False,
    "options": None,
    **SHARED_DEFAULTS,
}
"""None: the benchmark's own, or the method's."""


def evolve(
    context: typer.Context,
    benchmark: BenchmarkName = None,
    model: ModelName = None,
    method: Annotated[
        str | None,
        typer.Option("--method", help=f"{', '.join(BUILT_IN)}, or one that is installed; default: {DEFAULT_METHOD}."),
    ] = None,
    options: Annotated[
        list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="An option of the method; repeatable.")
    ] = None,
    harness: Annotated[
        Path | None, typer.Option("--harness", metavar="DIR", help="The initial harness; default: H_0.")
    ] = None,
    rounds: Annotated[int | None, typer.Option("--rounds", metavar="T", help="Rounds, 1 to 20.")] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="E", help="Most gain destruction of a selected harness.")
    ] = None,
    eta: Annotated[
        str | None, typer.Option("--eta", metavar="E", help="Least gain destruction that confirms a counterfactual.")
    ] = None,
    seed: Seed = None,
    prior: Annotated[
        str | None, typer.Option("--prior", help="The Proposer's prior over edits: even, procedural.")
    ] = None,
    edit_space: Annotated[str | None, typer.Option("--edit-space", help="What may be edited: all, documents.")] = None,
    proposals: Annotated[
        int | None, typer.Option("--proposals", metavar="N", help="Transformations that the Challenger writes a round.")
    ] = None,
    rollouts: Annotated[
        str | None, typer.Option("--rollouts", metavar="COUNTS", help="Of a task by role, e.g. evo=2,conf=5,cert=3")
    ] = None,
    proposer: Annotated[
        str | None, typer.Option("--proposer", metavar="KIND", help="mining (default), llm or coding-agent.")
    ] = None,
    proposer_model: Annotated[
        str | None, typer.Option("--proposer-model", metavar="M", help="A language model as Proposer.")
    ] = None,
    command: Annotated[
        str | None, typer.Option("--command", metavar="COMMAND", help="A coding agent as Proposer.")
    ] = None,
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
    no_reduce: NoReduce = None,
    no_diff: NoDiff = None,
    no_certify: Annotated[bool | None, typer.Option("--no-certify", help="Leave the certification set sealed.")] = None,
    reopen: Annotated[
        str | None, typer.Option("--reopen", metavar="REASON", help="Why a set that was opened is opened again.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume", metavar="RUN", help="Go on with an unfinished run: its id, the beginning of it, or latest."
        ),
    ] = None,
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
    """Evolve a harness: propose, select under the archive's constraints, challenge, confirm; at the end certify once.

    What happens is told on stderr; H*, the archive and the certification are on stdout and in .chase/runs/RUN/.
    `--resume RUN` alone takes the settings from the run; settings that are given must be the run's. A run that reaches
    its budget ends with 4 and goes on with `--resume RUN` and a higher one.

    JSON: `run, config, final {name, hash, changes}, rounds[], archive[], certification {scores, gains, destruction,
    gamma, g_min, excess_search_gain, …} or null, executed, reused, spent, tokens {optimisation, certification},
    wall_seconds, rollout_seconds, warnings`; with --dry-run `per_rollout, rollouts[], agents[], total`
    (chase.forecast/1).
    """
    flags = flags_of(context, [*DEFAULTS, "preset"])
    file = load_config(config, frozenset(DEFAULTS) | {"preset"})
    # Models and engine take a second to import: only who runs them waits for them.
    from chase.cli.evolution import Wishes, evolve_harness

    wishes = Wishes(resume=resume, reopen=reopen, workspace=workspace, as_json=as_json, dry_run=dry_run)
    evolve_harness(flags, file, wishes)
