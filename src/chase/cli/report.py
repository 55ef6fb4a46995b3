"""`chase report`: a run as one page that opens offline, with every table and figure as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import chase
from chase.cli.options import AsJson, DataFolder, WorkspaceFolder
from chase.cli.output import echo, emit_json, steps

SCHEMA = "chase.report/1"


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of it, or latest.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new or empty folder, or an earlier report's.")],
    data: DataFolder = None,
    workspace: WorkspaceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Write the report of a run: one HTML file, tables and figures beside it.

    Of an evolution, an audit or a comparison, and in short of a repair or a rollout. report.html opens offline and runs
    nothing. tables/ has every table as Markdown, LaTeX and CSV, figures/ every figure as SVG and PNG, config.toml the
    run's settings. Of a run that is not finished it reports what there is. It is for the owner of the workspace: it
    names tasks with their scores and holds what models wrote, no expected answer.

    JSON: `run, folder, page, verdict {sentence, label, tone}, tables[], figures[]`.
    """
    with steps("report") as progress:
        made = chase.write_report(run, out, workspace=workspace, data=data, tell=progress)
    document = made.document
    if as_json:
        return emit_json(
            SCHEMA,
            {
                "run": made.run,
                "folder": str(made.folder),
                "page": str(made.page),
                "verdict": {"sentence": document.verdict, "label": document.label, "tone": document.tone},
                "tables": [table.name for table in document.tables],
                "figures": [drawing.name for drawing in document.drawings],
            },
        )
    for badge in document.badges:
        echo(f"[{badge}]")
    echo(document.verdict)
    tables, figures = len(list(document.tables)), len(list(document.drawings))
    return echo(f"{made.page}, with {tables} tables and {figures} figures beside it")
