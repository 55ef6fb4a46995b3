"""`chase harness`: start one, check it, read it, and see what changed from one to another."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tomli_w
import typer

from chase.benchmarks.registry import benchmark_names
from chase.cli.opening import open_benchmark
from chase.cli.options import AsJson, DataFolder
from chase.cli.output import echo, emit_json, new_folder, printable
from chase.core.errors import UserError, choose
from chase.core.interfaces import Benchmark
from chase.harness.diff import diff_harnesses, render_diff
from chase.harness.folder import CONTROL, initial_harness, load_harness, save_harness
from chase.harness.limits import check_for_benchmark
from chase.harness.spec import COMPONENTS, Harness
from chase.runs.opening import checked_hooks

if TYPE_CHECKING:
    from chase.runs.hook_trial import HookTrial

app = typer.Typer(no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The harness's folder.")]


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    benchmark: Annotated[str, typer.Option("--benchmark", metavar="B", help="e.g. syn-ledger")],
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Write the initial harness H_0 of the paper: its core prompt, no memory, no guidance, no policies.

    JSON (chase.harness.init/1): `folder, hash, benchmark`.
    """
    opened = open_benchmark(benchmark, data)
    base, harness = opened.base, initial_harness(opened)
    save_harness(harness, new_folder(folder, "DIR"))
    if as_json:
        return emit_json("chase.harness.init/1", {"folder": str(folder), "hash": harness.hash, "benchmark": base})
    typer.echo(f"H_0 for {base} is in {folder}, hash {harness.hash[:16]}")
    return None


@app.command()
def check(
    folder: Folder,
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", metavar="B", help="Default: the one that harness.toml names.")
    ] = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Load a harness, hold it to its benchmark's limits, type-check control.py and run each hook once on a task.

    Exit code 2 if something is wrong, a hook that fails on the task included.

    JSON (chase.harness.check/1): `folder, hash, benchmark, components[{name, track, changed}], hooks,
    hook_trials[{hook, status, reason, line, detail}]`; `changed` lists what differs from H_0.
    """
    harness = load_harness(folder)
    opened = open_benchmark(benchmark or _own_benchmark(harness, folder), data)
    check_for_benchmark(harness, opened, where=str(folder))
    hooks = checked_hooks(harness, folder)
    trials = _trials(harness, opened, hooks, folder) if hooks else []
    components = list(_components(initial_harness(opened), harness))
    if as_json:
        payload = {"folder": str(folder), "hash": harness.hash, "benchmark": opened.name, "components": components}
        tried = [asdict(trial) for trial in trials]
        emit_json("chase.harness.check/1", {**payload, "hooks": hooks, "hook_trials": tried})
    else:
        _print_check(folder, opened.name, harness, components, trials)
    if failed := [trial.hook for trial in trials if trial.status == "failed"]:
        raise UserError(f"{folder}/{CONTROL}: {', '.join(failed)} failed on an example. Mend it: it would do nothing.")


def _trials(harness: Harness, benchmark: Benchmark[Any], hooks: list[str], folder: Path) -> list[HookTrial]:
    from chase.runs.hook_trial import trials_of  # the engine, which no other command here needs

    return trials_of(harness, benchmark, hooks, folder)


def _print_check(
    folder: Path, benchmark: str, harness: Harness, components: list[dict[str, Any]], trials: list[HookTrial]
) -> None:
    typer.echo(f"{folder} is a harness for {benchmark}\nhash {harness.hash}")
    for component in components:
        changed = ", ".join(component["changed"]) or "as in H_0"
        typer.echo(f"  {component['name']:<18}{component['track']:<12}{changed}")
    typer.echo("hooks: none" if not trials else "hooks:")
    for trial in trials:
        echo(f"  {trial.hook:<18}{trial.text}")


def _own_benchmark(harness: Harness, folder: Path) -> str:
    try:
        return choose("benchmark", harness.structure.benchmark, benchmark_names())
    except UserError as refusal:
        raise UserError(f"benchmark in {folder}/harness.toml: {refusal}") from None


def _components(initial: Harness, harness: Harness) -> Iterator[dict[str, Any]]:
    changes = diff_harnesses(initial, harness).changes
    for name, track in COMPONENTS.items():
        changed = [change.key for change in changes if change.component == name]
        yield {"name": name, "track": track, "changed": changed}


@app.command()
def show(folder: Folder, as_json: AsJson = False) -> None:
    """The six components of a harness, readable, with its hash.

    JSON (chase.harness.show/1): `folder, hash, components[{name, track}], structure, prompt, memory,
    guidance[{name, when, text}], control` (null without control.py).
    """
    harness = load_harness(folder)
    if as_json:
        components = [{"name": name, "track": track} for name, track in COMPONENTS.items()]
        payload = {"folder": str(folder), "hash": harness.hash, "components": components}
        return emit_json("chase.harness.show/1", {**payload, **harness.canonical()})
    structure = harness.structure
    typer.echo(
        f"{folder}: a harness for {structure.benchmark}, {structure.answer or 'its'} answers\nhash {harness.hash}"
    )
    for name, text in _sections(harness).items():
        body = textwrap.indent(printable(text), "    ") if text else "    none"
        typer.echo(f"\n{name} ({COMPONENTS[name]} track)\n{body}")
    return None


def _sections(harness: Harness) -> dict[str, str]:
    """What each component says, in the order of the table of components."""
    tables = harness.structure.model_dump(mode="json", exclude_none=True)
    control = f"\n\n{CONTROL}:\n{textwrap.indent(harness.control_source, '    ')}" if harness.control_source else ""
    contents = {
        "system prompt": harness.prompt,
        "long-term memory": harness.memory,
        "guidance modules": "\n\n".join(_module_text(harness)),
        "retrieval policy": _fields(tables["retrieval"]),
        "tool policy": _fields(tables["tools"]),
        "control policy": _fields(tables["control"]) + control,
    }
    return {name: contents[name] for name in COMPONENTS}


def _module_text(harness: Harness) -> Iterator[str]:
    for module in harness.guidance:
        condition = module.when.model_dump(mode="json", exclude_defaults=True)
        when = ", ".join(f"{key} = {value}" for key, value in condition.items()) or "always"
        yield f"{module.name} (active: {when})\n{textwrap.indent(module.text, '    ')}"


def _fields(table: dict[str, Any]) -> str:
    return tomli_w.dumps(table, multiline_strings=True).strip()


@app.command()
def diff(
    old: Annotated[Path, typer.Argument(metavar="A", help="The harness's folder before.")],
    new: Annotated[Path, typer.Argument(metavar="B", help="The harness's folder after.")],
    as_json: AsJson = False,
) -> None:
    """What changed from harness A to harness B, by track and component.

    JSON (chase.harness.diff/1): `old, new` (hashes), `tracks_changed`,
    `changes[{track, component, key, kind, old, new, lines}]`.
    """
    found = diff_harnesses(load_harness(old), load_harness(new))
    if as_json:
        return emit_json("chase.harness.diff/1", found.to_json())
    typer.echo(printable(render_diff(found)))
    return None
