"""llama.cpp's server as a process of its own, which never outlives this one."""

from __future__ import annotations

import http.client
import importlib.metadata
import importlib.util
import json
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO
from urllib.parse import urlsplit

from chase.core.errors import SetupError
from chase.core.values import Json
from chase.models.gguf.weights import PATIENCE_SECONDS, Tell

START_SECONDS = 600.0
"""Until the weights are loaded: a slow disk reads 50 MB a second."""
_POLL_SECONDS = 0.1
_TAIL_BYTES = 20_000
_LONGEST_QUOTE = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Launcher:
    """The program that serves. It reads one line of JSON from stdin and writes one, with its address, to stdout.

    It must end when stdin ends, which it does when this process is gone, however that came about.
    """

    command: tuple[str, ...]
    package: str | None
    """Which must be installed for it."""

    def require(self, model: str) -> None:
        """A `SetupError` where the package is missing. Imports nothing."""
        if self.package is not None and importlib.util.find_spec(self.package) is None:
            raise SetupError(f"model '{model}' needs llama.cpp: pip install 'chase-harness[local]'.")

    @property
    def title(self) -> str:
        """The program with its version: another one may answer differently."""
        if self.package is None:
            return "a stand-in for llama.cpp"
        return f"llama.cpp ({self.package} {importlib.metadata.version(self.package)})"


LLAMA_CPP = Launcher(command=(sys.executable, "-m", "chase.models.gguf.serve"), package="xllamacpp")


@dataclass
class Server:
    """A server that answers between `start` and `stop`. `stop` may be called at any time, by any thread."""

    model: str
    launcher: Launcher
    wanted: Mapping[str, Json] = field(repr=False)
    """What the program is told: file, key, slots, threads, context."""
    tell: Tell
    address: str = ""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _log: IO[bytes] | None = field(default=None, repr=False)
    _stopped: bool = False

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Blocks until the server can answer. A `SetupError` says why it cannot; nothing is left of it then."""
        try:
            self._launch()
            self._wait()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the process at once: it has nothing to keep."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                _close(stream)

    def ends_within(self, seconds: float) -> bool:
        """Whether the process ends, or has ended, in this time: its connections are closed a moment before."""
        try:
            return self._process is None or self._process.wait(seconds) is not None
        except subprocess.TimeoutExpired:
            return False

    def ending(self) -> str:
        """How the process ended, with what its log said last."""
        code = None if self._process is None else self._process.poll()
        how = "ended" if code is None else f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        said = self._last_words()
        return f"{how} ({said})" if said else how

    def _launch(self) -> None:
        # A file without a name, so that nothing is left behind. The key goes through the pipe: others on the machine
        # can read a command line. A session of its own: Ctrl-C is for whoever stops it.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            self.launcher.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(dict(self.wanted)).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._process.wait()  # it ended at once; `_wait` says how

    def _wait(self) -> None:
        began = told = time.monotonic()
        while not self._is_ready():
            now = time.monotonic()
            if not self.is_running or self._stopped:
                raise self._failed(f"{self.ending()} before it was ready")
            if now - began > START_SECONDS:
                raise self._failed(f"was not ready after {START_SECONDS:g} s")
            if now - told > PATIENCE_SECONDS:
                told = now
                self.tell(f"llama.cpp loads {self.model}: please wait")

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.stdout is not None
        if not self.address:
            if not select.select([self._process.stdout], [], [], _POLL_SECONDS)[0]:
                return False
            self.address = _address(self._process.stdout.readline())
        if self.address and is_healthy(self.address):
            return True
        time.sleep(_POLL_SECONDS)
        return False

    def _failed(self, what: str) -> SetupError:
        return SetupError(
            f"model '{self.model}': llama.cpp's server {what}: check that the file is whole and that there is enough "
            f'memory, or lower slots or context_tokens in [models."{self.model}".server].'
        )

    def _last_words(self) -> str:
        """The last line of the log that speaks of an error, else the last line."""
        if self._log is None:
            return ""
        self._log.seek(0, 2)
        self._log.seek(max(0, self._log.tell() - _TAIL_BYTES))
        lines = [line.strip() for line in self._log.read().decode("utf-8", "replace").splitlines() if line.strip()]
        telling = [line for line in lines if "error" in line.lower() or "failed" in line.lower()]
        return (telling or lines or [""])[-1][:_LONGEST_QUOTE]


def is_healthy(address: str) -> bool:
    """Whether the server at an address says that it can answer. Asks it directly, whatever proxy is set."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _address(line: bytes) -> str:
    try:
        return str(json.loads(line)["address"]).rstrip("/")
    except (ValueError, KeyError, TypeError):
        return ""


def _close(stream: IO[bytes] | None) -> None:
    try:
        if stream is not None:
            stream.close()
    except BrokenPipeError:
        pass
