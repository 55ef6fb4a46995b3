"""Commands in this process, through the entry point that ends with an exit code; servers and harnesses for them."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from chase.cli.main import main
from chase.harness.folder import save_harness
from chase.protocol.kit import ProtocolKit
from chase.testing.ledger import H0
from chase.testing.openai_server import FaultHook, OpenAIServer, Script
from tests.conftest import open_once

kit_once = cache(ProtocolKit)
"""What the firewall found once is known: a kit keeps its verdicts."""
SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The last line on stderr: what went wrong and what to do."""
        return self.err.strip().splitlines()[-1]


class Commands:
    """`chase(…)` runs a command. Benchmarks are built once a process: their name decides all of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        monkeypatch.setattr("chase.benchmarks.registry.open_benchmark", open_once)
        monkeypatch.setattr("chase.runs.opening.ProtocolKit", kit_once)
        monkeypatch.setattr("chase.runs.opening.PATIENCE_SECONDS", 600)  # a busy machine is nobody's matter here

    def __call__(self, *arguments: object) -> Finished:
        self._monkeypatch.setattr("sys.argv", ["chase", *map(str, arguments)])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        assert "Traceback" not in err
        return Finished(ended.value.code, out, err)

    def json(self, *arguments: object) -> dict[str, Any]:
        """The payload of a command that succeeds, checked against its committed schema."""
        finished = self(*arguments, "--json")
        assert finished.code == 0, finished.err
        return checked(finished.out)


def checked(text: str) -> dict[str, Any]:
    """A payload, checked against the schema that it names."""
    payload: dict[str, Any] = json.loads(text)
    name, _, _ = payload["schema"].rpartition("/")
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(payload, schema, cls=jsonschema.Draft202012Validator)
    return payload


def write_h0(folder: Path, *, say: str = "") -> Path:
    """The initial harness, as a folder, with more at the end of its prompt."""
    save_harness(H0, folder)
    with (folder / "prompt.md").open("a") as prompt:
        prompt.write(say)
    return folder


def closed_port() -> int:
    """A loopback port on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def serving(script: Script, fault: FaultHook | None = None) -> Iterator[OpenAIServer]:
    """A loopback OpenAI-compatible server in a thread of its own."""
    server = OpenAIServer(script, fault=fault)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(10)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
