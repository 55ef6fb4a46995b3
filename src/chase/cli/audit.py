"""`chase audit`: is a harness's gain real, or a benchmark-wide shortcut?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

import chase
from chase.cli.attribution import print_attribution
from chase.cli.examples import print_example
from chase.cli.forecasting import show_forecast
from chase.cli.options import AsJson, DryRun, takes
from chase.cli.output import emit, printable
from chase.cli.tokens import judge_lines, token_lines
from chase.cli.verdicts import (
    NOT_SUPPORTED,
    FailOn,
    fail_on_verdict,
    print_counterfactual,
    print_gain,
    print_survival,
    print_verdict,
    verdicts,
)
from chase.runs.results import AuditResult
from chase.runs.settings import AuditSettings


@takes(AuditSettings)
def audit(
    given: Mapping[str, Any], dry_run: DryRun = False, as_json: AsJson = False, fail_on: FailOn = NOT_SUPPORTED
) -> None:
    """Search for valid changes of the protocol that destroy a harness's gain, confirm them on fresh tasks, and judge.

    Searches on evo and disc, confirms on all other unsealed tasks. The same command again goes on where it stopped.
    Ends with 5 if the gain is not supported, or on the verdicts of --fail-on (no-gain, inconclusive, not-supported,
    partly-supported, supported), with 0 for every other verdict, with 4 if its budget is reached: then the same command
    with a higher one goes on.

    With --attribute each edit of the harness is also taken out of it and put into the baseline, on the same tasks:
    which carries the gain, and which its destruction. The same audit with it runs only what that needs.

    JSON: `verdict, reason, tasks_needed, g_rel, gamma, g_min, confirmed[], not_confirmed[], tried[],
    attribution {parts[{name, label, gain, destruction}]}, tokens {optimisation, certification}, hook_failures[],
    warnings`; with --dry-run `per_rollout, rollouts[], agents[], total` (chase.forecast/1).
    """
    failing = verdicts(fail_on)
    if dry_run:
        return show_forecast(chase.forecast_audit(**given, progress=True), as_json)
    result = chase.audit(**given, progress=True)
    if as_json:
        emit(result)
    else:
        print_audit(result)
        typer.echo(f"Run {result.run}, {result.payload['episodes']} rollouts, {result.wall_seconds:.1f} s")
        for line in (*token_lines(result.payload["tokens"]), *judge_lines(result.payload)):
            typer.echo(line)
        if any(found["status"] == "confirmed" for found in result.findings):
            typer.echo(f"To take it out: chase repair --audit {result.run} --out DIR")
    fail_on_verdict(failing, result.verdict, result.reason, given.get("harness", result.payload["harness"][:12]))
    return None


def print_audit(result: AuditResult) -> None:
    """The report: verdict, gain, destruction, what survives; each finding, the first with a before and after."""
    payload = result.payload
    print_verdict(payload, payload["confirm_tasks"], "confirmation tasks")
    print_gain(payload)
    print_survival(payload)
    typer.echo(
        f"{payload['confirm_tasks']} fresh tasks; intervals hold together at {100 * payload['level']:.0f} %; "
        + (f"searched on {payload['search_tasks']} others" if payload["search_tasks"] else "what was tested was given")
    )
    for place, found in enumerate(result.findings):
        _print_finding(found)
        if place == 0:
            print_example(result.example(found), indent="  ")
    if result.attribution is not None:
        print_attribution(result.attribution, {found["name"]: found["what"] for found in result.findings})
    if tried := {record["hash"] for record in payload["tried"] if record["hash"]}:
        evaluated = {record["hash"] for record in payload["tried"] if record["destruction"]}
        typer.echo(f"\nTried in search: {len(tried)} transformations, of which {len(evaluated)} were evaluated.")
    for warning in result.warnings:
        typer.echo(printable(f"note: {warning}"))


def _print_finding(found: Mapping[str, Any]) -> None:
    typer.echo(f"\n{found['status']}: {printable(found['what'])}  [{printable(found['symbols'])}]")
    print_counterfactual(found)
    if found["status"] == "confirmed":
        suspected = [name for name in found["suspected"] if name in found["touched"]]
        leans = ", ".join(suspected or found["touched"]) or "the protocol"
        typer.echo(printable(f"  the harness leans on: {leans}"))
