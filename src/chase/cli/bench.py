"""`chase bench`: what there is, what an agent sees, whether it is sound, what it counts, all of it as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from chase.benchmarks.registry import benchmark_names, find_entry
from chase.cli import bench_documents
from chase.cli.opening import open_benchmark
from chase.cli.options import AsJson, DataFolder, WorkspaceFolder
from chase.cli.output import emit_json, emit_table, new_folder, steps
from chase.core.errors import IntegrityError, SetupError, UserError, choose
from chase.core.interfaces import Benchmark, HasStatistics, HasTaskLabels
from chase.core.values import CheckResult, View
from chase.runs.export import export_benchmark
from chase.runs.opening import record_look
from chase.runs.settings import VARIANTS
from chase.runs.variants import resolve_variant

app = typer.Typer(no_args_is_help=True)
app.command()(bench_documents.init)
app.command()(bench_documents.check)
app.command("import")(bench_documents.import_data)

Name = Annotated[str, typer.Argument(metavar="BENCHMARK", help="e.g. syn-ledger, syn-ledger@7, syn-ledger@7x40")]
MOST_SHOWN = 60
"""Documents that are shown whole if none is named."""
Variant = Annotated[str, typer.Option("--variant", metavar="V", help=VARIANTS)]


@app.command("list")
def list_benchmarks(as_json: AsJson = False) -> None:
    """The benchmarks and how their names are written. One that cannot be loaded is told on stderr."""
    found = []
    for name in benchmark_names():
        try:
            found.append(find_entry(name))
        except SetupError as error:
            typer.echo(str(error), err=True)
    if as_json:
        entries = [{"name": e.name, "summary": e.summary, "pattern": e.pattern} for e in found]
        return emit_json("chase.bench.list/1", {"benchmarks": entries})
    for entry in found:
        typer.echo(f"{entry.name}\n    {entry.summary}\n    written as {entry.pattern}")
    return None


@app.command()
def show(
    name: Name,
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="A task's id; without it, all ids.")] = None,
    variant: Variant = "released",
    document: Annotated[
        list[str] | None, typer.Option("--document", metavar="ID|PATH", help="Show the text of this one; repeatable.")
    ] = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """What an agent sees of a task: question, tree and files, in listing order. Without --task, the tasks.

    Of a corpus of many documents only those that --document names are shown whole.
    JSON: `tasks[{id, split, family}]`, or `task, variant, question, files[{id, path, text}]`.
    """
    benchmark = open_benchmark(name, data)
    transformation = resolve_variant(benchmark, variant)
    if task is None:
        return _show_tasks(benchmark, as_json)
    view = benchmark.view(task, transformation)
    whole = _shown_whole(view, document)
    if as_json:
        files = [{"id": f.id, "path": f.path, **({"text": f.text} if f.id in whole else {})} for f in view.files]
        shown = {"variant": variant, "task": task, "question": view.question, "files": files}
        return emit_json("chase.bench.show/1", {"benchmark": benchmark.name, **shown})
    typer.echo(f"task {task} of {benchmark.name} under {variant}\n\n{view.question}\n")
    for file in view.files:
        typer.echo(f"  {file.path}  [{file.id}]")
    for file in view.files:
        if file.id in whole:
            typer.echo(f"\n--- {file.path}\n{file.text}", nl=False)
    if not whole:
        typer.echo(f"\n{len(view.files)} documents: name those to be shown with --document.", err=True)
    return None


def _shown_whole(view: View, named: list[str] | None) -> set[str]:
    """Ids of the documents whose text is shown: those that were named, else all, unless they are too many."""
    if named is None:
        return {file.id for file in view.files} if len(view.files) <= MOST_SHOWN else set()
    known = {name: file.id for file in view.files for name in (file.path, file.id)}
    return {known[choose("document", name, known)] for name in named}


def _show_tasks(benchmark: Benchmark[Any], as_json: bool) -> None:
    labels = benchmark.task_labels if isinstance(benchmark, HasTaskLabels) else lambda _: {}
    tasks = [{"id": task, "split": benchmark.role_of(task), **labels(task)} for task in benchmark.tasks()]
    if as_json:
        return emit_json("chase.bench.tasks/1", {"benchmark": benchmark.name, "tasks": tasks})
    for row in tasks:
        more = " ".join(value for name, value in row.items() if name not in ("id", "split"))
        typer.echo(f"{row['id']}  {row['split']:<6} {more}".rstrip())
    return None


def run_validation(benchmark: Benchmark[Any]) -> list[CheckResult]:
    """The checks' results, with progress on stderr."""
    with steps(f"validating {benchmark.name}") as progress:
        return list(benchmark.validate(progress))


