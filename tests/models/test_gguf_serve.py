"""The process that serves, with a stand-in for the package that holds llama.cpp: what it is told, and when it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PACKAGE = """
import json, os, sys
from types import SimpleNamespace

def CommonParams():
    model, one, other = SimpleNamespace(), SimpleNamespace(), SimpleNamespace()
    return SimpleNamespace(model=model, cpuparams=one, cpuparams_batch=other)

class Server:
    listening_address = "http://127.0.0.1:4321"

    def __init__(self, given):
        print("llama.cpp prints whatever it likes")
        if given.model.path == "broken":
            raise RuntimeError("Failed to load")
        told = {**vars(given), "model": given.model.path, "model_alias": sorted(given.model_alias)}
        told["cpuparams"] = told["cpuparams_batch"] = given.cpuparams.n_threads
        open(os.environ["TOLD"], "w").write(json.dumps(told))
"""
WANTED = {"path": "m.gguf", "name": "m", "key": "secret", "slots": 3, "threads": 2, "context_tokens": 2048}


@pytest.fixture
def served(tmp_path: Path) -> Any:
    """Starts the process with these words on stdin."""
    (tmp_path / "xllamacpp.py").write_text(PACKAGE)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "TOLD": str(tmp_path / "told.json")}

    def start(**changes: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "chase.models.gguf.serve"]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
        assert process.stdin is not None
        process.stdin.write(json.dumps({**WANTED, **changes}).encode() + b"\n")
        process.stdin.flush()
        return process

    return start


def test_it_serves_on_loopback_with_a_key_and_slots_until_its_pipe_is_closed(served: Any, tmp_path: Path) -> None:
    with served() as process:
        assert json.loads(process.stdout.readline()) == {"address": "http://127.0.0.1:4321"}
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(30) == 0
        assert b"whatever it likes" in process.stderr.read()
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["hostnames"] == ["127.0.0.1"]
    assert told["api_keys"] == ["secret"]
    assert (told["n_parallel"], told["n_ctx"], told["kv_unified"]) == (3, 3 * 2048, False)
    assert (told["cpuparams"], told["port"], told["cache_ram_mib"]) == (2, 0, 0)


def test_a_model_that_cannot_be_loaded_ends_it_without_a_traceback(served: Any) -> None:
    with served(path="broken") as process:
        _, said = process.communicate()
        assert process.returncode == 1
    assert said.splitlines()[-1] == b"error: Failed to load"
    assert b"Traceback" not in said
