"""A coroutine runs to its end from anywhere, and an interruption lets go of what it holds."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

import pytest

from chase.runs.loops import run_to_end


async def where() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_outside_an_event_loop_it_runs_here() -> None:
    assert run_to_end(where) == threading.current_thread().name


async def test_inside_a_running_event_loop_it_runs_in_a_thread_of_its_own() -> None:
    assert run_to_end(where) == "chase-run"
    assert all(thread.name != "chase-run" for thread in threading.enumerate())


async def test_what_it_raises_comes_out() -> None:
    async def fails() -> None:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        run_to_end(fails)


def test_an_interruption_ends_the_work_before_it_comes_out() -> None:
    let_go: list[str] = []

    async def holds() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            let_go.append(threading.current_thread().name)

    async def notebook() -> None:
        threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT]).start()
        run_to_end(holds)

    loop = asyncio.new_event_loop()  # without a handler of its own for Ctrl-C, as in a notebook
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(notebook())
    finally:
        loop.close()
    assert let_go == ["chase-run"]
    assert time.monotonic() - started < 30
