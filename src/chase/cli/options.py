"""Options that several commands have, written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

BenchmarkName = Annotated[str | None, typer.Option("--benchmark", metavar="B", help="e.g. syn-ledger@7")]
ModelName = Annotated[str | None, typer.Option("--model", metavar="M", help="e.g. sim:reader, openai:gpt-5")]
Seed = Annotated[int | None, typer.Option("--seed", help="The run's seed.")]
Concurrency = Annotated[int | None, typer.Option("--concurrency", metavar="N", help="Rollouts at a time.")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="Address of an openai-compatible model.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A TOML file; flags win.")]
WorkspaceFolder = Annotated[Path | None, typer.Option("--workspace", metavar="DIR", help="Holds .chase/.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
NoReduce = Annotated[bool | None, typer.Option("--no-reduce", help="Freeze a composition whole, as the paper does.")]
NoDiff = Annotated[bool | None, typer.Option("--no-diff", help="The Challenger looks at behaviour alone.")]
