"""`chase rollout` as a process: killed, interrupted, started twice, out of space. Nothing finished is lost."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chase.store.lock import writer_pid
from chase.store.workspace import Workspace
from tests.cli.commands import checked, write_h0
from tests.cli.fork_server import BENCHMARK, SLOW
from tests.cli.processes import Server, saved_now, scored, wait_until

KILLS, IN_THE_MIDDLE, MOST_TRIES = 20, 5, 60
ROLLOUTS = 16
CHANGING = ("executed", "reused", "spent", "wall_seconds", "parts")


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
    assert "free some space, or make it writable, then run the same command again" in sentence
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
