"""`chase trace`: read what happened in one rollout, and find the rollouts there are."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from chase.cli.opening import open_benchmark
from chase.cli.options import AsJson, DataFolder, WorkspaceFolder
from chase.cli.output import emit_json, printable
from chase.core.errors import UserError
from chase.runs.answers import Explanation, explain, require_owner
from chase.runs.naming import Names, names_in
from chase.runs.opening import locate
from chase.runs.stories import story
from chase.store.reader import SHOWN_ROLLOUTS
from chase.store.records import Run, StoredRollout, Wanted
from chase.store.store import Store

app = typer.Typer(no_args_is_help=True)

SHOWN_DIGITS = 12


@app.command()
def show(
    rollout: Annotated[str, typer.Argument(metavar="ID", help="The beginning of a rollout's digest.")],
    workspace: WorkspaceFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print one rollout: what the model was told, what it did, what it got, how it ended.

    --json: schema chase.trace.show/1 with workspace, digest, key, outcome {status, score, reason}, answer,
    usage, served_models, created_at, runs [{id, benchmark, split, variant}] and trace (with its events).
    """
    with Store.open(locate(workspace), write=False) as store:
        found = store.find_rollout(rollout.lower())
        trace = store.trace(found.trace_digest)
        runs = store.runs_using(found.digest)
        root = str(store.workspace.root)
    if as_json:
        emit_json("chase.trace.show/1", {"workspace": root, **_payload(found, runs), "trace": trace})
        return
    for line in (*_head(found, runs), *_told(trace)):
        typer.echo(printable(line))


@app.command("list")
def list_rollouts(
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="An id, its beginning, or latest.")] = None,
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="Only rollouts of this task.")] = None,
    harness: Annotated[
        str | None, typer.Option("--harness", metavar="H", help="Its name in --run, or the beginning of its hash.")
    ] = None,
    variant: Annotated[
        str | None, typer.Option("--variant", metavar="V", help="released, its name in --run, or a hash's beginning.")
    ] = None,
    split: Annotated[str | None, typer.Option("--split", metavar="ROLE", help="Only of this task set.")] = None,
    score: Annotated[
        str | None, typer.Option("--score", metavar="FROM-TO", help="Scores between these, e.g. 0 or 0-0.5.")
    ] = None,
    outcome: Annotated[
        str | None, typer.Option("--outcome", metavar="WORD", help="A status, or how the reason begins.")
    ] = None,
    expected: Annotated[
        bool, typer.Option("--expected", help="What was expected and which evidence was not read; a finished --run's.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Show so many.")] = SHOWN_ROLLOUTS,
    data: DataFolder = None,
    workspace: WorkspaceFolder = None,
    as_json: AsJson = False,
) -> None:
    """List the newest rollouts with the digest that `chase trace show` takes; harnesses and variants by the names that
    they have in --run. Why did these fail? `chase trace list --run latest --score 0 --expected`.

    --expected is for the owner of the workspace, of finished runs, and of sealed tasks only where the run opened them.
    It is printed and kept nowhere.

    --json: schema chase.trace.list/1 with workspace, run, task, total and rollouts [{digest, task, index, role,
    harness, variant, status, score, reason, answer, created_at}], with --expected also {expected, unread}.
    """
    with Store.open(locate(workspace), write=False) as store:
        known = store.find_run(run) if run is not None else None
        names = Names() if known is None else names_in(known, store.workspace)
        least, most = _scores(score)
        wanted = Wanted(
            run=None if known is None else known.id,
            task=task,
            harness=_hash("harness", harness, names.harnesses),
            transformation=_hash("variant", variant, names.variants),
            role=split,
            outcome=outcome,
            least_score=least,
            most_score=most,
        )
        found, total = store.rollouts(wanted, limit=limit)
        why = _explained(store, known, found, data) if expected else {}
        root = str(store.workspace.root)
    if as_json:
        entries = [_entry(rollout, names, why, told=expected) for rollout in found]
        payload = {"workspace": root, "run": wanted.run, "task": task, "total": total, "rollouts": entries}
        emit_json("chase.trace.list/1", payload)
        return
    for line in _table(found, total, names, why, told=expected):
        typer.echo(printable(line))


def _scores(text: str | None) -> tuple[float | None, float | None]:
    """`0.5` or `0-0.5` as the least and the greatest score."""
    if text is None:
        return None, None
    try:
        least, most = ([float(part) for part in text.split("-")] * 2)[:2] if text.count("-") < 2 else (1.0, 0.0)
    except ValueError:
        least, most = 1.0, 0.0
    if not 0 <= least <= most <= 1:
        raise UserError(f"--score={text} is neither a score nor two of them from 0 to 1: write 0, or 0-0.5.")
    return least, most


def _hash(option: str, given: str | None, names: Mapping[str, str]) -> str | None:
    """The hash of a name, or the beginning of one."""
    if given is None:
        return None
    named = next((found for found, name in names.items() if name == given), None)
    if named is None and not set(given) <= set("0123456789abcdef"):
        known = ", ".join(sorted(set(names.values()))) or "none without --run RUN"
        raise UserError(f"unknown {option} '{given}'. Names: {known}; or give the beginning of a hash.")
    return named or given


