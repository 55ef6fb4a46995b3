"""`chase analyze`: an audit's verdict on scores that somebody else's runner produced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

import chase
from chase.cli.options import AsJson, takes
from chase.cli.output import echo, emit_json
from chase.cli.verdicts import (
    FAILS_BY_DEFAULT,
    FailOn,
    fail_on_verdict,
    print_counterfactual,
    print_gain,
    print_survival,
    print_tasks_needed,
    print_verdict,
    verdicts,
)
from chase.runs.results import AnalyzeResult
from chase.runs.settings import AnalyzeSettings
from chase.stats.estimates import few_clusters


@takes(AnalyzeSettings)
def analyze(given: Mapping[str, Any], as_json: AsJson = False, fail_on: FailOn = FAILS_BY_DEFAULT) -> None:
    """Judge a gain by scores that another runner produced: gain, gain destruction, intervals and an audit's verdict.

    The file is CSV or JSONL with the columns task, harness, variant, rollout and score (0 to 1). Every task must have
    the same number of rollouts of both harnesses under every variant. With released scores alone it is a paired
    comparison of the two harnesses. Runs nothing and writes nothing.

    Ends with 5 on the verdicts of --fail-on, by default if the gain is not supported, in doubt or untested.

    JSON: `verdict, reason, against[], tasks_needed, g_rel, gamma, g_min, scores, clusters, confirmed[],
    not_confirmed[], harness, baseline, released, variants[], tasks, rollouts, level, seed`; with released scores alone
    gamma and g_min are null, and so is the verdict where the gain is more than nothing.
    """
    failing = verdicts(fail_on)
    result = chase.analyze(**given)
    if as_json:
        emit_json(result.schema, result.payload)
    else:
        _print(result)
    fail_on_verdict(failing, result.verdict, result.reason, result.payload["harness"])


def _print(result: AnalyzeResult) -> None:
    payload = result.payload
    tasks, level = payload["tasks"], f"{100 * payload['level']:g} %"
    if result.findings:
        print_verdict(payload, tasks, "such tasks")
    else:
        echo(f"{payload['harness']} against {payload['baseline']}, paired by task: {_in_words(payload['g_rel'])}.")
        typer.echo(f"  {result.reason}")
        print_tasks_needed(payload, tasks, "such tasks")
    print_gain(payload)
    print_survival(payload)
    together = f"intervals hold together at {level}" if result.findings else f"the interval holds at {level}"
    typer.echo(f"{tasks} tasks, rollouts of each: {payload['rollouts']}; {together}")
    if few := few_clusters(payload["clusters"], tasks):
        typer.echo(f"note: {few}")
    for found in result.findings:
        echo(f"\n{found['status']}: {found['name']}")
        print_counterfactual(found)
    if not result.findings:
        echo(
            "Released scores alone: whether the gain is a shortcut is not asked here. Add scores under other variants."
        )


def _in_words(gain: Mapping[str, Any]) -> str:
    if gain["low"] > 0:
        return "it scores higher"
    return "it scores lower" if gain["high"] < 0 else "the two are not told apart"
