"""Commands of our own that stand for coding agents: small Python programs that a confinement lets run."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from chase.agents.history import HistoryWriter
from chase.agents.records import AgentRecords
from chase.harness.spec import Harness
from chase.methods.arena import Contender
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.agents.made_traces import depth, made_trace

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None,
    reason="bubblewrap is not installed: `apt-get install bubblewrap`, or your system's way",
)
PYTHON = Path(sys.base_prefix) / "bin" / "python3"
"""An interpreter outside any virtual environment: its folder is all that it needs."""


def program(folder: Path, body: str) -> Path:
    """A program in a folder of its own."""
    path = folder / "tool" / "agent.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("import json, os, pathlib, shutil, sys, time\n" + textwrap.dedent(body), encoding="utf-8")
    return path


def command(folder: Path, body: str) -> str:
    """The command line that runs a program."""
    return shlex.join([str(PYTHON), "-B", str(program(folder, body))])


def readable(folder: Path) -> tuple[Path, ...]:
    """What a confinement must show for it."""
    return Path(sys.base_prefix), folder / "tool"


def processes_with(mark: str) -> Iterator[int]:
    """Ids of the processes whose command line has a mark."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                yield int(entry.name)
        except OSError:
            continue


class CommandBench:
    """A run's records and history, and agents that are commands."""

    place: ClassVar[str]
    """Where the records of a round's asking are, in the run's folder."""

    def __init__(self, root: Path, harnesses: Mapping[str, Harness], scores: tuple[float, ...]) -> None:
        self.root = root
        self.workspace = Workspace(root / "workspace")
        self.run_folder = self.workspace.run_folder("run-1")
        self.store = Store.open(self.workspace, write=True)
        self.store.create_run("run-1", {})
        self.tree = HistoryWriter(self.run_folder / "history")
        self.initial, self.current = (Contender(name=name, harness=harness) for name, harness in harnesses.items())
        for name, harness in harnesses.items():
            self.tree.add_harness(name, harness, {})
            reasons = {"task-1": ("answered",) * len(scores)}
            self.tree.add_scores(name, "released", {"task-1": scores}, reasons, {("task-1", 0): made_trace(1, depth)})

    @property
    def folder(self) -> Path:
        return self.run_folder / self.place

    def records(self) -> AgentRecords:
        return AgentRecords(store=self.store, use=Use(run="run-1", method="chase"), folder=self.run_folder)

    def attempt(self, number: int = 1) -> dict[str, Any]:
        found = json.loads((self.folder / f"attempt-{number}.json").read_text())
        assert isinstance(found, dict)
        return found

    def runs(self, desk: str = "desk-1") -> int:
        return len((self.folder / desk / "runs").read_text().splitlines())