def _explained(
    store: Store, run: Run | None, found: Sequence[StoredRollout], data: Path | None
) -> Mapping[str, Explanation]:
    if run is None:
        raise UserError("--expected needs the run whose rollouts are explained: add --run RUN.")
    require_owner(store, run)
    return explain(store, run, open_benchmark(str(run.config["benchmark"]), data), found)


def _entry(rollout: StoredRollout, names: Names, why: Mapping[str, Explanation], *, told: bool) -> dict[str, Any]:
    key = rollout.key
    entry = {"digest": rollout.digest, "task": key.task, "index": key.index, "role": key.role}
    entry |= {"harness": names.harness(key.harness), "variant": names.variant(key.transformation)}
    entry |= {**asdict(rollout.outcome), "answer": rollout.answer, "created_at": rollout.created_at}
    if told:
        found = why.get(rollout.digest)
        entry["expected"] = None if found is None else found.expected
        entry["unread"] = None if found is None or found.unread is None else dict(found.unread)
    return entry


def _table(
    found: Sequence[StoredRollout], total: int, names: Names, why: Mapping[str, Explanation], *, told: bool
) -> Iterator[str]:
    if not found:
        yield "no rollouts"
        return
    called = [(names.harness(r.key.harness), names.variant(r.key.transformation)) for r in found]
    columns = zip(("harness", "variant"), *called, strict=True)
    wide = [max(map(len, column)) for column in columns]
    yield (
        f"{'digest':<{SHOWN_DIGITS}}  {'task':<12}{'index':>5}  {'role':<6} {'harness':<{wide[0]}}  "
        f"{'variant':<{wide[1]}}  {'score':>5}  reason"
    )
    for rollout, (harness, variant) in zip(found, called, strict=True):
        key, outcome = rollout.key, rollout.outcome
        score = "-" if outcome.score is None else f"{outcome.score:g}"
        digest, reason = rollout.digest[:SHOWN_DIGITS], " ".join(outcome.reason.split())
        yield (
            f"{digest}  {key.task:<12}{key.index:>5}  {key.role:<6} {harness:<{wide[0]}}  {variant:<{wide[1]}}  "
            f"{score:>5}  {reason}"
        )
        if told:
            yield f"    {_why(rollout, why.get(rollout.digest))}"
    if len(found) < total:
        yield f"… and {total - len(found):,} older ones; --limit shows more"


def _why(rollout: StoredRollout, found: Explanation | None) -> str:
    if found is None:
        return "not told: a sealed task that this run did not open, or of another benchmark"
    said = f"answered {'nothing' if rollout.answer is None else rollout.answer}, expected {found.expected}"
    if found.unread is None:
        return said
    unread = ", ".join(f"{path} ({what})" for path, what in found.unread.items()) or "none"
    return f"{said}; evidence not read: {unread}"


def _payload(rollout: StoredRollout, runs: Sequence[Run]) -> dict[str, Any]:
    return {
        "digest": rollout.digest,
        "key": asdict(rollout.key),
        "outcome": asdict(rollout.outcome),
        "answer": rollout.answer,
        "usage": asdict(rollout.usage),
        "served_models": list(rollout.served_models),
        "created_at": rollout.created_at,
        "runs": [_run(run) for run in runs],
    }


def _run(run: Run) -> dict[str, Any]:
    """What a run's config says of the rollout's names, whose hashes are in its key."""
    return {"id": run.id, **{name: run.config.get(name) for name in ("benchmark", "split", "variant")}}


def _head(rollout: StoredRollout, runs: Sequence[Run]) -> Iterator[str]:
    key, outcome, usage = rollout.key, rollout.outcome, rollout.usage
    score = "no score" if outcome.score is None else f"score {outcome.score:g}"
    cost = "unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    served = ", ".join(rollout.served_models) or "no model answered"
    yield f"rollout    {rollout.digest}"
    yield f"task       {key.task}, index {key.index}, role {key.role}, run seed {key.run_seed}"
    yield f"model      {served} (fingerprint {key.model[:SHOWN_DIGITS]})"
    yield f"harness    {key.harness[:SHOWN_DIGITS]}"
    yield f"benchmark  {key.benchmark[:SHOWN_DIGITS]}, transformation {key.transformation[:SHOWN_DIGITS]}"
    for run in map(_run, runs):
        names = ", ".join(str(run[name]) for name in ("benchmark", "split", "variant") if run[name] is not None)
        yield f"run        {run['id']}" + (f" ({names})" if names else "")
    yield f"outcome    {outcome.status}, {score}, {outcome.reason}"
    yield f"answer     {'none' if rollout.answer is None else rollout.answer}"
    yield (
        f"usage      {usage.requests} requests, {usage.input_tokens:,} input ({usage.cached_tokens:,} cached) and "
        f"{usage.output_tokens:,} output tokens, cost {cost}, {usage.wall_seconds:.2f} s"
    )
    yield f"recorded   {rollout.created_at}"


def _told(trace: Mapping[str, Any]) -> Iterator[str]:
    """The trace's steps, one paragraph each."""
    steps = list(story(trace))
    if not steps:
        yield "\nno trace: the rollout failed before anything was recorded"
    for step in steps:
        yield f"\n[{step.turn}] {step.heading}"
        for text in step.texts:
            yield textwrap.indent(text.rstrip("\r\n"), "    ") if text.strip() else "    (nothing)"
