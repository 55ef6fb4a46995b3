"""`chase runs`: the runs of a workspace, one line each."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from chase.cli.options import AsJson, WorkspaceFolder
from chase.cli.output import echo, emit_json, emit_table, printable
from chase.report.heads import SHOWN_RUNS, WantedRuns, run_heads
from chase.runs.opening import locate
from chase.store.store import Store

SCHEMA = "chase.runs/1"
Word = Annotated[str | None, typer.Option(metavar="WORD")]


def runs(
    command: Annotated[str | None, typer.Option("--command", metavar="C", help="e.g. evolve, audit, compare.")] = None,
    method: Annotated[str | None, typer.Option("--method", metavar="M", help="e.g. chase.")] = None,
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", metavar="B", help="Its name, or how it begins.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="Its name, or how it begins.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", metavar="WORD", help="running, paused, stopped or finished.")
    ] = None,
    members: Annotated[bool, typer.Option("--members", help="The runs within comparisons too.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Show so many.")] = SHOWN_RUNS,
    workspace: WorkspaceFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the workspace's runs, newest first: what each is on, how far it is, and in a few words what came of it.

    JSON: `workspace, total, runs[{id, command, method, benchmark, model, seed, status, created_at, conclusion, note}]`.
    """
    wanted = WantedRuns(
        command=command, method=method, benchmark=benchmark, model=model, status=status, members=members
    )
    with Store.open(locate(workspace), write=False) as store:
        found, total = run_heads(store, wanted, limit=limit)
        root = str(store.workspace.root)
    if as_json:
        return emit_json(SCHEMA, {"workspace": root, "total": total, "runs": [asdict(head) for head in found]})
    if not found:
        return echo(f"no runs in {root}" + (" that are asked for" if wanted != WantedRuns() else ""))
    table = Table()
    for name in ("run", "command", "benchmark", "model", "seed", "status", "begun", "conclusion"):
        table.add_column(name, overflow="fold")
    for head in found:
        what = head.command if head.method is None else f"{head.command} {head.method}"
        begun = head.created_at[:16].replace("T", " ")
        conclusion = f"{head.conclusion} (simulated)" if head.simulated and head.finished else head.conclusion
        cells = (head.id, what, head.benchmark, head.model, head.seed, head.status, begun, conclusion)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    emit_table(table)
    if len(found) < total:
        echo(f"… and {total - len(found)} older ones; --limit shows more")
    return None
