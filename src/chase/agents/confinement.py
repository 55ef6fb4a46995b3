"""Runs a command of somebody else's in a folder, with nothing else of the machine to see or to change (bubblewrap).

The folder is at `/desk` and writable, the shelf in it (a history, an agent's own files) is read-only; programs and
libraries are readable; there is no network unless it is allowed. The environment is made anew. Time, output, what is
left on disk, processes and memory are limited, and no process outlives the command, nor this process.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from chase.agents.command_log import CommandLog
from chase.agents.process_watch import Crowd, crowd_of
from chase.core.errors import SetupError, UserError
from chase.models.secrets import Redactor, read_key

DESK = "/desk"
"""Where the command finds its folder."""
HISTORY, HOME, TEMPORARY = "history", "home", "home/tmp"
"""In the folder. The home is empty at the start and removed at the end: tools keep keys there."""
TIMEOUT_SECONDS = 1800.0
OUTPUT_BYTES = 4 << 20
"""Of each output that is kept. A command that writes many times as much is stopped."""
FILE_BYTES = 64 << 20
"""The largest file that it can write."""
DESK_BYTES = 1 << 30
DESK_ENTRIES = 50_000
WATCH_SECONDS = 0.5
GRACE_SECONDS = 5.0
PROBE_SECONDS = 30.0
STATUS_BYTES = 4096

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("ssl", "pki", "ca-certificates", "passwd", "group", "nsswitch.conf", "alternatives", "ld.so.cache")
_NETWORK_SETTINGS = ("resolv.conf", "hosts")
_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
_PACKAGE = Path(__file__).resolve().parents[1]
"""This package can generate a benchmark with its answers: never visible."""

# Dies with this process from its first moment on; a file that grows too large is an error to its writer.
_LAUNCH = """\
import ctypes, os, resource, signal, sys
parent, most, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
try:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
except (AttributeError, OSError):
    pass
if os.getppid() != parent:
    sys.exit(1)
