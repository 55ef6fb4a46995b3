"""What all pages share: the store, opened for reading, and what runs, harnesses and variants are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

from chase.core.errors import ChaseError, UserError
from chase.harness.folder import load_harness
from chase.report.heads import MALFORMED
from chase.runs.folder import RESULT, RunFolder
from chase.runs.naming import UNCHANGED, Names, names_in
from chase.runs.recording import read_events
from chase.store.browsing import Browser
from chase.store.records import Run, StoredRollout
from chase.store.workspace import Workspace

Edition = tuple[str, str, int]


class Viewer:
    """A workspace that is looked at. Takes no lock and writes nothing; a run may be at work there."""

    def __init__(self, store: Browser) -> None:
        self.store = store
        self.stopping: Callable[[], bool] = lambda: False
        self._names: dict[Edition, Names] = {}

    @classmethod
    def open(cls, workspace: Workspace) -> Self:
        return cls(Browser(workspace, UNCHANGED))

    def close(self) -> None:
        self.store.close()

    @property
    def workspace(self) -> Workspace:
        return self.store.workspace

    def run(self, id: str) -> Run:
        """The run with exactly this id, the beginning of one, or `latest`."""
        return self.store.find_run(id)

    def folder(self, run: Run) -> RunFolder:
        return RunFolder(self.workspace, run.id)

    def names(self, run: Run | None) -> Names:
        """What harnesses and variants are called in a run; of one under way as far as it has told."""
        if run is None:
            return Names()
        edition = self.edition(run)
        if edition in self._names:
            return self._names[edition]
        try:
            found = names_in(run, self.workspace)
        except MALFORMED:
            found = Names(harnesses={}, variants={UNCHANGED: "released"})
        if "H0" not in found.harnesses.values() and (initial := self._initial(run)) is not None:
            found = replace(found, harnesses={initial: "H0", **found.harnesses})
        if run.status == "finished":
            self._names[edition] = found
        return found

    def edition(self, run: Run) -> Edition:
        """The run with the time of its result: a finished one may be certified later."""
        try:
            return run.id, run.status, (self.folder(run).path / RESULT).stat().st_mtime_ns
        except OSError:
            return run.id, run.status, 0

    def events(self, run: Run) -> list[dict[str, Any]]:
        return read_events(self.folder(run))

    def rollout(self, digest: str) -> StoredRollout:
        return self.store.find_rollout(digest.lower())

    def _initial(self, run: Run) -> str | None:
        if isinstance(known := config_of(run).get("initial"), str):
            return known
        try:
            return load_harness(self.folder(run).harness("H0")).hash
        except ChaseError:
            return None


def config_of(run: Run) -> Mapping[str, Any]:
    return run.config if isinstance(run.config, Mapping) else {}


def hash_of(kind: str, names: Mapping[str, str], given: str | None) -> str | None:
    """The hash that a name stands for, or the beginning of one as it was given; refused where it can be neither."""
    if not given:
        return None
    named = next((found for found, name in names.items() if name == given), None)
    if named is None and not set(given) <= set("0123456789abcdef"):
        known = ", ".join(_sorted(names.values())) or "none"
        raise UserError(f"unknown {kind} '{given}'. Names here: {known}; or give the beginning of a hash.")
    return named or given


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(set(names))
