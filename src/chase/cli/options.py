"""Options that several commands have, written once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

BenchmarkName = Annotated[str | None, typer.Option("--benchmark", metavar="B", help="e.g. syn-ledger@7")]
ModelName = Annotated[str | None, typer.Option("--model", metavar="M", help="e.g. sim:reader, openai:gpt-5")]
Seed = Annotated[int | None, typer.Option("--seed", help="The run's seed.")]
Concurrency = Annotated[int | None, typer.Option("--concurrency", metavar="N", help="Rollouts at a time.")]
Patience = Annotated[
    float | None,
    typer.Option("--patience", metavar="SECONDS", help="How long an outage of the model is waited out; 0: not at all."),
]
BudgetUsd = Annotated[
    float | None, typer.Option("--budget-usd", metavar="USD", help="Most that the run may cost, in all its parts.")
]
BudgetTokens = Annotated[
    int | None, typer.Option("--budget-tokens", metavar="N", help="Most tokens of the run, cached input included.")
]
PriceOf = Annotated[
    str | None,
    typer.Option("--price", metavar="IN,CACHED,OUT", help="USD for a million tokens of --model, where not known."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would take at most; run and write nothing.")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="Address of an openai-compatible model.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A TOML file; flags win.")]
WorkspaceFolder = Annotated[Path | None, typer.Option("--workspace", metavar="DIR", help="Holds .chase/.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
NoReduce = Annotated[bool | None, typer.Option("--no-reduce", help="Freeze a composition whole, as the paper does.")]
NoDiff = Annotated[bool | None, typer.Option("--no-diff", help="The Challenger looks at behaviour alone.")]
Challenger = Annotated[
    str | None, typer.Option("--challenger", metavar="KIND", help="mining (default), llm or coding-agent.")
]
ChallengerModel = Annotated[
    str | None, typer.Option("--challenger-model", metavar="M", help="A language model as Challenger.")
]
ChallengerCommand = Annotated[
    str | None, typer.Option("--challenger-command", metavar="COMMAND", help="A coding agent as Challenger.")
]
HistoryTokens = Annotated[
    int | None, typer.Option("--history-tokens", metavar="N", help="Most that an agent reads of the history a round.")
]
SplitSizes = Annotated[
    str | None, typer.Option("--split-sizes", metavar="SIZES", help="Fewer tasks by role, e.g. evo=8,conf=8,cert=16")
]
Preset = Annotated[str | None, typer.Option("--preset", help="pilot: small sizes, for a first try with a key.")]
AllowNetwork = Annotated[
    bool | None, typer.Option("--allow-network", help="A coding agent may use the network: a hosted one must.")
]
Unconfined = Annotated[
    bool | None, typer.Option("--unconfined", help="Run a coding agent without bubblewrap. It sees all that you see.")
]
PassEnv = Annotated[
    str | None, typer.Option("--pass-env", metavar="NAMES", help="Environment variables that a coding agent gets.")
]
Readable = Annotated[
    str | None, typer.Option("--readable", metavar="PATHS", help="Further paths that a coding agent can read.")
]

SHARED_DEFAULTS: Mapping[str, Any] = {
    "challenger": None,
    "challenger_model": None,
    "challenger_command": None,
    "history_tokens": 200_000,
    "split_sizes": None,
    "allow_network": False,
    "unconfined": False,
    "pass_env": None,
    "readable": None,
    "no_reduce": False,
    "no_diff": False,
    "seed": 0,
    "budget_usd": None,
    "budget_tokens": None,
    "price": None,
    "concurrency": 64,
    "patience": 600.0,
    "base_url": None,
}
"""Of the settings that evolving and auditing share."""


def flags_of(context: typer.Context, names: Iterable[str]) -> dict[str, Any]:
    """What the flags of a command say, by the name of the setting; None where one was not given."""
    given = {name: context.params[name] for name in names}
    return {name: _plain(value) for name, value in given.items()}


def _plain(value: Any) -> Any:
    """A flag that may be given more than once and was not is an empty list there."""
    if isinstance(value, list | tuple):
        return list(value) or None
    return str(value) if isinstance(value, Path) else value
