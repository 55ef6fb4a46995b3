"""A workspace: the folder that holds `.chase/`, with the paths of everything kept there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from chase.core.errors import DiskError, SetupError, UserError

STATE_FOLDER = ".chase"


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder that holds `.chase/`. Nothing is created until something is written."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Workspace:
        """The nearest folder at or above `start` (default: the current one) with `.chase/`, else `start`."""
        here = (start or Path.cwd()).resolve()
        for folder in (here, *here.parents):
            if (folder / STATE_FOLDER).is_dir():
                return cls(folder)
        return cls(here)

    @property
    def state(self) -> Path:
        return self.root / STATE_FOLDER

    @property
    def database(self) -> Path:
        return self.state / "store.sqlite"

    @property
    def lock(self) -> Path:
        return self.state / "writer.lock"

    @property
    def runs(self) -> Path:
        return self.state / "runs"

    def run_folder(self, run: str) -> Path:
        """Where a run's files are: config.toml, harnesses/, final/, archive.json, result.json."""
        if not run or run in {".", ".."} or "/" in run or os.sep in run:
            raise UserError(f"run id '{run}' cannot name a folder; use letters, digits, '-' and '_'.")
        return self.runs / run

    def create(self) -> None:
        """Make `.chase/` if it is not there yet."""
        try:
            _make_folder(self.state)
        except OSError as error:
            raise SetupError(
                f"workspace={self.root}: cannot create {STATE_FOLDER}/ ({error.strerror}). "
                "Make the folder writable or name another one with --workspace."
            ) from error

    def write_run_file(self, run: str, name: str, text: str) -> Path:
        """Write a run's file so that it is there whole or not at all, whenever the process dies or the power goes."""
        relative = PurePosixPath(name)
        if relative.is_absolute() or ".." in relative.parts or not relative.parts:
            raise UserError(f"run file '{name}' must be a relative path inside the run's folder.")
        target = self.run_folder(run) / relative
        part = target.with_name(f".{target.name}.part")
        try:
            _make_folder(target.parent)
            with part.open("w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
            _sync(target.parent)
        except OSError as error:
            raise DiskError(f"{target} cannot be written: {error.strerror}") from error
        return target


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, on the disk before anything is put there."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for place in missing:
        _sync(place.parent)


def _sync(folder: Path) -> None:
    """Bring a folder's list of names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class RunFiles:
    """The files of a run in a workspace. Every file that is written is there whole or not at all."""

    def __init__(self, workspace: Workspace, run: str) -> None:
        self.workspace = workspace
        self.run = run

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.workspace.run_folder(self.run)

    def write(self, name: str, text: str) -> None:
        """Write a file of the run, over what it was."""
        self.workspace.write_run_file(self.run, name, text)

    def append(self, name: str, text: str) -> None:
        """Add to a file of the run that nothing depends on: its last lines may be lost when the power goes."""
        try:
            _make_folder(self.path)
            with (self.path / name).open("a", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise DiskError(f"{self.path / name} cannot be written: {error.strerror}") from error
