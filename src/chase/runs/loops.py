"""Running a coroutine to its end from anywhere: a program, a thread, a notebook whose event loop is at work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

R = TypeVar("R")


def run_to_end(work: Callable[[], Coroutine[Any, Any, R]]) -> R:
    """The coroutine's result. Where an event loop is running, it runs in a thread of its own and this one waits.

    An interruption ends the coroutine first: what it holds is let go before `KeyboardInterrupt` comes out.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    return _in_a_thread(work)


def _in_a_thread(work: Callable[[], Coroutine[Any, Any, R]]) -> R:
    result: Future[R] = Future()
    begun: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[R]]] = Future()

    async def main() -> R:
        task = asyncio.current_task()
        if task is not None:
            begun.set_result((asyncio.get_running_loop(), task))
        return await work()

    def body() -> None:
        try:
            result.set_result(asyncio.run(main()))
        except BaseException as error:  # whatever it is, it belongs to whoever waits
            result.set_exception(error)

    thread = threading.Thread(target=copy_context().run, args=(body,), name="chase-run")
    thread.start()
    try:
        return result.result()
    except KeyboardInterrupt:
        loop, task = begun.result()
        with suppress(RuntimeError):  # it may have ended meanwhile
            loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    finally:
        if result.done():
            thread.join()
