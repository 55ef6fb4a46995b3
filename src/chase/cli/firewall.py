"""`chase firewall`: whether a transformation is valid, and whether the firewall itself is sound."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from chase.benchmarks.registry import DEFAULT
from chase.cli.examples import print_example
from chase.cli.opening import open_benchmark
from chase.cli.options import AsJson, DataFolder
from chase.cli.output import emit_json, steps
from chase.core.errors import IntegrityError, UserError
from chase.core.interfaces import Operator, OperatorKind
from chase.protocol.example import example_of
from chase.protocol.firewall import run_checks
from chase.protocol.proposal import parse_for
from chase.protocol.screening import exclusion
from chase.protocol.selftest import selftest as run_selftest

app = typer.Typer(no_args_is_help=True)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A transformation as JSON.")],
    benchmark: Annotated[str, typer.Option("--benchmark", metavar="B", help="e.g. syn-ledger@7")],
    show_example: Annotated[bool, typer.Option("--example", help="What an agent sees before and after.")] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Run the seven checks on a transformation of your own; exit code 6 if it is not valid.

    JSON: `valid, excluded, checks[{check, passed, evidence}], tasks, hash, description, seconds, example {task,
    changes[{call, before, after}]}`. The evidence names tasks: it is for you, never for a Challenger.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"FILE={file} cannot be read: {error}.") from None
    opened = open_benchmark(benchmark, data)
    parsed = parse_for(opened, text)
    proposal = parsed.lifted(opened.subject)
    started = time.monotonic()
    record = run_checks(proposal, opened.subject)
    excluded = exclusion(proposal, opened.subject, archived=())
    seconds = time.monotonic() - started
    example = example_of(opened, parsed.transformation)
    if as_json:
        emit_json(
            "chase.firewall.check/1",
            {
                "benchmark": opened.name,
                "hash": proposal.transformation.hash,
                "description": proposal.transformation.describe(),
                "symbols": proposal.transformation.symbols(),
                "valid": record.valid,
                "excluded": excluded,
                "checks": [asdict(verdict) for verdict in record.verdicts],
                "tasks": record.tasks,
                "seconds": seconds,
                "example": asdict(example),
            },
        )
    else:
        transformation = proposal.transformation
        typer.echo(f"{transformation.describe()}  [{transformation.symbols()}; {transformation.hash[:12]}]")
        for verdict in record.verdicts:
            typer.echo(f"{'ok  ' if verdict.passed else 'FAIL'} {verdict.check:<24} {verdict.evidence}")
        if excluded:
            typer.echo(
                f"excluded: {excluded}" + (", no check task looks any different" if excluded == "inactive" else "")
            )
        if show_example:
            print_example(example)
        typer.echo(f"{'valid' if record.valid else 'not valid'}, {record.tasks} tasks, {seconds:.1f} s")
    if not record.valid:
        raise IntegrityError(f"{file} is not valid for {opened.name}: failed {', '.join(record.failed)}.")


@app.command()
def selftest(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="e.g. syn-ledger")],
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Run the positive and negative controls; exit code 6 if one does not come out as it must.

    JSON: `controls[{control, expected, found, passed}], passed`.
    """
    opened = open_benchmark(benchmark, data)
    with steps(f"self-test of the firewall on {opened.name}") as progress:
        outcomes = run_selftest(opened, progress)
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
def operators(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="e.g. syn-ledger")] = DEFAULT,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """The operators that a transformation for a benchmark may use, with what they declare, draw and undo.

    JSON: `operators[{name, version, summary, arguments, forms[{arguments, declares, seeded, inverse}]}]`, arguments
    as a JSON schema, and a form for each way to write them.
    """
    opened = open_benchmark(benchmark, data)
    if as_json:
        kinds = [_kind(kind) for kind in opened.allowlist.values()]
        return emit_json("chase.firewall.operators/1", {"benchmark": opened.base, "operators": kinds})
    for kind in opened.allowlist.values():
        typer.echo(f"{kind.name} (version {kind.version}): {kind.summary}")
        for name, values in kind.choices().items():
            typer.echo(f"    {name}: {', '.join(map(str, values))}")
        # Forms that do the same are told in one line.
        alike: dict[str, list[str]] = {}
        for operator in kind.forms():
            alike.setdefault(_effects(operator), []).append(_spelled(operator.arguments))
        for effects, forms in alike.items():
            typer.echo(f"    {', '.join(forms)}: {effects}")
    return None


def _kind(kind: OperatorKind[Any]) -> dict[str, Any]:
    return {
        "name": kind.name,
        "version": kind.version,
        "summary": kind.summary,
        "arguments": kind.schema(),
        "forms": [
            {
                "arguments": dict(operator.arguments),
                "declares": sorted(operator.fields),
                "seeded": operator.seeded,
                "inverse": dict(inverse.arguments) if (inverse := operator.inverse()) else None,
            }
            for operator in kind.forms()
        ],
    }


def _effects(operator: Operator[Any]) -> str:
    inverse = operator.inverse()
    undone = "no inverse" if inverse is None else f"inverse {_spelled(inverse.arguments)}"
    if inverse and inverse.arguments == operator.arguments:
        undone = "its own inverse"
    return f"declares {', '.join(sorted(operator.fields))}; {'seeded' if operator.seeded else 'no seed'}; {undone}"


def _spelled(arguments: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in arguments.items()) or "no arguments"
