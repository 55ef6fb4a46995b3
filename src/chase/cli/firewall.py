"""`chase firewall`: whether a transformation is valid, and whether the firewall itself is sound."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from chase.benchmarks.syn_ledger.firewall import ledger_controls, parse_ledger_proposal, subject_of
from chase.benchmarks.syn_ledger.operators import ALLOWLIST
from chase.benchmarks.syn_ledger.world import lift
from chase.cli.opening import open_benchmark
from chase.cli.output import emit_json, steps
from chase.core.errors import IntegrityError, UserError
from chase.protocol.firewall import examine
from chase.protocol.screen import screen
from chase.protocol.selftest import selftest as run_selftest

app = typer.Typer(no_args_is_help=True, help="Check transformations, and the firewall that checks them.")
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on stdout instead of text.")]


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A transformation as JSON.")],
    benchmark: Annotated[str, typer.Option("--benchmark", metavar="B", help="e.g. syn-ledger@7")],
    as_json: AsJson = False,
) -> None:
    """Run the seven checks on a transformation of your own; exit code 6 if it is not valid.

    JSON: `valid, excluded, checks[{check, passed, evidence}], tasks, hash, description, seconds`. The evidence names
    tasks: it is for you, never for a Challenger.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"FILE={file} cannot be read: {error}.") from None
    proposal = lift(parse_ledger_proposal(text))
    subject = subject_of(open_benchmark(benchmark))
    started = time.monotonic()
    record = examine(proposal, subject)
    excluded = screen(proposal, subject, archived=())
    seconds = time.monotonic() - started
    if as_json:
        emit_json(
            "chase.firewall.check/1",
            {
                "benchmark": subject.name,
                "hash": proposal.transformation.hash,
                "description": proposal.transformation.describe(),
                "valid": record.valid,
                "excluded": excluded,
                "checks": [asdict(verdict) for verdict in record.verdicts],
                "tasks": record.tasks,
                "seconds": seconds,
            },
        )
    else:
        typer.echo(f"{proposal.transformation.describe()}  [{proposal.transformation.hash[:12]}]")
        for verdict in record.verdicts:
            typer.echo(f"{'ok  ' if verdict.passed else 'FAIL'} {verdict.check:<24} {verdict.evidence}")
        if excluded:
            typer.echo(
                f"excluded: {excluded}" + (", no check task looks any different" if excluded == "inactive" else "")
            )
        typer.echo(f"{'valid' if record.valid else 'not valid'}, {record.tasks} tasks, {seconds:.1f} s")
    if not record.valid:
        raise IntegrityError(f"{file} is not valid for {subject.name}: failed {', '.join(record.failed)}.")


@app.command()
def selftest(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="e.g. syn-ledger")], as_json: AsJson = False
) -> None:
    """Run the positive and negative controls; exit code 6 if one does not come out as it must.

    JSON: `controls[{control, expected, found, passed}], passed`.
    """
    opened = open_benchmark(benchmark)
    with steps(f"self-test of the firewall on {opened.name}") as progress:
        outcomes = run_selftest(subject_of(opened), ledger_controls(opened), progress)
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if as_json:
        controls = [asdict(outcome) for outcome in outcomes]
        emit_json("chase.firewall.selftest/1", {"benchmark": opened.name, "controls": controls, "passed": not failed})
    else:
        for outcome in outcomes:
            mark = "ok  " if outcome.passed else "FAIL"
            typer.echo(f"{mark} {outcome.control:<40} {outcome.expected}; found: {outcome.found}")
    if failed:
        first = failed[0]
        raise IntegrityError(
            f"{len(failed)} controls came out wrong; {first.control}: expected {first.expected}, found {first.found}."
        )


@app.command()
def operators(as_json: AsJson = False) -> None:
    """The operators that a transformation for Syn-Ledger may use, with the fields they declare.

    JSON: `operators[{name, version, summary, arguments}]`, arguments as a JSON schema.
    """
    kinds: list[dict[str, Any]] = [
        {"name": k.name, "version": k.version, "summary": k.summary, "arguments": k.arguments.model_json_schema()}
        for k in ALLOWLIST.values()
    ]
    if as_json:
        return emit_json("chase.firewall.operators/1", {"benchmark": "syn-ledger", "operators": kinds})
    for kind in kinds:
        typer.echo(f"{kind['name']} (version {kind['version']}): {kind['summary']}")
        for name, schema in kind["arguments"].get("properties", {}).items():
            choices = schema.get("enum") or [
                c for o in schema.get("anyOf", []) for c in o.get("enum", [o.get("const")])
            ]
            spelled = ", ".join(map(str, choices)) or f"{schema.get('minimum')} to {schema.get('maximum')}"
            typer.echo(f"    {name}: {spelled}")
    return None
