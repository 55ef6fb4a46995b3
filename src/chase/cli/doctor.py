"""`chase doctor`: is everything there that rollouts need, and does a model do what the engine asks of it?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from chase.cli.output import emit_json, printable
from chase.cli.rollout import DEFAULTS
from chase.cli.settings import load_config, locate, model_config, resolve, text
from chase.core.errors import SetupError


def doctor(
    model: Annotated[
        str | None, typer.Option("--model", metavar="M", help="Ask this model one cheap question.")
    ] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Address of an openai-compatible model.")] = None,
    config: Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A TOML file; flags win.")] = None,
    workspace: Annotated[Path | None, typer.Option("--workspace", metavar="DIR", help="Holds .chase/.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Check Python, sandbox, disk and store, and with a model its key, answer, tool calls, JSON schema, usage, price.

    Exit code 3 if something needed is missing. No key is ever printed.

    JSON (chase.doctor/1): `workspace, model, checks[{name, status, needed, detail}], passed`; a status is ok,
    failed or skipped.
    """
    file = load_config(config, frozenset(DEFAULTS))
    settings = resolve(file, {"model": model, "base_url": base_url}, {"model": None, "base_url": None})
    given = {name: text(settings, name) for name, value in settings.items() if value is not None}
    name = given.get("model")
    asked = model_config(name, file, base_url=given.get("base_url")) if name else None
    # Models and engine take a second to import: only who runs them waits for them.
    from chase.cli.diagnosis import diagnose

    place = locate(workspace)
    checks = diagnose(place, asked)
    missing = [check.name for check in checks if check.needed and check.status == "failed"]
    if as_json:
        payload = {"workspace": str(place.root), "model": name, "checks": [asdict(check) for check in checks]}
        emit_json("chase.doctor/1", {**payload, "passed": not missing})
    else:
        for check in checks:
            typer.echo(printable(f"{check.status:<8}{check.name:<14}{check.detail}"))
    if missing:
        raise SetupError(
            f"{len(missing)} of {len(checks)} checks failed: {', '.join(missing)}. The output says what to do."
        )
