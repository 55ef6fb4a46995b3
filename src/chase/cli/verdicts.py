"""How commands print an audit's verdict and what it rests on, and which verdicts end with exit code 5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, get_args

import typer

from chase.cli.output import printable
from chase.core.errors import ChaseError, choose
from chase.methods.verdict import FAILING, Word
from chase.runs.coverage import coverage
from chase.runs.rendering import EXPLAINED, share_with_ends

NOBODY = "none"
"""`--fail-on none`: no verdict fails."""
FAILS_BY_DEFAULT = ",".join(FAILING)
FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on",
        metavar="VERDICTS",
        help="End with 5 on any of these, separated by commas; none: on no verdict.",
        rich_help_panel="Run",
    ),
]
Found = Mapping[str, Any]
VERDICTS = {"no gain": "NO GAIN.", "in doubt": "the gain is IN DOUBT.", "untested": "UNTESTED: nothing could be shown."}
NAMES_COVERAGE: tuple[Word, ...] = ("supported", "partly supported")
"""Verdicts that are printed with what they are against."""


class VerdictFails(ChaseError):
    """A verdict that ends with exit code 5."""

    exit_code = 5


def verdicts(listed: str) -> frozenset[str]:
    """The verdicts that are listed, with a space or a hyphen; anything else is refused before anything is run."""
    words = [part.strip().replace("-", " ") for part in listed.split(",")]
    return frozenset(choose("fail-on", word, (*get_args(Word), NOBODY)) for word in words) - {NOBODY}


def fail_on_verdict(failing: frozenset[str], verdict: str | None, reason: str, harness: object) -> None:
    """End with 5 on a verdict that is listed."""
    if verdict in failing:
        said = f"{harness} has no gain" if verdict == "no gain" else f"the gain of {harness} is {verdict}"
        raise VerdictFails(f"{said}: {reason}.")


def print_verdict(payload: Found, tasks: int, what: str) -> None:
    """The verdict, a favourable one with its coverage; the reason; how many tasks would settle an inconclusive one."""
    verdict = payload["verdict"]
    against = f" against {coverage(payload)}" if verdict in NAMES_COVERAGE else ""
    typer.echo(printable(f"Verdict: {VERDICTS.get(verdict, f'the gain is {verdict.upper()}{against}.')}"))
    typer.echo(printable(f"  {payload['reason']}"))
    print_tasks_needed(payload, tasks, what)


def print_tasks_needed(payload: Found, tasks: int, what: str) -> None:
    if payload["tasks_needed"]:
        typer.echo(f"  about {payload['tasks_needed']} {what} would settle it; there were {tasks}")


def print_gain(payload: Found) -> None:
    """The released gain with the scores that it is the difference of."""
    typer.echo(f"released gain            {interval(payload['g_rel'])}: {from_to(payload['scores'])}")


def print_survival(payload: Found) -> None:
    """Print the largest confirmed gain destruction and what it leaves; nothing where none is confirmed."""
    if not payload["gamma"]:
        return
    typer.echo(f"largest gain destruction {100 * payload['gamma']:+.1f} points")
    typer.echo(f"surviving gain           {100 * payload['g_min']:+.1f} points")


def print_counterfactual(found: Found) -> None:
    """What the tasks say of one counterfactual."""
    share = found["share_destroyed"]
    of_it = "" if share is None else f", {share_with_ends(share)} of the gain"
    typer.echo(f"  gain destruction {interval(found['destruction'])}{of_it}")
    typer.echo(f"  under it {100 * found['gain']['value']:+.1f} points are left: {from_to(found['scores'])}")
    if found["expected_share"] < EXPLAINED:
        typer.echo(f"  the base rate alone would leave {100 * found['expected_share']:.0f} % of the gain")
    if found["no_room"]:
        typer.echo(f"  under it no gain could have been told from nothing: {found['no_room']}")


def interval(estimate: Found) -> str:
    return f"{100 * estimate['value']:+.1f} points ({100 * estimate['low']:+.1f} to {100 * estimate['high']:+.1f})"


def from_to(scores: Found) -> str:
    return f"{100 * scores['baseline']['value']:.1f} % to {100 * scores['harness']['value']:.1f} %"
