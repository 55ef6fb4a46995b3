"""One writer per workspace: an operating-system lock that a dead process cannot keep."""

from __future__ import annotations

import fcntl
import os
import time
import weakref

from chase.core.errors import SetupError
from chase.store.workspace import Workspace

PATIENCE_SECONDS = 0.25
"""How long a writer tries: a probe by `writer_pid` or a process just killed may hold it for a moment."""


class WriterLock:
    """Held by the one process that writes a workspace's store; the lock file names its pid."""

    def __init__(self, workspace: Workspace) -> None:
        """Take the lock, or refuse with a sentence that names the holder."""
        self._fd: int | None = None
        try:
            self._fd = fd = os.open(workspace.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            if not _try_lock(fd, PATIENCE_SECONDS):
                raise SetupError(_refusal(workspace, _read_pid(fd)))
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            self._close()
            raise SetupError(
                f"cannot lock {workspace.lock} for writing ({error.strerror}). Make the workspace writable, "
                "free some space, or name another folder with --workspace."
            ) from error
        except BaseException:
            self._close()
            raise
        _forget_in_children(self)

    def release(self) -> None:
        """Give the lock up. The file stays: removing it would let two writers hold two locks."""
        if self._fd is not None:
            os.ftruncate(self._fd, 0)
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        self._close()

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def writer_pid(workspace: Workspace) -> int | None:
    """The pid of the process that is writing the workspace's store now, or None."""
    if not workspace.lock.exists():
        return None
    fd = os.open(workspace.lock, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return None if _try_lock(fd, 0, shared=True) else _read_pid(fd)
    finally:
        os.close(fd)


def _try_lock(fd: int, patience_seconds: float, *, shared: bool = False) -> bool:
    deadline = time.monotonic() + patience_seconds
    while True:
        try:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.02)
        else:
            return True


def _read_pid(fd: int) -> int | None:
    text = os.pread(fd, 32, 0).strip()
    return int(text) if text.isdigit() else None


def _refusal(workspace: Workspace, pid: int | None) -> str:
    holder = "another process" if pid is None else f"process {pid}"
    return (
        f"workspace={workspace.root}: {holder} is writing its store, and a store has one writer at a time. "
        "Wait until it ends, stop it, or name another folder with --workspace."
    )


def _forget_in_children(lock: WriterLock) -> None:
    """A forked worker drops its copy of the lock, so that it cannot outlive a killed parent in it."""
    reference = weakref.ref(lock)

    def forget() -> None:
        held = reference()
        if held is not None:
            held._close()

    os.register_at_fork(after_in_child=forget)
