"""An evolution in words: what happens as it happens on stderr, what came out on stdout."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch, singledispatchmethod
from pathlib import Path
from typing import Any

import typer

from chase.cli.output import printable
from chase.cli.progress import RolloutProgress
from chase.cli.tokens import token_lines
from chase.core.events import (
    AgentReplied,
    AgentWaiting,
    Archived,
    Challenged,
    ChallengeSkipped,
    Confirmed,
    DraftsReceived,
    Event,
    FinalSelected,
    PoolEntry,
    RoundStarted,
    Selected,
)
from chase.harness.diff import Change, HarnessDiff, render_diff

RELEASED, NEUTRAL = "released", "neutral"
SYMBOLS = {"rounds": "T", "epsilon": "ε", "eta": "η"}
"""How the paper writes what several methods have as options."""


AGENTS = {"propose": "Proposer", "challenge": "Challenger"}


@singledispatch
def agent_lines(event: Event) -> Iterator[str]:
    """An agent at work in words; of other events nothing."""
    yield from ()


@agent_lines.register
def _(event: AgentReplied) -> Iterator[str]:
    calls = ", ".join(name[:40] for name in event.calls[:4]) or "text only"
    tokens = f"{event.input_tokens:,} + {event.output_tokens:,} tokens"
    yield f"  {AGENTS[event.purpose]} ({event.model}), request {event.request}: {calls}; {tokens}"


@agent_lines.register
def _(event: AgentWaiting) -> Iterator[str]:
    yield f"  {AGENTS[event.purpose]}: {event.what}, {event.seconds} s"


class Narrator:
    """Hears of a run as it goes on and says it on stderr."""

    def __init__(self, progress: RolloutProgress) -> None:
        self._progress = progress

    def __call__(self, event: Event) -> None:
        for line in self._lines(event):
            self.say(line)

    def say(self, line: str) -> None:
        self._progress.close()  # the live line gives way
        typer.echo(printable(line), err=True)

    def certification(self, tasks: int) -> None:
        self._progress.label = "certification"
        self.say(f"certification: everything is fixed and recorded; the {tasks} sealed tasks are opened")

    @singledispatchmethod
    def _lines(self, event: Event) -> Iterator[str]:
        return agent_lines(event)

    @_lines.register
    def _(self, event: RoundStarted) -> Iterator[str]:
        self._progress.label = f"round {event.round}"
        of = "" if event.rounds is None else f" of {event.rounds}"
        yield f"round {event.round}{of}: from {event.current}, archive: {', '.join(event.archive)}"

    @_lines.register
    def _(self, event: Selected) -> Iterator[str]:
        yield from _pool(event.pool, event.selected)
        for refusal in event.refused:
            yield f"    refused {refusal}"

    @_lines.register
    def _(self, event: FinalSelected) -> Iterator[str]:
        self._progress.label = "final selection"
        yield "final selection among the rounds' harnesses"
        yield from _pool(event.pool, event.selected)

    @_lines.register
    def _(self, event: DraftsReceived) -> Iterator[str]:
        yield f"  Challenger: {event.count} transformations to be screened"

    @_lines.register
    def _(self, event: ChallengeSkipped) -> Iterator[str]:
        yield f"  Challenger skipped: {event.reason}"

    @_lines.register
    def _(self, event: Challenged) -> Iterator[str]:
        for proposal in event.proposals:
            yield f"    {_screened(proposal)}"
        once = {found["hash"]: found for found in event.evaluated}  # a part may have been evaluated already
        for found in once.values():
            yield f"  on disc: {found['what']}: gain destruction {_points(found['destruction'])}"
        frozen = event.frozen
        yield f"  frozen: {frozen['what']}" if frozen else "  nothing frozen: no transformation passed the screens"

    @_lines.register
    def _(self, event: Confirmed) -> Iterator[str]:
        verdict = "confirmed" if event.confirmed else "not confirmed"
        if event.failed:
            verdict += f", failed checks: {', '.join(event.failed)}"
        eta = 100 * float(event.eta)
        yield f"  on {event.role}: gain destruction {_points(event.destruction)} against η = {eta:g}: {verdict}"

    @_lines.register
    def _(self, event: Archived) -> Iterator[str]:
        yield f"  archived as {event.name}: {event.what}"


def _pool(pool: Sequence[PoolEntry], selected: str) -> Iterator[str]:
    """Each harness with its released score and the constraints it breaks; the selected one is marked."""
    width = max(len(entry.harness) for entry in pool)
    for entry in pool:
        broken = [name if by is None else f"{name} by {100 * by:.1f}" for name, by in entry.violates.items()]
        mark = "*" if entry.harness == selected else " "
        line = f"  {mark} {entry.harness:<{width}}  {100 * entry.released:5.1f} %"
        if entry.destruction:
            each = ", ".join(f"{name} {100 * value:+.1f}" for name, value in entry.destruction.items())
            line += f"  gain destruction {each}"
        yield line + (f"  violates {', '.join(broken)}" if broken else "")


def _screened(proposal: Mapping[str, Any]) -> str:
    suspected = f"  (suspects {', '.join(proposal['suspected'])})" if proposal["suspected"] else ""
    verdict = proposal["verdict"]
    why = f": {proposal['reason']}" if verdict in ("refused", "invalid") else ""
    return f"{verdict}{why}  {proposal['what']}{suspected}"


def _points(estimate: Mapping[str, Any]) -> str:
    return f"{100 * estimate['value']:+.1f} ± {100 * estimate['se']:.1f}"


def print_evolution(payload: Mapping[str, Any], folder: Path) -> None:
    """What came out, on stdout."""
    config, final = payload["config"], payload["final"]
    settings = [f"seed {config['seed']}"]
    settings += [f"{symbol} = {config[name]}" for name, symbol in SYMBOLS.items() if name in config]
    _echo(
        f"run {payload['run']}: {config['method']} on {config['benchmark']}, model {config['model']}, "
        f"{', '.join(settings)}"
    )
    _print_final(final, config["initial"])
    _print_archive(payload["archive"])
    if payload["certification"] is None:
        _echo(f"\nnot certified: `chase certify {payload['run']}` opens the sealed tasks")
    else:
        typer.echo("")
        _print_table(payload["certification"])
    seconds, inside = payload["wall_seconds"], payload["rollout_seconds"]
    cost = payload["spent"]["cost_usd"]
    _echo(
        f"\n{payload['executed']} rollouts executed, {payload['reused']} from the store; "
        f"{payload['spent']['requests']} requests, cost {'unknown' if cost is None else f'${cost:.4f}'}; "
        f"{seconds:.1f} s, {seconds - inside:.1f} s of them outside rollouts"
    )
    for line in token_lines(payload["tokens"]):
        _echo(line)
    _notes(payload)
    here = Path.cwd()
    _echo(f"files: {folder.relative_to(here) if folder.is_relative_to(here) else folder}/")


def print_certification(payload: Mapping[str, Any]) -> None:
    """A run's certification, on stdout."""
    config = payload["config"]
    _echo(
        f"run {payload['run']}: {config['method']} on {config['benchmark']}, model {config['model']}, "
        f"seed {config['seed']}, H* = {payload['final']['name']} [{payload['final']['hash'][:12]}]"
    )
    _print_table(payload["certification"])
    _notes(payload)


