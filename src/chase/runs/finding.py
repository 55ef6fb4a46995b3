"""Which run is meant: the one with the same settings, one that is named, or a new one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chase.core.errors import UserError
from chase.core.keyed import digest
from chase.core.values import Json
from chase.store.reader import Reader
from chase.store.records import Run
from chase.store.store import Store
from chase.store.workspace import Workspace

LATEST = "latest"


@dataclass(frozen=True, kw_only=True, slots=True)
class Which:
    """The run that a command is about."""

    command: str
    anew: bool = False
    """Whether a new run begins although there is one with the same settings."""
    resume: str | None = None
    """The run to go on with: its id, the beginning of it, or `latest`."""
    certified: str | None = None
    """A finished run that is certified now: its id."""

    def stored(self, store: Reader, identity: Mapping[str, Json]) -> Run | None:
        """The run to go on with; None: a new one begins. One that is named but has other settings is refused."""
        if self.certified is not None:
            run = store.find_run(self.certified)
            require_same(run, identity)
            return run
        if self.resume is not None:
            return find_same(store, self.command, identity, self.resume)
        if self.anew:
            return None
        return next((run for run in store.runs() if run.id == run_id(identity)), None)

    def look_up(self, workspace: Workspace, identity: Mapping[str, Json]) -> Run | None:
        """`stored`, in a workspace that may have no store yet."""
        if not workspace.database.exists():
            self._require_nothing()
            return None
        with Store.open(workspace, write=False) as store:
            return self.stored(store, identity)

    def again(self, run: str) -> str | None:
        """The command that goes on with the run; None: the same command does."""
        if self.certified is not None:
            return f"chase certify {run}"
        return f"chase {self.command} --resume {run}" if self.anew or self.resume is not None else None

    def _require_nothing(self) -> None:
        if self.resume is not None:
            raise UserError(f"--resume={self.resume}: no run has these settings. Leave --resume out to start one.")


def run_id(identity: Mapping[str, Json]) -> str:
    """The first id for an identity: its method, or else its command, and a digest."""
    method, found = identity.get("method"), digest(identity)
    return f"{method}-{found[:10]}" if method else f"{identity['command']}-{found[:12]}"


def free_id(store: Reader, identity: Mapping[str, Json]) -> str:
    """A new run's id: the identity's, with a number from the second run of the same on."""
    first, taken = run_id(identity), {run.id for run in store.runs()}
    ids = (first if number == 1 else f"{first}-{number}" for number in range(1, len(taken) + 1_000))
    return next(run for run in ids if run not in taken and not store.workspace.run_folder(run).exists())


def runs_of(store: Reader, command: str) -> list[Run]:
    """The runs of a command, oldest first."""
    return [run for run in store.runs() if isinstance(run.config, Mapping) and run.config.get("command") == command]


def find_run(store: Reader, command: str, reference: str) -> Run:
    """The command's run with this id, the one whose id begins so, or the latest."""
    if reference == LATEST:
        if runs := runs_of(store, command):
            return runs[-1]
        raise UserError(f"there is no run of `chase {command}` in {store.workspace.state}.")
    known = runs_of(store, command)
    begins = [run for run in known if reference and run.id.startswith(reference)]
    exact = [run for run in known if run.id == reference]
    run = exact[0] if exact else begins[0] if len(begins) == 1 else store.find_run(reference)
    if run not in known:
        raise UserError(f"run '{run.id}' is not one of `chase {command}`. Name another one.")
    return run


def find_unfinished(store: Reader, command: str, reference: str) -> Run:
    """The run to go on with where only its reference is given. A finished one is returned if it is named."""
    if reference != LATEST:
        return find_run(store, command, reference)
    runs = [run for run in runs_of(store, command) if run.status != "finished"]
    if not runs:
        raise UserError(f"--resume={LATEST}: no run of `chase {command}` in {store.workspace.state} is unfinished.")
    return runs[-1]


def find_same(store: Reader, command: str, identity: Mapping[str, Json], reference: str) -> Run:
    """The run with this identity to go on with: the named one, or the latest, an unfinished one if there is one."""
    if reference != LATEST:
        run = find_run(store, command, reference)
        require_same(run, identity)
        return run
    known = runs_of(store, command)
    same = [run for run in known if run.config == identity]
    if not same:
        others = [f"{run.id} (other {_differing(run, identity)})" for run in known[-3:]]
        there = f" There are: {', '.join(others)}." if others else ""
        raise UserError(f"--resume={LATEST}: no run has these settings.{there} Leave --resume out to start one.")
    unfinished = [run for run in same if run.status != "finished"]
    return (unfinished or same)[-1]


def require_same(run: Run, identity: Mapping[str, Json]) -> None:
    """Refuse to go on with a run under other settings than its own."""
    if run.config != identity:
        raise UserError(
            f"run '{run.id}' has other settings: what differs is {_differing(run, identity)}. Give the run's own "
            f"(`chase {identity['command']} --resume {run.id}` alone takes them), or start a new run without --resume."
        )


def _differing(run: Run, identity: Mapping[str, Json]) -> str:
    known: Mapping[str, Json] = run.config
    return ", ".join(key for key in identity.keys() | known.keys() if known.get(key) != identity.get(key))
