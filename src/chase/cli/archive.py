"""`chase archive`: what an archive holds, and whether it still means the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from chase.cli.examples import print_example
from chase.cli.opening import open_benchmark
from chase.cli.options import AsJson, DataFolder
from chase.cli.output import emit_json, printable, steps
from chase.core.errors import ChaseError, IntegrityError
from chase.core.interfaces import Benchmark
from chase.protocol.archive import Archive, ArchiveEntry, read_archive
from chase.protocol.archive import replay as replay_archive
from chase.protocol.example import Example, example_of
from chase.runs.variants import archived_transformation, require_made_on

app = typer.Typer(no_args_is_help=True)
File = Annotated[Path, typer.Argument(metavar="FILE", help="An archive.json.")]


@app.command()
def show(
    file: File,
    show_example: Annotated[bool, typer.Option("--example", help="What an agent sees before and after.")] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """The counterfactuals of an archive in words, with their estimates.

    JSON: `benchmark, content_hash, entries[…]`, each entry as it is stored; with --example also `examples {entry:
    {task, changes[{call, before, after}]}}`.
    """
    archive = read_archive(file)
    benchmark = open_benchmark(archive.benchmark, data) if archive.entries else None
    examples = _examples(benchmark, archive, file) if show_example and benchmark else {}
    if as_json:
        entries = [entry.model_dump(mode="json") for entry in archive.entries]
        payload: dict[str, Any] = {
            "benchmark": archive.benchmark,
            "content_hash": archive.content_hash,
            "entries": entries,
        }
        if show_example:
            payload["examples"] = {name: asdict(example) for name, example in examples.items()}
        return emit_json("chase.archive.show/1", payload)
    typer.echo(f"{archive.benchmark}: the released benchmark and {len(archive.entries)} confirmed counterfactuals")
    for entry in archive.entries:
        typer.echo(
            printable(f"{entry.name}  round {entry.round}  {_described(benchmark, entry, file)}  [{entry.hash[:12]}]")
        )
        typer.echo("    gain destruction, in points ± standard error (interval)")
        for name, estimate in (("discovery", entry.discovery), ("confirmation", entry.confirmation)):
            typer.echo(f"      {name:<12} {_points(estimate)}")
        if entry.name in examples:
            print_example(examples[entry.name], indent="    ")
    return None


def _points(estimate: Mapping[str, Any]) -> str:
    if not estimate:
        return "not recorded"
    ends = f"{100 * estimate['low']:+.1f} to {100 * estimate['high']:+.1f}"
    return f"{100 * estimate['value']:+.1f} ± {100 * estimate['se']:.1f} ({ends}), {estimate['n']} tasks"


def _described(benchmark: Benchmark[Any] | None, entry: ArchiveEntry, file: Path) -> str:
    """In words; an entry that means nothing here hides none of the others."""
    if benchmark is None:
        return ""
    try:
        found = archived_transformation(benchmark, entry, file)
        return f"{found.describe()}  [{found.symbols()}]"
    except ChaseError as error:
        return f"cannot be used: {error}"


def _examples(benchmark: Benchmark[Any], archive: Archive, file: Path) -> dict[str, Example]:
    require_made_on(archive, benchmark, file)
    return {e.name: example_of(benchmark, archived_transformation(benchmark, e, file)) for e in archive.entries}


@app.command()
def replay(file: File, data: DataFolder = None, as_json: AsJson = False) -> None:
    """Render every entry again and run the firewall again; exit code 6 if anything is not as it was archived.

    JSON: `entries[{name, passed, problems}], passed`.
    """
    archive = read_archive(file)
    benchmark = open_benchmark(archive.benchmark, data)
    require_made_on(archive, benchmark, file)
    with steps(f"replaying {file}"):
        replays = replay_archive(archive, benchmark)
    failed = [r for r in replays if r.problems]
    if as_json:
        rows = [{"name": r.name, "passed": not r.problems, "problems": list(r.problems)} for r in replays]
        emit_json("chase.archive.replay/1", {"benchmark": archive.benchmark, "entries": rows, "passed": not failed})
    else:
        for r in replays:
            line = f"{'FAIL' if r.problems else 'ok  '} {r.name} {'; '.join(r.problems)}"
            typer.echo(printable(line.rstrip()))
    if failed:
        raise IntegrityError(f"{file}: {failed[0].name} is not as it was archived: {failed[0].problems[0]}.")
