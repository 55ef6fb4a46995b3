"""`chase scan`: which observables of a benchmark give its evidence or its answers away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import chase
from chase.cli.options import AsJson, takes
from chase.cli.output import echo, emit_json, emit_table, printable
from chase.core.errors import IntegrityError
from chase.runs.scan import ALL, ScanResult
from chase.runs.scan_settings import ScanOptions

FROM = {
    "evidence": "the benchmark's labels",
    "sources": "the sources that tasks name",
    "answer": "documents in which an answer can be read that the scorer takes",
}

WHERE = {"files": "in the files too", "tools": "in what tools derive from them"}


@takes(ScanOptions)
def scan(
    given: Mapping[str, Any],
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="e.g. syn-ledger, syn-ledger@7, officeqa")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where transformations are written; default: scan-BENCHMARK."),
    ] = None,
    all_rows: Annotated[bool, typer.Option("--all", help="Print what does not hold up too.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="End with 6 if anything is found.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say which observables of a benchmark give its evidence or its answers away, and write what takes that away.

    Asks no model. Each observable is held against evidence (documents of a task against each other), the place of
    evidence among a document's windows, and the answer; what holds up after Holm's correction is a finding, and
    observables that show one feature are one, named after what the author's files fix before what tools derive from
    it. For each finding single operators and then pairs of the allowlist are
    tried until one takes it away, plants no other and passes the firewall; what takes a part of it away makes that part
    a finding of its own. `audit --transformations` and `bench export --variant` take the files that are written.
    Sealed tasks are left alone unless --use-cert says why.

    JSON: `findings[{name, target, observables[], follows[], beside[], rows[], removal {file, description, symbols,
    after[], unseen[]}, apart[{observables[], removal}], tried}], rows[{target, observable, origin, measure, effect,
    low, high, p, adjusted, n, mean_evidence, mean_others}], explained[], together, tasks, tasks_used, evidence_from,
    level, draws`.
    """
    result = chase.scan(benchmark=name, **given, progress=True)
    folder = out or Path(f"scan-{_file_name(result.payload['benchmark'])}")
    written = result.write(folder) if result.transformations or out is not None else []
    if as_json:
        emit_json(result.schema, result.payload)
    else:
        _print(result, written, all_rows, f" --data {given['data']}" if given.get("data") else "")
    if strict and result.findings:
        names = ", ".join(finding["name"] for finding in result.findings)
        raise IntegrityError(f"{result.payload['benchmark']}: {len(result.findings)} give-aways found: {names}.")


def _file_name(benchmark: str) -> str:
    return "".join(c if c.isalnum() or c in "-_@." else "-" for c in benchmark)


def _print(result: ScanResult, written: Sequence[Path], all_rows: bool, data: str) -> None:
    found = result.payload
    echo(
        f"{found['benchmark']} under {found['variant']}: {found['tasks_used']} of {found['tasks']} tasks of "
        f"{', '.join(found['roles'])}; evidence is known from {FROM[found['evidence_from']]}."
    )
    echo(
        f"{len(found['rows'])} tests, Holm's correction: the chance of any false finding is at most "
        f"{100 * (1 - found['level']):.2g} %.\n"
    )
    for finding in result.findings:
        others = [f["name"] for f in result.findings if set(f["observables"]) & set(finding["beside"])]
        _print_finding(finding, found["observables"], others)
    if not result.findings:
        echo("Nothing found: no observable goes with evidence or the answer as far as these tasks can tell.")
    if all_rows:
        emit_table(_table(found["rows"]))
    if written:
        echo(f"\nWritten to {written[0].parent}: {', '.join(path.name for path in written)}")
        chosen = next((path for path in written if path.stem == ALL), written[0])
        opened = f"{found['benchmark']}{data}"
        echo(f"Next: chase bench export {opened} --variant {chosen} --out DIR")
        echo(f"      chase audit --benchmark {opened} --transformations {chosen} --harness DIR --model M")


def _print_finding(finding: Mapping[str, Any], described: Mapping[str, str], apart: Sequence[str]) -> None:
    first = finding["rows"][0]
    echo(f"{finding['name']}: {_in_words(first, described)}")
    echo(f"  {_effect(first)}, adjusted p {first['adjusted']:.2g}, n = {first['n']}")
    others = finding["rows"][1:]
    for origin, where in WHERE.items():
        if names := [row["observable"] for row in others if row["origin"] == origin]:
            echo(f"  shows {where}: {', '.join(names)}")
    if finding["follows"]:
        echo(f"  from this follow, and add nothing: {', '.join(finding['follows'])}")
    if apart:
        echo(f"  goes together with {', '.join(apart)}: findings apart, as what takes one away leaves the other")
    removal = finding["removal"]
    if removal is not None:
        left = max(removal["after"], key=lambda row: abs(row["effect"] - _middle(row)), default=None)
        gone = "nowhere to be seen under its name" if removal["unseen"] else "the same for all"
        rest = gone if left is None else f"at most {_effect(left, short=True)} is left"
        echo(f"  taken away by: {removal['description']}  [{removal['symbols']}]; {rest}")
    elif finding["tried"] is not None:
        tried = f"{finding['tried']} tried" if finding["tried"] else "no operator touches it"
        echo(f"  nothing of the allowlist takes it away: {tried}")
    for part in finding["apart"]:
        named, by = ", ".join(part["observables"]), part["removal"]
        echo(f"  {named} alone by: {by['description']}  [{by['symbols']}]")


def _middle(row: Mapping[str, Any]) -> float:
    return 0.5 if row["measure"] == "superiority" else 0.0


def _in_words(row: Mapping[str, Any], described: Mapping[str, str]) -> str:
    what = described.get(row["observable"], "which window of the document")
    if row["target"] == "window of evidence":
        return f"evidence stands {'late' if row['effect'] > 0.5 else 'early'} in its documents"
    side = "higher" if row["effect"] > _middle(row) else "lower"
    if row["target"] == "evidence":
        return f"evidence documents have a {side} value of: {what}"
    return f"{row['target']} is {side} with a higher value of: {what}"


def _effect(row: Mapping[str, Any], *, short: bool = False) -> str:
    if row["measure"] == "superiority":
        shown = f"{100 * row['effect']:.0f} %"
        return shown if short else f"higher than another in {shown} ({100 * row['low']:.0f} to {100 * row['high']:.0f})"
    shown = f"{row['effect']:+.2f}"
    return shown if short else f"rank correlation {shown} ({row['low']:+.2f} to {row['high']:+.2f})"


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title="every test", title_justify="left")
    for column in ("target", "observable", "effect", "interval", "p", "adjusted", "n", "evidence", "others"):
        table.add_column(column)
    for row in sorted(rows, key=lambda row: (row["p"], row["target"], row["observable"])):
        means = ("" if row[side] is None else f"{row[side]:.3g}" for side in ("mean_evidence", "mean_others"))
        table.add_row(
            printable(row["target"]), printable(row["observable"]), f"{row['effect']:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}", f"{row['p']:.4f}", f"{row['adjusted']:.4f}", str(row["n"]),
            *means,
        )  # fmt: skip
    return table
