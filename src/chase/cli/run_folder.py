"""A run's id and folder: which run a command means, its resolved settings and its result."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from chase.core.errors import IntegrityError, UserError
from chase.core.values import Json
from chase.methods.journal import Journal
from chase.methods.run import run_id
from chase.store.reader import Reader
from chase.store.records import Run
from chase.store.workspace import Workspace

CONFIG, RESULT, INITIAL = "config.toml", "result.json", "harnesses/H0"
LATEST = "latest"


def evolutions(store: Reader) -> list[Run]:
    """The runs of `chase evolve`, oldest first."""
    return [run for run in store.runs() if isinstance(run.config, Mapping) and run.config.get("command") == "evolve"]


def find_evolution(store: Reader, reference: str) -> Run:
    """The run of `chase evolve` with this id, the one whose id begins so, or the latest."""
    if reference == LATEST:
        if runs := evolutions(store):
            return runs[-1]
        raise UserError(f"there is no run of `chase evolve` in {store.workspace.state}.")
    run = store.find_run(reference)
    if run not in evolutions(store):
        raise UserError(f"run '{run.id}' is not one of `chase evolve`. Name another one.")
    return run


def find_unfinished(store: Reader, reference: str) -> Run:
    """The run to go on with where only its reference is given. A finished one is returned if it is named."""
    if reference != LATEST:
        return find_evolution(store, reference)
    runs = [run for run in evolutions(store) if run.status != "finished"]
    if not runs:
        raise UserError(f"--resume={LATEST}: no run of `chase evolve` in {store.workspace.state} is unfinished.")
    return runs[-1]


def find_same(store: Reader, identity: Mapping[str, Json], reference: str) -> Run:
    """The run with these settings to go on with: the named one, or the latest, an unfinished one if there is one."""
    if reference != LATEST:
        run = find_evolution(store, reference)
        require_same(run, identity)
        return run
    same = [run for run in evolutions(store) if run.config == identity]
    if not same:
        others = [f"{run.id} (other {_differing(run, identity)})" for run in evolutions(store)[-3:]]
        known = f" There are: {', '.join(others)}." if others else ""
        raise UserError(f"--resume={LATEST}: no run has these settings.{known} Leave --resume out to start one.")
    unfinished = [run for run in same if run.status != "finished"]
    return (unfinished or same)[-1]


def require_same(run: Run, identity: Mapping[str, Json]) -> None:
    """Refuse to go on with a run under other settings than its own."""
    if run.config != identity:
        raise UserError(
            f"run '{run.id}' has other settings: {_differing(run, identity)} differ. Give the run's own "
            f"(`chase evolve --resume {run.id}` alone takes them), or start a new run without --resume."
        )


def _differing(run: Run, identity: Mapping[str, Json]) -> str:
    known: Mapping[str, Json] = run.config
    return ", ".join(key for key in identity.keys() | known.keys() if known.get(key) != identity.get(key))


def free_id(store: Reader, identity: Mapping[str, Json]) -> str:
    """A new run's id: the config's, with a number from the second run of the same config on."""
    first, taken = run_id(identity), {run.id for run in store.runs()}
    ids = (first if number == 1 else f"{first}-{number}" for number in range(1, len(taken) + 1_000))
    return next(run for run in ids if run not in taken and not store.workspace.run_folder(run).exists())


def write_settings(journal: Journal, settings: Mapping[str, Any], models: Mapping[str, Mapping[str, Any]]) -> None:
    """`config.toml`: the resolved settings, in the form that `--config` takes."""
    table = {name: value for name, value in settings.items() if value is not None and name != "base_url"}
    if models:
        table["models"] = {name: dict(model) for name, model in models.items()}
    journal.write(CONFIG, f"# The resolved settings of run {journal.run}.\n{tomli_w.dumps(table)}")


def has_settings(workspace: Workspace, run: str) -> bool:
    """Whether a run came as far as to write its settings down."""
    return (workspace.run_folder(run) / CONFIG).exists()


def read_settings(workspace: Workspace, run: str) -> dict[str, Any]:
    """What `write_settings` wrote, with the initial harness that the run's folder keeps."""
    folder = workspace.run_folder(run)
    try:
        settings = tomllib.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"run '{run}' has no {CONFIG}: give its settings beside --resume {run}.") from None
    except (OSError, ValueError) as error:
        raise IntegrityError(f"{folder / CONFIG} cannot be read: {error}. Give the run's settings beside it.") from None
    return {**settings, "harness": str(folder / INITIAL)}


def read_result(workspace: Workspace, run: str) -> dict[str, Any]:
    """The payload of a finished run."""
    path = workspace.run_folder(run) / RESULT
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return {name: result[name] for name in result if name != "schema"}
    except FileNotFoundError:
        raise IntegrityError(f"{path} is gone. Restore it from a copy, or start the run anew.") from None
    except (OSError, ValueError, TypeError) as error:
        raise IntegrityError(f"{path} cannot be read: {error}. Restore it from a copy.") from None
