"""`chase repair`: a harness without the shortcut that an audit confirmed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from rich.table import Table

import chase
from chase.cli.forecasting import show_forecast
from chase.cli.options import AsJson, DryRun, takes
from chase.cli.output import echo, emit, emit_table, printable
from chase.cli.tokens import judge_lines, token_lines
from chase.runs.results import RepairResult
from chase.runs.settings import RepairSettings

TREATMENTS = {"dropped": "taken out", "generalised": "without its condition", "kept": "kept"}


@takes(RepairSettings)
def repair(given: Mapping[str, Any], dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Take out of a harness what an audit called a shortcut, and measure what is left on other tasks.

    Searches the harness's edits on the audit's search tasks (evo and disc), dropping or generalising them, for the
    form with the highest released score that no counterfactual of the audit takes more than epsilon from; then
    measures it on fresh tasks that the audit did not use or, where it left too few, on its own, and says so. The same
    command again goes on where it stopped. Ends with 0 also if there is nothing to repair or nothing is left, with 4
    if its budget is reached.

    JSON: `outcome, reason, repaired {hash, dropped[], generalised[], kept[]}, measured {harness, repaired}, exposure,
    out, next, counterfactuals[], tried[], tokens, warnings`; with --dry-run `per_rollout, rollouts[], total`
    (chase.forecast/1).
    """
    if dry_run:
        return show_forecast(chase.forecast_repair(**given, progress=True), as_json)
    result = chase.repair(**given, progress=True)
    if as_json:
        return emit(result)
    print_repair(result)
    typer.echo(f"Run {result.run}, {result.payload['episodes']} rollouts, {result.wall_seconds:.1f} s")
    for line in (*token_lines(result.payload["tokens"]), *judge_lines(result.payload)):
        typer.echo(line)
    return None


def print_repair(result: RepairResult) -> None:
    """The report: what came of it, what became of each edit, both gains, and what to do next."""
    payload = result.payload
    typer.echo(f"{result.outcome.capitalize()}: {result.reason}.")
    for treatment, words in TREATMENTS.items():
        for name in (payload["repaired"] or {}).get(treatment, ()):
            echo(f"  {words}: {name}")
    if payload["measured"] is not None:
        _print_gains(payload)
        typer.echo(
            f"{payload['confirm_tasks']} tasks, {payload['exposure']['text']}; intervals hold together at "
            f"{100 * payload['level']:.0f} %; {len(payload['tried'])} forms tried on {payload['search_tasks']} others"
        )
    if payload["out"] is not None:
        typer.echo(f"The repaired harness is in {printable(payload['out'])}. Next:\n  {printable(payload['next'])}")
    for warning in result.warnings:
        echo(f"note: {warning}")


def _print_gains(payload: Mapping[str, Any]) -> None:
    table = Table(title="gain over the baseline, in points", title_justify="left")
    table.add_column("")
    table.add_column("released", justify="right")
    table.add_column("surviving", justify="right")
    table.add_column("base rate leaves", justify="right")
    table.add_column("surviving is under")
    under = {found["name"]: found["what"] for found in payload["counterfactuals"]}
    for name, found in payload["measured"].items():
        if found is not None:
            worst = printable(under.get(found["worst"], "the released benchmark"))
            left = found["expected_share"].get(found["worst"], 1.0) * found["released"]["value"]
            gains = [_interval(found[which]) for which in ("released", "surviving")]
            table.add_row(name, *gains, f"{100 * left:+.1f}", worst)
    emit_table(table)


def _interval(estimate: Mapping[str, Any]) -> str:
    return f"{100 * estimate['value']:+.1f} ({100 * estimate['low']:+.1f} to {100 * estimate['high']:+.1f})"