for kind, limit in ((resource.RLIMIT_FSIZE, most), (resource.RLIMIT_CORE, 0)):
    hard = resource.getrlimit(kind)[1]
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (limit, limit))
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.execv(command[0], command)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """What a command may use, beside its time."""

    output_bytes: int = OUTPUT_BYTES
    desk_bytes: int = DESK_BYTES
    desk_entries: int = DESK_ENTRIES
    processes: int | None = None
    memory_bytes: int | None = None
    """Of all its processes together; None: as much as there is."""

    def passed(self, crowd: Crowd) -> tuple[str, str] | None:
        """The limit that a command's processes are beyond, and the sentence for it."""
        if self.processes is not None and crowd.processes > self.processes:
            return "process-limit", f"it had more than {self.processes} processes"
        if self.memory_bytes is not None and crowd.memory_bytes > self.memory_bytes:
            return "memory-limit", f"it held more than {self.memory_bytes} bytes of memory"
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a command ended."""

    exit: int | None
    """None where it was stopped; below 0 is a signal."""
    stopped: str
    """Why it was stopped, or ''."""
    limit: str
    """The limit that it was stopped at (`time-limit`, `output-limit`, …), or ''."""
    began: bool
    """Whether it was started at all: where not, bubblewrap failed, and its errors say why."""
    seconds: float
    output: str
    """Its standard output as it was kept, cleared of keys."""
    errors: str
    """Its standard error, likewise."""


@dataclass(frozen=True, kw_only=True)
class Confinement:
    """A command line and what it may use. Split into words, never given to a shell."""

    command: str
    network: bool = False
    unconfined: bool = False
    """Without bubblewrap: it sees and can change all that you can."""
    pass_env: tuple[str, ...] = ()
    """Names of the environment variables that it gets."""
    readable: tuple[Path, ...] = ()
    timeout_seconds: float = TIMEOUT_SECONDS
    bounds: Bounds = field(default_factory=Bounds)
    shelf: str = HISTORY
    """The name of the folder at the desk that is read-only."""

    def __post_init__(self) -> None:
        if not self.words:
            raise UserError("command='' is empty. Write the program and its arguments.")
        if Redactor()(self.command) != self.command:
            raise UserError("the command contains a key. Leave it out and name its variable with --pass-env.")
        for name in self.pass_env:
            if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
                raise UserError(f"pass_env='{name}' is no name of an environment variable. Write names, not values.")

    @cached_property
    def words(self) -> list[str]:
        try:
            return shlex.split(self.command)
        except ValueError as error:
            raise UserError(f"the command cannot be split into words: {error}. Check its quotes.") from None

    @cached_property
    def redact(self) -> Redactor:
        """Blanks every value that was passed, and every key of this environment."""
        return Redactor(self._passed.values())

    def check(self, shelf: Path | None = None) -> None:
        """A `SetupError` where the command could not be started: called before anything is paid for.

        `shelf` is what will be on it, where the program may be there.
        """
        for path in self.readable:
            if not path.exists():
                raise SetupError(f"readable={path} does not exist. Name a folder or a file that does.")
        program, _ = self._program, self._passed
        if self.unconfined:
            return
        with tempfile.TemporaryDirectory() as folder:
            desk = Path(folder)
            for name in (self.shelf, TEMPORARY):
                (desk / name).mkdir(parents=True)
            arguments = self._arguments(desk, shelf or desk / self.shelf, ())
            ended = _probe([_bubblewrap(), *arguments, "--", "/usr/bin/test", "-x", str(program)])
        if ended.returncode and ended.stderr:
            raise SetupError(
                f"bubblewrap cannot confine a command here: {ended.stderr.strip()[:300]}. Allow unprivileged user "
                "namespaces, or opt out with --unconfined."
            )
        if ended.returncode:
            real = program.resolve()
            raise SetupError(
                f"command={program} cannot be seen from inside: name the folder where it is installed with --readable"
                f" {','.join(dict.fromkeys([str(program.parent), str(real.parent)]))}."
            )

    async def run(self, desk: Path, *, shelf: Path, hidden: Sequence[Path], logs: tuple[Path, Path]) -> Ended:
        """Run the command at its desk until it ends or is stopped; `logs` get its two outputs.

        Cancelling ends the command. What is `hidden` is not visible, also where a readable path holds them. Without
        confinement the shelf is expected at the desk.
        """
        desk, words = desk.absolute(), [str(self._program), *self.words[1:]]
        status = os.memfd_create("status")
        handed = () if self.unconfined else (status, _handed_over(self._arguments(desk, shelf.absolute(), hidden)))
        if handed:
            words = [_bubblewrap(), "--args", str(handed[1]), "--json-status-fd", str(status), "--", *words]
        started = time.monotonic()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", "-c", _LAUNCH, str(os.getpid()), str(FILE_BYTES), *words,
                cwd=desk, env=self._environment(desk), start_new_session=True, stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                pass_fds=handed,
            )  # fmt: skip
        except OSError as error:
            os.close(status)
            raise SetupError(f"command={self.words[0]} cannot be started: {error.strerror}.") from None
        finally:
            for file in handed[1:]:
                os.close(file)
        assert process.stdout is not None
        assert process.stderr is not None
        kept = [CommandLog(path, most=self.bounds.output_bytes, redact=self.redact) for path in logs]
        pumps = [
            asyncio.create_task(log.drain(stream))
            for log, stream in zip(kept, (process.stdout, process.stderr), strict=True)
        ]
        try:
            limit, stopped = await self._wait(process, desk, kept)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            _, late = await asyncio.wait(pumps, timeout=GRACE_SECONDS)
            for pump in late:  # a process that left the group holds the pipe: only without confinement
                pump.cancel()
                process._transport.close()  # type: ignore[attr-defined]  # else it would be waited for
            await process.wait()
            for log in kept:
                log.close()
            began = self.unconfined or b'"exit-code"' in os.pread(status, STATUS_BYTES, 0)
            os.close(status)
        return Ended(
            exit=None if stopped else process.returncode,
            stopped=stopped,
            limit=limit,
            began=began or bool(stopped),
            seconds=round(time.monotonic() - started, 3),
            output=kept[0].text(),
            errors=kept[1].text(),
        )

    async def _wait(
        self, process: asyncio.subprocess.Process, desk: Path, logs: Sequence[CommandLog]
    ) -> tuple[str, str]:
        """Until the command ends: nothing; or until it must be stopped: at which limit, and the sentence for it."""
        deadline = time.monotonic() + self.timeout_seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                await asyncio.wait_for(process.wait(), min(left, WATCH_SECONDS))
                return "", ""
            except TimeoutError:
                if process.returncode is not None:  # it ended, and a process that it left behind holds its output
                    return "", ""
            if any(log.flooded for log in logs):
                return "output-limit", "it wrote too much output"
            if beyond := await asyncio.to_thread(self._beyond, process.pid, desk):
                return beyond
        return "time-limit", f"time limit of {self.timeout_seconds:g} seconds"

    def _beyond(self, pid: int, desk: Path) -> tuple[str, str] | None:
        """The limit of processes, memory or disk that a command has passed, and the sentence for it."""
        bounds = self.bounds
        if _overgrown(desk, self.shelf, bounds):
            left = f"it left more than {bounds.desk_bytes} bytes or {bounds.desk_entries} files in its folder"
            return "disk-limit", left
        watched = bounds.processes is not None or bounds.memory_bytes is not None
        return bounds.passed(crowd_of(pid)) if watched else None

    @cached_property
    def _program(self) -> Path:
        if self.words[0].startswith(f"{self.shelf}/"):
            return Path(self.words[0] if self.unconfined else f"{DESK}/{self.words[0]}")
        there = None if self.unconfined else shutil.which(self.words[0], path=os.pathsep.join(self._search_path()))
        found = there or shutil.which(self.words[0])
        if found is None:
            raise SetupError(f"command='{self.words[0]}' was not found. Install it, or write its full path.")
        return Path(found).absolute()

    @cached_property
    def _passed(self) -> dict[str, str]:
        passed = {}
        for name in self.pass_env:
            try:
                passed[name] = read_key(self.words[0], name)
            except SetupError:
                raise SetupError(f"--pass-env {name}: set the environment variable {name} first.") from None
        return passed

    def _environment(self, desk: Path) -> Mapping[str, str]:
        """What the command finds. Handed over as an environment, not as arguments, which every user can list."""
        place = str(desk) if self.unconfined else DESK
        return {
            "PATH": os.pathsep.join(os.get_exec_path() if self.unconfined else self._search_path()),
            "HOME": f"{place}/{HOME}",
            "TMPDIR": f"{place}/{TEMPORARY}" if self.unconfined else "/tmp",
            "LANG": "C.UTF-8",
            **self._passed,
        }

    def _search_path(self) -> Iterator[str]:
        yield from _PATH
        for folder in (path / name for path in self.readable for name in ("bin", "") if path.is_dir()):
            yield str(folder)

    def _arguments(self, desk: Path, shelf: Path, hidden: Sequence[Path]) -> list[str]:
        """What bubblewrap is told."""
        arguments = ["--unshare-all", *(["--share-net"] if self.network else []), "--die-with-parent", "--new-session"]
        arguments += ["--cap-drop", "ALL", "--hostname", "desk", "--proc", "/proc", "--dev", "/dev"]
        for system in _SYSTEM:
            if (path := Path(system)).is_symlink():
                arguments += ["--symlink", str(path.readlink()), system]
            elif path.exists():
                arguments += ["--ro-bind", system, system]
        for name in (*_SETTINGS, *(_NETWORK_SETTINGS if self.network else ())):
            arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        arguments += ["--bind", str(desk / TEMPORARY), "/tmp"]
        for path in self.readable:
            arguments += ["--ro-bind", str(path), str(path)]
        for place in self._covered([*hidden, _PACKAGE]):
            arguments += ["--tmpfs", str(place)] if place.is_dir() else ["--ro-bind", os.devnull, str(place)]
        arguments += ["--bind", str(desk), DESK, "--ro-bind", str(shelf), f"{DESK}/{self.shelf}"]
        arguments += ["--remount-ro", "/", "--chdir", DESK]
        return arguments

    def check_hidden(self, hidden: Sequence[Path]) -> None:
        """A `UserError` where something that is to be readable is in a hidden folder."""
        for folder in (path.resolve() for path in hidden):
            for path in self.readable:
                if path.resolve() != folder and path.resolve().is_relative_to(folder):
                    raise UserError(
                        f"readable={path} is in {folder}, which no agent may see: answers are there. Move it out of "
                        "there, or do without."
                    )

    def _covered(self, hidden: Sequence[Path]) -> Iterator[Path]:
        """Where hidden folders and files would show in what is readable."""
        roots = [*(path for path in map(Path, _SYSTEM) if not path.is_symlink()), *self.readable]
        for folder in (path.resolve() for path in hidden if path.exists()):
            for root in roots:
                if folder.is_relative_to(root.resolve()):
                    yield root / folder.relative_to(root.resolve())


def _bubblewrap() -> str:
    found = shutil.which("bwrap")
    if found is None:
        raise SetupError(
            "an external agent is run under bubblewrap, which is not installed (no 'bwrap' on the PATH). Install "
            "the package bubblewrap, or opt out with --unconfined: the agent then sees all that you see."
        )
    return found


def _handed_over(arguments: Sequence[str]) -> int:
    """A file of arguments to be inherited. On a command line the command could read them, in `/proc/1/cmdline`."""
    file = os.memfd_create("arguments")
    os.write(file, "".join(f"{argument}\0" for argument in arguments).encode("utf-8", "surrogateescape"))
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _probe(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(words, env={}, capture_output=True, text=True, check=False, timeout=PROBE_SECONDS)
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(words, 1, "", f"no answer within {error.timeout:g} seconds")


def _overgrown(desk: Path, shelf: str, bounds: Bounds) -> bool:
    """Whether there is too much in a folder, or it is nested without end. Follows no link.

    The shelf is the host's, and does not count.
    """
    size = entries = 0
    try:
        for folder, folders, names in os.walk(desk):
            if Path(folder) == desk:
                folders[:] = [name for name in folders if name != shelf]
            entries += len(folders) + len(names)
            for name in names:
                with suppress(OSError):
                    size += Path(folder, name).lstat().st_blocks * 512
            if size > bounds.desk_bytes or entries > bounds.desk_entries:
                return True
    except RecursionError:
        return True
    return False
