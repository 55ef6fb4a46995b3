"""`chase doctor`: is everything there that rollouts need, and does a model do what the engine asks of it?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import typer

from chase.cli.options import AsJson, takes
from chase.cli.output import Steps, emit_json, printable
from chase.core.errors import SetupError
from chase.runs.config import model_config, raw_settings
from chase.runs.opening import locate
from chase.runs.settings import DoctorSettings


@takes(DoctorSettings)
def doctor(given: Mapping[str, Any], as_json: AsJson = False) -> None:
    """Check Python, sandbox, disk and store, and with a model its key, answer, tool calls, JSON schema, usage, price.

    Exit code 3 if something needed is missing. No key is ever printed.

    JSON (chase.doctor/1): `workspace, model, checks[{name, status, needed, detail}], passed`; a status is ok,
    failed or skipped.
    """
    asked = raw_settings(DoctorSettings, given)
    settings = asked.settings()
    model = settings.model and model_config(settings.model, asked.models, base_url=settings.base_url)
    # Models and engine take a second to import: only who runs them waits for them.
    from chase.runs.doctor import diagnose

    place = locate(settings.workspace)
    steps = Steps("doctor")
    checks = diagnose(place, model or None, steps)
    steps.clear()
    missing = [check.name for check in checks if check.needed and check.status == "failed"]
    if as_json:
        payload = {"workspace": str(place.root), "model": settings.model, "checks": [asdict(check) for check in checks]}
        emit_json("chase.doctor/1", {**payload, "passed": not missing})
    else:
        for check in checks:
            typer.echo(printable(f"{check.status:<8}{check.name:<14}{check.detail}"))
    if missing:
        raise SetupError(
            f"{len(missing)} of {len(checks)} checks failed: {', '.join(missing)}. The output says what to do."
        )