def _print_final(final: Mapping[str, Any], initial: str) -> None:
    scores = {row["harness"]: row["released"] for row in final["selection"]["pool"]}
    score, first = scores[final["name"]], next(iter(scores.values()))
    _echo(
        f"H* = {final['name']} [{final['hash'][:12]}]: {100 * score:.1f} % on evo as released, H_0 {100 * first:.1f} %"
    )
    if not final["changes"]:
        return _echo("  the initial harness itself")
    changes = tuple(
        Change(**{**{key: value for key, value in change.items() if key != "track"}, "lines": tuple(change["lines"])})
        for change in final["changes"]
    )
    text = render_diff(HarnessDiff(old=initial, new=final["hash"], changes=changes))
    return _echo("\n".join(f"  {line}".rstrip() for line in text.split("\n")[1:]))


def _print_archive(archive: Sequence[Mapping[str, Any]]) -> None:
    _echo(f"\narchive: the released benchmark and {len(archive)} confirmed counterfactual{'s'[: len(archive) != 1]}")
    for entry in archive:
        _echo(
            f"  {entry['name']}  round {entry['round']}  {entry['what']}  "
            f"[discovery {_points(entry['discovery'])}, confirmation {_points(entry['confirmation'])}]"
        )


def _print_table(found: Mapping[str, Any]) -> None:
    """The paper's columns, in percent and percentage points, each with its standard error and tasks."""
    _echo(f"certification on {found['tasks']} sealed tasks, in % ± standard error")
    for name, estimate in _rows(found):
        value = f"{100 * estimate['value']:{'' if name.startswith('R') else '+'}.2f}"
        _echo(f"  {name:<10} {value:>7} ± {100 * estimate['se']:5.2f}   n = {estimate['n']}")
    for reason in found["reopened"]:
        _echo(f"reopened: {reason}")


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


def _notes(payload: Mapping[str, Any]) -> None:
    for warning in payload["warnings"]:
        _echo(f"note: {warning}")


def _echo(line: str) -> None:
    typer.echo(printable(line))
