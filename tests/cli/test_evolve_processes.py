"""`chase evolve` as a process: killed at any point and resumed, it ends as if nothing had happened."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.cli.commands import checked
from tests.cli.fork_server import BENCHMARK
from tests.cli.processes import Running, Server, saved_now, scored, wait_until

COMMAND = (
    "evolve", "--benchmark", BENCHMARK, "--model", "sim:reader", "--rounds", 1, "--proposals", 1, "--eta", "0",
    "--rollouts", "evo=1,disc=1,conf=1,cert=1", "--seed", 1, "--workspace", ".", "--json",
)  # fmt: skip
SEALED = (*COMMAND, "--no-certify")
CERTIFY = ("certify", "latest", "--workspace", ".", "--json")
RESUME = ("evolve", "--resume", "latest", "--workspace", ".", "--json")
CHANGING = ("wall_seconds", "parts", "rollout_seconds", "spent")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="module")
def whole(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Running:
    """A run that nobody interrupted and that is not certified."""
    running = server.start(tmp_path_factory.mktemp("whole"), *SEALED)
    assert running.wait() == 0, running.err
    return running


@pytest.fixture(scope="module")
def certified(server: Server, whole: Running, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Its certification, which nobody interrupted."""
    folder = tmp_path_factory.mktemp("certified")
    shutil.copytree(whole.folder / ".chase", folder / ".chase")
    running = server.start(folder, *CERTIFY)
    assert running.wait() == 0, running.err
    return checked(running.out)["certification"]


def lasting(text: str) -> str:
    """The payload but for times, byte for byte; the counts of rollouts and what was paid for them stay."""
    payload = checked(text)
    requests = payload["spent"]["requests"]
    return json.dumps({**{key: value for key, value in payload.items() if key not in CHANGING}, "requests": requests})


def run_files(folder: Path) -> dict[str, bytes]:
    """What the run's folder holds at the end, but for the history, which agents read, and the result's times."""
    (run,) = (folder / ".chase" / "runs").iterdir()
    paths = [path for name in ("harnesses", "final", "rounds") for path in (run / name).rglob("*")]
    return {str(path.relative_to(run)): path.read_bytes() for path in [*paths, run / "archive.json"] if path.is_file()}


def answered(folder: Path, name: str) -> bool:
    return any((folder / ".chase" / "runs").glob(f"*/rounds/1/{name}.json"))


def sealed_rollouts(folder: Path) -> int:
    try:
        with Store.open(Workspace(folder), write=False) as store:
            return sum(count.episodes for count in store.episodes() if count.role == "cert")
    except Exception:  # not made yet
        return 0


POINTS: dict[str, Callable[[Path], bool]] = {
    "at the first rollouts": lambda folder: saved_now(folder) >= 5,
    "with drafts to be screened": lambda folder: answered(folder, "drafts"),
    "in confirmation": lambda folder: saved_now(folder) >= 32 * 4 + 64 + 64 + 5,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "sent", "code"),
    [*((point, signal.SIGKILL, -9) for point in POINTS), ("with drafts to be screened", signal.SIGINT, 130)],
)
def test_a_run_that_is_killed_or_interrupted_and_resumed_ends_the_same(
    server: Server, whole: Running, tmp_path: Path, point: str, sent: signal.Signals, code: int
) -> None:
    stopped = server.start(tmp_path, *SEALED)
    wait_until(lambda: POINTS[point](tmp_path), 60)
    stopped.send(sent)
    assert (stopped.wait(), stopped.out) == (code, "")
    if sent == signal.SIGINT:
        assert "What was finished is saved; go on with `chase evolve --resume chase-" in stopped.err
    saved = scored(tmp_path)
    answers = list((tmp_path / ".chase" / "runs").glob("*/rounds/1/*.json"))
    asked = [path.stat().st_mtime_ns for path in answers]
    resumed = server.start(tmp_path, *RESUME)
    assert resumed.wait() == 0, resumed.err
    assert lasting(resumed.out) == lasting(whole.out)
    assert (json.loads(whole.out)["parts"], json.loads(resumed.out)["parts"]) == (1, 2)
    assert 0 < saved < json.loads(whole.out)["executed"] == scored(tmp_path)
    assert [path.stat().st_mtime_ns for path in answers] == asked
    assert run_files(tmp_path) == run_files(whole.folder)
    with Store.open(Workspace(tmp_path), write=False) as store:
        assert [run.status for run in store.runs()] == ["finished"]


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_the_same(server: Server, whole: Running, tmp_path: Path) -> None:
    command = SEALED
    for goal in (60, 140, 200):
        running = server.start(tmp_path, *command)
        wait_until(lambda goal=goal: saved_now(tmp_path) >= goal, 60)  # type: ignore[misc]
        running.send(signal.SIGKILL)
        running.wait()
        command = RESUME
    last = server.start(tmp_path, *RESUME)
    assert last.wait() == 0, last.err
    assert lasting(last.out) == lasting(whole.out)


@pytest.mark.slow
def test_an_evolution_killed_in_certification_goes_on_without_a_reason(
    server: Server, whole: Running, certified: Any, tmp_path: Path
) -> None:
    shutil.copytree(whole.folder / ".chase", tmp_path / ".chase")
    with Store.open(Workspace(tmp_path), write=True) as store:
        store.set_run_status("latest", "running")  # as if it had been killed before it was certified
    killed = server.start(tmp_path, *COMMAND, "--resume", "latest")
    wait_until(lambda: sealed_rollouts(tmp_path) >= 50, 60)
    killed.send(signal.SIGKILL)
    killed.wait()
    saved = scored(tmp_path)
    resumed = server.start(tmp_path, *COMMAND, "--resume", "latest")
    assert resumed.wait() == 0, resumed.err
    payload = checked(resumed.out)
    assert payload["certification"] == certified
    assert saved < payload["executed"] == scored(tmp_path)
    with Store.open(Workspace(tmp_path), write=False) as store:
        assert [seal.reason for seal in store.seals(payload["run"])] == [""]
