"""`chase compare`: several methods over several seeds, the sealed tasks opened once for all."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import chase
from chase.cli.forecasting import show_forecast
from chase.cli.options import AsJson, DryRun, takes
from chase.cli.output import echo, emit, emit_table
from chase.cli.rich_tables import rich_table
from chase.cli.tokens import judge_lines
from chase.runs.comparison_tables import FOLDER, tables
from chase.runs.results import CompareResult
from chase.runs.settings import CompareSettings


@takes(CompareSettings)
def compare(given: Mapping[str, Any], dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Compare methods: each over every seed, in one store; when all are done the sealed tasks are opened once for all.

    `--methods all` are the paper's six and a matched-budget control, `ablations` CHASE without each of its parts; an
    option of a method stands behind a colon (`chase:confirm=false`). What one method rolled out another does not pay
    for again; no method reads another's history. The tables are also in .chase/runs/RUN/tables/, as Markdown, LaTeX
    and CSV.

    JSON: `run, config, seeds[], certified, columns[], methods.NAME.{r_rel, r_0, g_rel, g_0, delta_bs | r_avg, r_min,
    gamma, delta_ts}, differences[], certificates[{method, seed, theorems}], features, tokens, members[], paper,
    warnings`; a figure is an estimate over tasks with `over_seeds` and `by_seed`; with --dry-run `per_rollout,
    rollouts[], agents[], total` (chase.forecast/1).
    """
    if dry_run:
        return show_forecast(chase.forecast_compare(**given, progress=True), as_json)
    result = chase.compare(**given, progress=True)
    return emit(result) if as_json else _print(result)


def _print(result: CompareResult) -> None:
    for table in tables(result.payload):
        emit_table(rich_table(table))
        for note in table.notes:
            echo(f"  {note}")
        echo("")
    if not result.payload["certified"]:
        echo("not certified: the sealed tasks were left alone (--no-certify)")
    for warning in result.warnings:
        echo(f"note: {warning}")
    here, folder = Path.cwd(), result.folder / FOLDER
    for line in judge_lines(result.payload):
        echo(line)
    echo(f"run {result.run}, {result.wall_seconds:.0f} s")
    echo(f"tables: {folder.relative_to(here) if folder.is_relative_to(here) else folder}/")
