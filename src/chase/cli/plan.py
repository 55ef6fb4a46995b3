"""`chase plan`: how many tasks and rollouts a question takes, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

import chase
from chase.cli.options import AsJson, takes
from chase.cli.output import echo, emit_json, emit_table
from chase.runs.results import PlanResult
from chase.runs.settings import PlanSettings

KINDS = {"independent": "independent rollouts", "common": "common random numbers", "given": "the given deviation"}


@takes(PlanSettings)
def plan(given: Mapping[str, Any], as_json: AsJson = False) -> None:
    """Say how many tasks and rollouts it takes to confirm or certify a gain destruction, and what more of each buys.

    The noise is that of an earlier run (--noise-from), a standard deviation (--sd), or a stated assumption. Runs
    nothing and writes nothing.

    JSON: `benchmark, delta, alpha, rounds, power, round_alpha, archive, set {role, tasks, rollouts}, noise {source,
    independent {between, within}, common}, plans.<noise> {sd, power {now, tasks, rollouts}, confirmation[],
    certification[], certificates {hoeffding[], betting[]}}, archive_size, hoeffding_tasks`; a design is `{rollouts,
    tasks, episodes, tokens, usd, cheapest}`.
    """
    result = chase.plan(**given)
    return emit_json(result.schema, result.payload) if as_json else _print(result)


def _print(result: PlanResult) -> None:
    found = result.payload
    of, delta = found["set"], 100 * found["delta"]
    echo(f"A gain destruction of {delta:g} points on {found['benchmark']}; noise: {found['noise']['source']}.")
    echo(
        f"Error {found['alpha']:g} over {found['rounds']} rounds ({found['round_alpha']:.4f} each), "
        f"power {100 * found['power']:.0f} %."
    )
    for kind, planned in found["plans"].items():
        power = planned["power"]
        echo(
            f"\nWith {KINDS[kind]} (standard deviation between tasks {planned['sd']:.3f} at {of['rollouts']} rollouts) "
            f"{of['role']}, {of['tasks']} tasks, has a power of {100 * power['now']:.0f} %; with twice the tasks "
            f"{100 * power['tasks']:.0f} %, with twice the rollouts {100 * power['rollouts']:.0f} %."
        )
        emit_table(_table("to confirm it, four cells in one round", planned["confirmation"]))
        archived = f"to certify it: {found['archive']} counterfactuals, all bounds together"
        emit_table(_table(archived, planned["certification"]))
        proved = (
            f"to prove that what destroys nothing destroys less than {delta:g} points: |A| = {found['archive_size']}"
        )
        emit_table(_certificates(f"{proved}, all bounds together", planned))
    echo(f"\nThe paper's certificate (Hoeffding) has this radius at {found['hoeffding_tasks']:,} tasks, for any noise.")


def _certificates(title: str, planned: Mapping[str, Any]) -> Table:
    """What a certificate takes by each way; by the same design each entry costs the same."""
    table = Table(title=title, title_justify="left")
    for column in ("rollouts of a task", "tasks, Hoeffding", "episodes", "tasks, betting", "episodes"):
        table.add_column(column, justify="right")
    for each in zip(*planned["certificates"].values(), strict=True):
        cells = (f"{design[key]:,}" for design in each for key in ("tasks", "episodes"))
        table.add_row(str(each[0]["rollouts"]), *cells)
    return table


def _table(title: str, designs: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("rollouts of a task", "tasks", "episodes", "million tokens", "USD", ""):
        table.add_column(column, justify="right")
    for design in designs:
        tokens, usd = design["tokens"], design["usd"]
        table.add_row(
            str(design["rollouts"]), f"{design['tasks']:,}", f"{design['episodes']:,}",
            "unknown" if tokens is None else f"{tokens / 1e6:.1f}", "unknown" if usd is None else f"{usd:,.2f}",
            "cheapest" if design["cheapest"] else "",
        )  # fmt: skip
    return table
