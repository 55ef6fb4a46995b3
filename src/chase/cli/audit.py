"""`chase audit`: is a harness's gain real, or a benchmark-wide shortcut?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    FAILS_BY_DEFAULT,
    NAMES_COVERAGE,
    FailOn,
    fail_on_verdict,
    interval,
    print_counterfactual,
    print_gain,
    print_survival,
    print_verdict,
    verdicts,
)
from chase.runs.coverage import coverage
from chase.runs.results import AuditResult
from chase.runs.settings import AuditSettings


@takes(AuditSettings)
def audit(
    given: Mapping[str, Any], dry_run: DryRun = False, as_json: AsJson = False, fail_on: FailOn = FAILS_BY_DEFAULT
) -> None:
    """Measure a gain with everything of the protocol neutral, search for what else destroys it, and judge.

    The battery and the confirmation run on all unsealed tasks but evo and disc, which the search uses. The same command
    again goes on where it stopped. Ends with 5 if the gain is not supported, in doubt or untested, or on the verdicts
    of --fail-on (no-gain, untested, inconclusive, in-doubt, not-supported, partly-supported, supported), with 0 for
    every other verdict, with 4 if its budget is reached: then the same command with a higher one goes on.

    A harness with several edits is judged edit by edit: each is taken out of it and put into the baseline, as released
    and with everything neutral. --whole leaves that out.

    JSON: `verdict, reason, headline, stopped, against[], tasks_needed, g_rel, gamma, g_min, battery {equal, redrawn,
    untested}, confirmed[], not_confirmed[], tried[], attribution {parts[{name, label, contribution, under,
    rests_on}]}, clusters, detectable, tokens {optimisation, certification}, hook_failures[], warnings`; with --dry-run
    `per_rollout, rollouts[], agents[], total, detectable` (chase.forecast/1).
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
        if _can_be_repaired(result):
            typer.echo(f"To take it out: chase repair --audit {result.run} --out DIR")
    fail_on_verdict(failing, result.verdict, result.reason, given.get("harness", result.payload["harness"][:12]))
    return None


def _can_be_repaired(result: AuditResult) -> bool:
    """`chase repair` has something to take out: harnesses alone have edits, an agent of one's own has none."""
    confirmed = any(found["status"] == "confirmed" for found in result.findings)
    parts = [] if result.attribution is None else result.attribution["parts"]
    return result.payload["agents"] is None and (confirmed or any(part["label"] == "shortcut" for part in parts))


def print_audit(result: AuditResult) -> None:
    """The report: verdict, gain by edits, what survives; findings, the first confirmed one with a before and after."""
    payload = result.payload
    print_verdict(payload, payload["confirm_tasks"], "confirmation tasks")
    if payload["headline"]:
        typer.echo(printable(f"  {payload['headline']}"))
    print_gain(payload)
    print_survival(payload)
    typer.echo(_tasks_used(payload))
    _print_tested(payload)
    if result.attribution is not None:
        print_attribution(result.attribution)
    confirmed = [found for found in result.findings if found["status"] == "confirmed"]
    shown = list({found["what"]: found for found in reversed(confirmed)}.values())[::-1]
    for place, found in enumerate(shown):
        _print_finding(found)
        if place == 0:
            print_example(result.example(found), indent="  ")
    _print_others([found for found in result.findings if found not in shown])
    if tried := {record["hash"] for record in payload["tried"] if record["hash"]}:
        evaluated = {record["hash"] for record in payload["tried"] if record["destruction"]}
        typer.echo(f"\nTried in search: {len(tried)} transformations, of which {len(evaluated)} were evaluated.")
    for warning in result.warnings:
        typer.echo(printable(f"note: {warning}"))


def _tasks_used(payload: Mapping[str, Any]) -> str:
    tasks, there = payload["confirm_tasks"], payload["fresh_tasks"]
    clusters = "" if payload["clusters"] == tasks else f" in {payload['clusters']} clusters"
    early = f" of {there}, enough to settle it" if tasks < there else ""
    searched = f"; searched on {payload['search_tasks']} others" if payload["search_tasks"] else ""
    seen = payload["exposure"]["text"]
    return (
        f"{tasks} confirmation tasks{early}{clusters}, {seen}; bounds hold at {100 * payload['level']:.0f} %{searched}"
    )


def _print_tested(payload: Mapping[str, Any]) -> None:
    """Print the coverage of a verdict whose own line does not name it."""
    if payload["stopped"] is not None:
        typer.echo(payload["stopped"])
    elif payload["verdict"] not in NAMES_COVERAGE:
        tested = "tested against " if payload["against"] else ""
        typer.echo(printable(f"{tested}{coverage(payload)}"))


def _print_others(others: Sequence[Mapping[str, Any]]) -> None:
    """A line for each change; several draws of the same one are one line."""
    by_words: dict[str, list[str]] = {}
    for found in others:
        by_words.setdefault(f"{found['status']}: {found['what']}", []).append(interval(found["destruction"]))
    if by_words:
        typer.echo("")
    for words, intervals in by_words.items():
        typer.echo(printable(f"{words}, {'; '.join(intervals)}"))


def _print_finding(found: Mapping[str, Any]) -> None:
    symbols = "" if found["source"] == "battery" else f"  [{found['symbols']}]"
    typer.echo(printable(f"\n{found['status']}: {found['what']}{symbols}"))
    print_counterfactual(found)
    if found["source"] != "battery":
        suspected = [name for name in found["suspected"] if name in found["touched"]]
        leans = ", ".join(suspected or found["touched"]) or "the protocol"
        typer.echo(printable(f"  the harness leans on: {leans}"))
