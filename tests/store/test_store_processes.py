"""Several processes on one workspace, and processes that die."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_samples import sample_rollout

from chase.core.errors import SetupError
from chase.store.lock import WriterLock, writer_pid
from chase.store.store import Store
from chase.store.workspace import Workspace

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


def start_recorder(workspace: Workspace, first: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(HERE / "record_until_killed.py"), str(workspace.root), str(first)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def kill(process: subprocess.Popen[bytes]) -> bytes:
    """What it still had said."""
    process.send_signal(signal.SIGKILL)
    rest = process.communicate()[0]
    assert process.returncode == -signal.SIGKILL
    return rest


@pytest.mark.parametrize("seed", range(6))
def test_what_was_recorded_survives_kill_9_at_any_moment(workspace: Workspace, seed: int) -> None:
    draw = random.Random(seed)
    said: set[str] = set()
    for round_ in range(2):
        process = start_recorder(workspace, first=round_ * 1_000_000)
        assert process.stdout is not None
        heard = [process.stdout.readline() for _ in range(draw.randrange(1, 200))]
        time.sleep(draw.random() * 0.02)
        said.update((b"".join(heard) + kill(process)).decode().split())
        with Store.open(workspace, write=False) as store:
            assert set(store.get_many(said)) == said
            assert store.verify() == []
    with Store.open(workspace, write=True) as store:
        assert set(store.get_many(said)) == said
        assert store.verify() == []
        assert store.info().requests == 2 * store.info().rollouts["scored"]


def test_a_second_writer_is_refused_with_the_holders_pid_and_nothing_is_lost(workspace: Workspace) -> None:
    process = start_recorder(workspace, first=0)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        assert writer_pid(workspace) == process.pid
        with pytest.raises(SetupError, match=rf"process {process.pid} is writing.*--workspace"):
            Store.open(workspace, write=True)
    finally:
        kill(process)
    assert writer_pid(workspace) is None
    with Store.open(workspace, write=True) as store:
        assert writer_pid(workspace) == os.getpid()
        assert store.verify() == []
    assert writer_pid(workspace) is None


def test_a_second_writer_in_the_same_process_is_refused_too(workspace: Workspace) -> None:
    with (
        Store.open(workspace, write=True),
        pytest.raises(SetupError, match=f"process {os.getpid()} is writing"),
    ):
        Store.open(workspace, write=True)
    Store.open(workspace, write=True).close()


def test_readers_see_what_is_committed_while_a_writer_is_at_work(workspace: Workspace) -> None:
    process = start_recorder(workspace, first=0)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        with Store.open(workspace, write=False) as one, Store.open(workspace, write=False) as two:
            for _ in range(50):
                said = process.stdout.readline().decode().strip()
                assert one.get(said) is not None
                assert two.get(said) is not None
            assert one.verify() == []
    finally:
        kill(process)


def test_a_forked_worker_does_not_keep_the_lock_of_a_dead_parent(workspace: Workspace) -> None:
    workspace.create()
    lock = WriterLock(workspace)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)  # lives until the parent lets go
        os._exit(0)
    os.close(reading)
    try:
        lock._close()  # what the end of a killed process does: no unlocking, only closing
        WriterLock(workspace).release()
    finally:
        os.close(writing)
        os.waitpid(child, 0)


def test_the_event_loop_stays_free_while_rollouts_are_stored(workspace: Workspace) -> None:
    rollouts = [sample_rollout(number) for number in range(300)]

    async def measure(store: Store) -> int:
        ticks = 0
        recording = asyncio.gather(*(store.record(rollout) for rollout in rollouts))
        while not recording.done():
            await asyncio.sleep(0)
            ticks += 1
        await recording
        return ticks

    with Store.open(workspace, write=True) as store:
        assert asyncio.run(measure(store)) > 10
