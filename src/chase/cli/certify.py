"""`chase certify`: what is left of a run's gain on the sealed tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

import chase
from chase.cli.options import AsJson, takes
from chase.cli.output import echo, emit
from chase.runs.results import CertifyResult
from chase.runs.settings import CertifySettings

RELEASED, NEUTRAL = "released", "neutral"


@takes(CertifySettings)
def certify(
    given: Mapping[str, Any],
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of it, or latest.")],
    as_json: AsJson = False,
) -> None:
    """Print the certification of a finished `chase evolve`; one made with --no-certify is certified now,
    under the run's budget where no other is given.

    JSON: `run, config, final {name, hash}, certification {scores, gains, destruction, gamma, g_min,
    excess_search_gain, worst, tasks, invalid, reopened}`.
    """
    result = chase.certify(run, **given, progress=True)
    return emit(result) if as_json else _print(result)


def _print(result: CertifyResult) -> None:
    config, final = result.payload["config"], result.payload["final"]
    echo(
        f"run {result.run}: {config['method']} on {config['benchmark']}, model {config['model']}, "
        f"seed {config['seed']}, H* = {final['name']} [{final['hash'][:12]}]"
    )
    print_table(result.payload["certification"])
    for warning in result.warnings:
        echo(f"note: {warning}")


def print_table(found: Mapping[str, Any]) -> None:
    """The paper's columns, in percent and percentage points, each with its standard error and tasks."""
    echo(f"certification on {found['tasks']} sealed tasks, in % ± standard error")
    for name, estimate in _rows(found):
        value = f"{100 * estimate['value']:{'' if name.startswith('R') else '+'}.2f}"
        echo(f"  {name:<10} {value:>7} ± {100 * estimate['se']:5.2f}   n = {estimate['n']}")
    for name, failed in found["invalid"].items():
        echo(f"{name} is not valid on the sealed tasks ({'; '.join(failed)}): it is no evidence and is left out.")
    for reason in found["reopened"]:
        echo(f"reopened: {reason}")


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    known = NEUTRAL in found["gains"]
    for harness in ("H0", "H*"):
        yield f"R_rel({harness})", found["scores"][harness][RELEASED]
        if known:
            yield f"R_0({harness})", found["scores"][harness][NEUTRAL]
    yield "G_rel", found["gains"][RELEASED]
    if known:
        yield "G_0", found["gains"][NEUTRAL]
        yield "Δ_BS", found["destruction"][NEUTRAL]
    yield "Γ", found["gamma"]
    yield "G_min", found["g_min"]
    yield "Δ_TS", found["excess_search_gain"]