@app.command()
def validate(name: Name, data: DataFolder = None, as_json: AsJson = False) -> None:
    """Run every check of a benchmark's construction; exit code 6 if one fails.

    JSON: `checks[{name, passed, count, failures}], passed`.
    """
    benchmark = open_benchmark(name, data)
    results = run_validation(benchmark)
    failed = [result for result in results if not result.passed]
    if as_json:
        checks = [{"name": r.name, "passed": r.passed, "count": r.count, "failures": list(r.failures)} for r in results]
        emit_json(
            "chase.bench.validate/1",
            {
                "benchmark": benchmark.name,
                "content_hash": benchmark.content_hash,
                "checks": checks,
                "passed": not failed,
            },
        )
    else:
        for result in results:
            typer.echo(f"{'ok  ' if result.passed else 'FAIL'} {result.name:<24} {result.count:>6} checked")
            for failure in result.failures:
                typer.echo(f"     {failure}")
    if failed:
        first = failed[0].failures[0] if failed[0].failures else "nothing was checked"
        raise IntegrityError(
            f"{benchmark.name}: {len(failed)} of {len(results)} checks failed; {failed[0].name}: {first}."
        )
    if not as_json:
        typer.echo(f"{benchmark.name} is sound: {len(results)} checks, content {benchmark.content_hash[:16]}")


@app.command()
def stats(name: Name, data: DataFolder = None, as_json: AsJson = False) -> None:
    """Sizes, families and favorable evidence documents of each split, under `released` and `neutral`.

    JSON: `splits.<name>.{size, families, features.<feature>.{released, neutral}: {favorable, total}}`,
    `pairs.<name>.<feature+feature>.{released, neutral}: {both, first_only, second_only, neither}`.
    """
    benchmark = open_benchmark(name, data)
    if not isinstance(benchmark, HasStatistics):
        raise UserError(f"{benchmark.base} has no statistics of its own. `chase bench show {name}` lists its tasks.")
    if as_json:
        return emit_json("chase.bench.stats/1", benchmark.statistics())
    title, headings, rows = benchmark.statistics_table()
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading)
    for row in rows:
        table.add_row(*row)
    emit_table(table)
    return None


@app.command()
def export(
    name: Name,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A new or empty folder.")],
    variant: Variant = "released",
    unseal: Annotated[
        str | None,
        typer.Option("--unseal", metavar="REASON", help="Write the sealed tasks too. The reason stays in the record."),
    ] = None,
    data: DataFolder = None,
    workspace: WorkspaceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Write a benchmark under a variant as files, for checking it or for another runner (docs/own-runner.md): tasks,
    manifest, and every document exactly as rendered.

    Answers and evidence labels are in these files: they are for whoever runs and scores, never for an agent. The sealed
    tasks are left out unless --unseal says why: what is looked at now certifies nothing later.

    JSON: `tasks`, `documents`, …: how many were written; `sealed`: how many tasks were left out.
    """
    if unseal is not None and not unseal.strip():
        raise UserError("unseal='' needs a reason: it stays in the record.")
    benchmark = open_benchmark(name, data)
    transformation = resolve_variant(benchmark, variant)
    every = benchmark.tasks()
    tasks = [task for task in every if unseal is not None or benchmark.role_of(task) not in benchmark.sealed]
    folder = new_folder(out, "--out")
    if unseal is not None:
        record_look(benchmark, "export", variant, unseal, workspace)
    with steps(f"exporting {benchmark.name}") as progress:
        counts = export_benchmark(benchmark, transformation, tasks, folder, progress)
    left_out = len(every) - len(tasks)
    payload = {"benchmark": benchmark.name, "variant": variant, "out": str(folder), **counts, "sealed": left_out}
    if as_json:
        return emit_json("chase.bench.export/1", payload)
    *most, last = (f"{count} {what}" for what, count in counts.items())
    typer.echo(f"{benchmark.name} under {variant}: {', '.join(most)} and {last} in {folder}")
    if left_out:
        typer.echo(f"{left_out} sealed tasks were left out; --unseal REASON writes them too.")
    return None
