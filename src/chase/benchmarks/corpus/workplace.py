"""Where prepared things are kept: private, and every file and folder in it whole or not there."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp

from chase.core.errors import DiskError, SetupError
from chase.core.interfaces import Progress

PART = ".part"
"""How the name of what is not yet whole ends."""
ABANDONED_SECONDS = 3600
"""Nobody writes one file for so long."""


def home(benchmark: str) -> Path:
    """Beside the built benchmarks, such as `~/.cache/chase/officeqa`; looked up when it is used."""
    return Path.home() / ".cache" / "chase" / benchmark


def private_folder(folder: Path) -> Path:
    """The folder, made where it is not there; refused where others could write into it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
    except OSError as error:
        raise SetupError(f"{folder} cannot be made: {error.strerror}. Make room, or make it writable.") from None
    if state.st_uid != os.getuid() or state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SetupError(f"{folder} can be written by others, so nothing in it can be relied on. `chmod 700 {folder}`.")
    return folder


def write_whole(file: Path, content: bytes) -> None:
    """Through a name of its own, so that no reader and no other writer meets half a file.

    What a process left that was killed at it is removed when it is surely nobody's any more.
    """
    for left in file.parent.glob(f"{file.name}.*{PART}"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > ABANDONED_SECONDS:
                left.unlink()
    with NamedTemporaryFile(dir=file.parent, prefix=f"{file.name}.", suffix=PART, delete=False) as part:
        path = Path(part.name)
        try:
            part.write(content)
            part.close()
            path.replace(file)
        except BaseException as error:
            path.unlink(missing_ok=True)
            raise _named(error, file) from None


def built_once(
    folder: Path, is_whole: Callable[[Path], bool], build: Callable[[Path], None], tell: Progress = lambda _: None
) -> Path:
    """The folder as `build` fills it, now or at an earlier time.

    It is filled under another name and renamed when it is whole. Processes that want it at once wait for the one that
    began; what a killed one left is removed.
    """
    if is_whole(folder):
        return folder
    private_folder(folder.parent)
    with alone(folder, tell):
        for left in folder.parent.glob(f"{folder.name}.*{PART}"):
            shutil.rmtree(left)
        if is_whole(folder):
            return folder
        part = Path(mkdtemp(dir=folder.parent, prefix=f"{folder.name}.", suffix=PART))
        try:
            build(part)
            shutil.rmtree(folder, ignore_errors=True)
            part.rename(folder)
        except BaseException as error:
            shutil.rmtree(part, ignore_errors=True)
            raise _named(error, folder) from None
    return folder


@contextmanager
def own_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder that is gone at the end, unless it was renamed; those that killed processes left are removed.

    Whoever works in one holds its lock, which the system frees when a process dies.
    """
    for left in parent.glob(f"{prefix}*{PART}"):
        with _locked(left) as is_ours:
            if is_ours:
                shutil.rmtree(left, ignore_errors=True)
    while True:
        folder = Path(mkdtemp(dir=parent, prefix=prefix, suffix=PART))
        with _locked(folder) as is_ours:
            if not is_ours or not folder.exists():  # another start took it for one that was left
                continue
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Whether the lock of a folder is had; not where another process has it, or the folder is gone."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = True
    except BlockingIOError:
        is_ours = False
    try:
        yield is_ours
    finally:
        os.close(fd)


@contextmanager
def alone(folder: Path, tell: Progress) -> Iterator[None]:
    """Hold the lock of a folder. The system frees it when a process dies; its file stays, empty."""
    fd = os.open(folder.with_name(f"{folder.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another process that is building the same")
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _named(error: BaseException, what: Path) -> BaseException:
    """An error of the disk as a sentence; any other as it is."""
    return DiskError(f"{what} cannot be written: {error.strerror}") if isinstance(error, OSError) else error
