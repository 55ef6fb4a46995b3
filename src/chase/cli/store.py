"""`chase store`: what is in a workspace's store, whether it is intact, and how to take it along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from chase.cli.options import AsJson, WorkspaceFolder
from chase.cli.output import emit_json, emit_table, new_folder, steps
from chase.cli.tokens import TITLES, token_table
from chase.core.errors import IntegrityError
from chase.runs.accounting import ROLLOUT, STAGES, accounts
from chase.runs.opening import locate
from chase.store.records import Problem, StoreInfo
from chase.store.schema import require_store
from chase.store.store import Store

app = typer.Typer(no_args_is_help=True)

SHOWN_PROBLEMS = 20


@app.command()
def info(workspace: WorkspaceFolder = None, as_json: AsJson = False) -> None:
    """Say what is in the store.

    --json: schema chase.store.info/1 with workspace, schema_version, file_bytes, rollouts (by status),
    traces, trace_bytes, stored_trace_bytes, runs, requests, seals, writer_pid (null: nobody writes).
    """
    with Store.open(locate(workspace), write=False) as store:
        found = store.info()
        root = str(store.workspace.root)
    if as_json:
        emit_json("chase.store.info/1", {"workspace": root, **asdict(found)})
    else:
        for line in _info_lines(root, found):
            typer.echo(line)


@app.command()
def verify(workspace: WorkspaceFolder = None, as_json: AsJson = False) -> None:
    """Recompute every hash; exit with 6 if anything is not as it was recorded.

    --json: schema chase.store.verify/1 with workspace, checked (rows by table), problems
    ([{kind, id, detail}]) and passed.
    """
    checked: dict[str, int] = {}
    with Store.open(locate(workspace), write=False) as store, steps("verifying") as step:

        def heard(what: str, done: int, total: int) -> None:
            checked[what] = done
            step(f"{what} {done:,} of {total:,}")

        problems = store.verify(heard)
        root = str(store.workspace.root)
    if as_json:
        found = [asdict(problem) for problem in problems]
        payload = {"workspace": root, "checked": checked, "problems": found, "passed": not problems}
        emit_json("chase.store.verify/1", payload)
    else:
        for line in _verify_lines(root, checked, problems):
            typer.echo(line)
    if problems:
        raise IntegrityError(
            f"workspace={root}: {len(problems)} problem(s) in its store, the first with "
            f"{problems[0].kind} {problems[0].id}. Restore .chase/ from a copy or start anew with --workspace."
        )


@app.command()
def usage(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run's id, the beginning of it, or latest; default: all runs.")
    ] = None,
    workspace: WorkspaceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Token use by run and method, as the paper's two tables: optimisation and selection, and certification.

    An episode is a rollout, an agent's round or a judge's verdict. A reused rollout counts with its tokens and is paid
    for by nobody here.

    --json: schema chase.store.usage/1 with workspace and accounts ([{run, method, stage, episodes, rollouts,
    agent_episodes, judged, reused, total, uncached, paid {requests, total, uncached, cost_usd}}]), in tokens.
    """
    with Store.open(locate(workspace), write=False) as store:
        known = None if run is None else store.find_run(run).id
        found = accounts(store.episodes(known), store.spend(known, uncounted=ROLLOUT))
        root = str(store.workspace.root)
    if as_json:
        rows = [{"run": a.run, "method": a.method, "stage": a.stage, **a.to_json()} for a in found]
        emit_json("chase.store.usage/1", {"workspace": root, "accounts": rows})
    else:
        for stage in STAGES:
            emit_table(token_table(TITLES[stage], [account for account in found if account.stage == stage]))


@app.command()
def gc(workspace: WorkspaceFolder = None, as_json: AsJson = False) -> None:
    """Drop traces that no rollout refers to, and give the space back.

    --json: schema chase.store.gc/1 with workspace, traces (how many were dropped) and freed_bytes.
    """
    place = locate(workspace)
    require_store(place)
    with Store.open(place, write=True) as store:
        collected = store.gc()
    if as_json:
        emit_json("chase.store.gc/1", {"workspace": str(place.root), **asdict(collected)})
    else:
        typer.echo(f"dropped {collected.traces:,} traces, freed {_size(collected.freed_bytes)}")


@app.command()
def export(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new or empty folder.")],
    workspace: WorkspaceFolder = None,
    parquet: Annotated[
        bool | None,
        typer.Option("--parquet/--no-parquet", help="Parquet beside JSONL (default: if pyarrow is there)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write rollouts, ledger, runs, seals and traces as JSONL, rollouts and ledger as Parquet too.

    --json: schema chase.store.export/1 with workspace, out and files (records by file name).
    """
    with Store.open(locate(workspace), write=False) as store, steps("exporting") as step:
        folder = new_folder(out, "--out")
        files = store.export(folder, parquet=parquet, progress=lambda what, done, total: step(what))
        root = str(store.workspace.root)
    if as_json:
        emit_json("chase.store.export/1", {"workspace": root, "out": str(folder), "files": files})
    else:
        for name, count in files.items():
            typer.echo(f"{folder / name}: {count:,} records")


def _info_lines(root: str, found: StoreInfo) -> Iterator[str]:
    counts = ", ".join(f"{count:,} {status}" for status, count in found.rollouts.items())
    stored, full = _size(found.stored_trace_bytes), _size(found.trace_bytes)
    yield f"workspace  {root}"
    yield f"store      {_size(found.file_bytes)}, schema version {found.schema_version}"
    yield f"rollouts   {counts}"
    yield f"traces     {found.traces:,} ({stored}, {full} uncompressed)"
    yield f"ledger     {found.requests:,} model requests"
    yield f"runs       {found.runs:,}; {found.seals:,} opened seals"
    yield f"writer     {'none' if found.writer_pid is None else f'process {found.writer_pid}'}"


def _verify_lines(root: str, checked: dict[str, int], problems: list[Problem]) -> Iterator[str]:
    if not problems:
        rows = ", ".join(f"{count:,} {table}" for table, count in checked.items() if table != "database")
        yield f"{root}: intact ({rows})"
    for problem in problems[:SHOWN_PROBLEMS]:
        yield f"{problem.kind} {problem.id}: {problem.detail}"
    if len(problems) > SHOWN_PROBLEMS:
        yield f"… and {len(problems) - SHOWN_PROBLEMS:,} more; --json lists all"


def _size(count: int) -> str:
    sign, amount = ("-" if count < 0 else ""), float(abs(count))
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{sign}{amount:.0f} {unit}" if unit == "B" else f"{sign}{amount:.1f} {unit}"
        amount /= 1024
    return f"{sign}{amount:.1f} GiB"
