"""The processes that run hooks: how one is started without the user's stderr, and how much one has computed."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from pydantic_monty._binary import find_monty_binary

_LEAST_SECONDS = 0.01
_KNOWN = Path("/proc/self/stat").exists()
"""Whether the system tells the CPU time of a process."""


@contextmanager
def worker_program() -> Iterator[Path]:
    """The program that a pool starts as its workers, while the block lasts. What they write to stderr goes nowhere.

    A pool lets its workers write to the stderr of this process, where a hook that takes too much memory would print
    into a progress line or a pipe. What is wrong reaches us as an error as well.
    """
    binary = Path(find_monty_binary())
    with tempfile.TemporaryDirectory(prefix="chase-sandbox-") as folder:
        script = Path(folder) / "worker"
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(str(binary))} "$@" 2>/dev/null\n')
        script.chmod(0o700)
        # Where nothing may be executed from a temporary folder, a worker that prints is better than none.
        yield script if os.access(script, os.X_OK) else binary


class CpuLimit:
    """What one worker may compute for one rollout, in seconds of its own CPU time.

    Time in which a loaded machine runs something else does not count. Where the system does not tell the CPU time of
    a process (it does on Linux), the wall time of the watched blocks stands in for it.
    """

    def __init__(self, pid: int | None, seconds: float) -> None:
        self._pid = pid
        self._end = _cpu_seconds(pid) + seconds
        self._left = seconds
        """At least so much was left at `_since`: nobody computes for longer than it takes."""
        self._since = 0.0
        self._next_look: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """End the block with `TimeoutError` once the limit is passed. One block at a time."""
        loop = asyncio.get_running_loop()
        self._since = loop.time()
        async with asyncio.timeout(None) as timer:
            self._look_later(loop, timer)
            try:
                yield
            finally:
                if self._next_look is not None:
                    self._next_look.cancel()
                self._left -= loop.time() - self._since

    def _look_later(self, loop: asyncio.AbstractEventLoop, timer: asyncio.Timeout) -> None:
        self._next_look = loop.call_later(max(self._left, _LEAST_SECONDS), self._look, loop, timer)

    def _look(self, loop: asyncio.AbstractEventLoop, timer: asyncio.Timeout) -> None:
        self._since = loop.time()
        self._left = self._end - _cpu_seconds(self._pid) if _KNOWN else 0.0
        if self._left > 0:
            self._look_later(loop, timer)
        else:
            timer.reschedule(self._since)


def _cpu_seconds(pid: int | None) -> float:
    """CPU time that a process has used so far; one that is gone uses no more."""
    if pid is None:
        return 0.0
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
