"""`chase` processes that a test starts, meets in the middle and ends, and what it finds in their stores."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chase.store.store import Store
from chase.store.workspace import Workspace

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Running:
    """A `chase` process."""

    server: Server
    pid: int
    folder: Path
    started: float

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self) -> int:
        """Its exit code, below 0 for a signal. One that does not end within a minute is killed."""
        patience = threading.Timer(60, self.send, [signal.SIGKILL])
        patience.start()
        try:
            return int(self.server.ask({"wait": self.pid})["code"])
        finally:
            patience.cancel()

    @property
    def out(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def err(self) -> str:
        return (self.folder / "stderr").read_text()


class Server:
    """Starts `chase` processes. See `fork_server.py`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.fork_server"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == {"ready": True}

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def start(self, folder: Path, *arguments: object, most_file_bytes: int | None = None) -> Running:
        request = {"arguments": [*map(str, arguments)], "folder": str(folder), "most_file_bytes": most_file_bytes}
        return Running(self, int(self.ask(request)["pid"]), folder, time.monotonic())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def scored(folder: Path) -> int:
    """Rollouts that the store has; it is intact, or not there yet."""
    workspace = Workspace(folder)
    if not workspace.database.exists() or workspace.database.stat().st_size == 0:
        return 0
    with Store.open(workspace, write=True) as store:
        assert store.verify() == []
        return store.info().rollouts["scored"]


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def saved_now(folder: Path) -> int:
    """Rollouts that a reader sees while the command is at work."""
    try:
        with Store.open(Workspace(folder), write=False) as store:
            return store.info().rollouts["scored"]
    except Exception:  # not made yet
        return 0
