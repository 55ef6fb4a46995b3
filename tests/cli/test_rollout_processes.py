"""`chase rollout` as a process: killed, interrupted, started twice, out of space. Nothing finished is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from chase.store.lock import writer_pid
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.cli.commands import checked, write_h0
from tests.cli.fork_server import BENCHMARK, SLOW

ROOT = Path(__file__).parents[2]
KILLS, IN_THE_MIDDLE, MOST_TRIES = 20, 5, 60
ROLLOUTS = 16
CHANGING = ("executed", "reused", "spent", "wall_seconds")


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


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    """Makes folders with H_0 in them, each a workspace."""

    def make(name: str) -> Path:
        write_h0(tmp_path / name / "h0")
        return tmp_path / name

    return make


def command(*more: object) -> tuple[object, ...]:
    flags = ("--model", SLOW, "--harness", "h0", "--split", "conf1", "--rollouts", 1, "--concurrency", 4)
    return ("rollout", "--benchmark", BENCHMARK, *flags, "--workspace", ".", "--json", *more)


def lasting(text: str) -> str:
    """The payload but for what tells a resumed run from an uninterrupted one, byte for byte."""
    payload = checked(text)
    payload["usage"].pop("wall_seconds")
    return json.dumps({key: value for key, value in payload.items() if key not in CHANGING}, sort_keys=True)


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


@pytest.mark.slow
def test_a_run_killed_at_any_moment_and_resumed_gives_the_same_scores(
    server: Server, folder: Callable[[str], Path]
) -> None:
    whole = server.start(folder("whole"), *command())
    assert whole.wait() == 0
    seconds = time.monotonic() - whole.started
    expected = lasting(whole.out)
    draw = random.Random(20261115)
    met: list[int] = []
    for number in range(MOST_TRIES):
        place = folder(f"killed-{number}")
        killed = server.start(place, *command())
        time.sleep(draw.random() * seconds)
        killed.send(signal.SIGKILL)
        if killed.wait() == 0:  # it was done before: runs have become faster
            seconds = min(seconds, 0.9 * (time.monotonic() - killed.started))
            continue
        saved = scored(place)
        resumed = server.start(place, *command())
        assert resumed.wait() == 0, resumed.err
        assert lasting(resumed.out) == expected
        payload = json.loads(resumed.out)
        assert (payload["reused"], payload["executed"]) == (saved, ROLLOUTS - saved)
        met.append(saved)
        if len(met) >= KILLS and in_the_middle(met) >= IN_THE_MIDDLE:
            break
    assert len(met) >= KILLS
    assert in_the_middle(met) >= IN_THE_MIDDLE


def in_the_middle(saved: list[int]) -> int:
    """Runs that were met with some rollouts done and some to do, not only before or after."""
    return sum(0 < each < ROLLOUTS for each in saved)


@pytest.mark.slow
def test_a_run_killed_again_and_again_gets_there(server: Server, folder: Callable[[str], Path]) -> None:
    place, draw, more = folder("often"), random.Random(7), ("--rollouts", 3)
    saved = [0]
    while saved[-1] < 2 * ROLLOUTS:
        running = server.start(place, *command(*more))
        wait_until(lambda: saved_now(place) > saved[-1])
        time.sleep(draw.random() * 0.1)
        running.send(signal.SIGKILL)
        running.wait()
        saved.append(scored(place))
    assert saved == sorted(saved)
    last = server.start(place, *command(*more))
    assert last.wait() == 0
    assert json.loads(last.out)["reused"] == saved[-1]


@pytest.mark.slow
@pytest.mark.parametrize("model", [SLOW, "sim:reader"])
def test_ctrl_c_stops_soon_with_everything_finished_saved(
    server: Server, folder: Callable[[str], Path], model: str
) -> None:
    """Of a model that waits, and of one that never does."""
    place = folder("interrupted")
    many = ("--rollouts", 200, "--model", model)
    running = server.start(place, *command(*many))
    wait_until(lambda: saved_now(place) >= 20)
    before = saved_now(place)
    asked = time.monotonic()
    running.send(signal.SIGINT)
    assert running.wait() == 130
    assert time.monotonic() - asked < 10  # the promise is two seconds; the rest is for other work at the same time
    assert running.out == ""
    assert running.err.rstrip().endswith("chase: interrupted.")
    saved = scored(place)
    assert before <= saved < 16 * 200
    again = server.start(place, *command("--model", model, "--rollouts", 1))
    assert again.wait() == 0
    assert json.loads(again.out)["reused"] > 0


@pytest.mark.slow
def test_a_second_process_on_the_workspace_gets_a_sentence(server: Server, folder: Callable[[str], Path]) -> None:
    place = folder("shared")
    first = server.start(place, *command("--rollouts", 20))
    wait_until(lambda: writer_pid(Workspace(place)) == first.pid)
    elsewhere = folder("elsewhere")
    second = server.start(elsewhere, *command("--workspace", place))
    assert second.wait() == 3
    assert second.out == ""
    assert f"process {first.pid} is writing its store" in second.err
    assert "Wait until it ends, stop it, or name another folder with --workspace." in second.err
    reader = server.start(elsewhere, "trace", "list", "--workspace", place)
    assert reader.wait() == 0
    assert first.wait() == 0
    third = server.start(elsewhere, *command("--workspace", place, "--rollouts", 20))
    assert third.wait() == 0
    assert json.loads(third.out)["executed"] == 0


@pytest.mark.slow
def test_a_full_disk_is_a_sentence_and_nothing_recorded_is_lost(server: Server, folder: Callable[[str], Path]) -> None:
    place = folder("full")
    full = server.start(place, *command("--rollouts", 20), most_file_bytes=400_000)
    assert full.wait() == 3
    assert full.out == ""
    sentence = full.err.strip().splitlines()[-1]
    assert "store.sqlite cannot be read or written" in sentence
    assert "free some space (`chase store gc` may help) and run the same command again" in sentence
    saved = scored(place)
    assert 0 < saved < 320
    resumed = server.start(place, *command("--rollouts", 20))
    assert resumed.wait() == 0
    assert json.loads(resumed.out)["reused"] == saved


@pytest.mark.slow
def test_the_installed_command_runs_pays_once_and_survives_a_kill(folder: Callable[[str], Path]) -> None:
    """The same with the program itself, from its start."""
    place, program = folder("real"), Path(sys.executable).parent / "chase"
    arguments = ["rollout", "--benchmark", BENCHMARK, "--model", "sim:reader", "--harness", "h0", "--split", "conf1"]
    line = [str(program), *arguments, "--rollouts", "8", "--json"]
    process = subprocess.Popen(line, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: saved_now(place) >= 10, 60)
    process.kill()
    process.communicate()
    saved = scored(place)
    first = subprocess.run(line, cwd=place, capture_output=True, text=True, check=True)
    assert json.loads(first.stdout)["reused"] == saved
    second = subprocess.run(line, cwd=place, capture_output=True, text=True, check=True)
    assert json.loads(second.stdout)["executed"] == 0
    assert lasting(first.stdout) == lasting(second.stdout)
