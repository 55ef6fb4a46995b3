"""`chase archive`: what an archive holds, and whether it still means the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chase.benchmarks.syn_ledger.firewall import parse_ledger_proposal, subject_of
from chase.benchmarks.syn_ledger.world import lift
from chase.cli.opening import open_benchmark
from chase.cli.output import emit_json, printable, steps
from chase.core.errors import IntegrityError
from chase.protocol.archive import read_archive
from chase.protocol.archive import replay as replay_archive

app = typer.Typer(no_args_is_help=True, help="Look at archived counterfactuals and replay them.")
File = Annotated[Path, typer.Argument(metavar="FILE", help="An archive.json.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout instead of text.")]


@app.command()
def show(file: File, as_json: AsJson = False) -> None:
    """The counterfactuals of an archive in words, with their estimates.

    JSON: `benchmark, content_hash, entries[…]`, each entry as it is stored.
    """
    archive = read_archive(file)
    if as_json:
        entries = [entry.model_dump(mode="json") for entry in archive.entries]
        payload = {"benchmark": archive.benchmark, "content_hash": archive.content_hash, "entries": entries}
        return emit_json("chase.archive.show/1", payload)
    typer.echo(f"{archive.benchmark}: the released benchmark and {len(archive.entries)} confirmed counterfactuals")
    for entry in archive.entries:
        transformation = parse_ledger_proposal(entry.transformation).transformation
        line = f"{entry.name}  round {entry.round}  {transformation.describe()}  [{entry.hash[:12]}]"
        typer.echo(printable(line))
    return None


@app.command()
def replay(file: File, as_json: AsJson = False) -> None:
    """Render every entry again and run the firewall again; exit code 6 if anything is not as it was archived.

    JSON: `entries[{name, passed, problems}], passed`.
    """
    archive = read_archive(file)
    benchmark = open_benchmark(archive.benchmark)
    if benchmark.content_hash != archive.content_hash:
        raise IntegrityError(f"{file} was made on another content of {archive.benchmark}: it cannot be replayed here.")
    with steps(f"replaying {file}"):
        replays = replay_archive(archive, subject_of(benchmark), lambda form: lift(parse_ledger_proposal(form)))
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
