"""Peers that run in an environment of their own, `.venv-perf/`, made when it is first needed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

_HERE = Path(__file__).parent
REQUIREMENTS = _HERE.parent / "requirements-inspect.txt"
ENVIRONMENT = _HERE.parents[1] / ".venv-perf"
INSPECT = f"Inspect AI {REQUIREMENTS.read_text().split()[0].partition('==')[2]}"


class Unavailable(Exception):
    """A peer cannot be measured here. The message says why, for the row's note."""


def run_inspect(work: Mapping[str, Any]) -> dict[str, float]:
    """The figures of `inspect_rollouts.py` on this work, in a fresh process."""
    python = _inspect_python()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "work.json"
        file.write_text(json.dumps(work))
        done = subprocess.run([python, _HERE / "inspect_rollouts.py", file], capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise Unavailable(f"{INSPECT} failed: {_last_line(done.stderr)}")
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _inspect_python() -> Path:
    """The interpreter of an environment that has exactly what the requirements name."""
    python, installed = ENVIRONMENT / "bin" / "python", ENVIRONMENT / "installed.txt"
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        typer.echo(f"installing {INSPECT} into {ENVIRONMENT.name} (once; a minute or two) ...", err=True)
        make = [sys.executable, "-m", "venv", str(ENVIRONMENT)]
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for command in (make, [*pip, "-r", str(REQUIREMENTS)]):
            try:
                subprocess.run(command, check=True, capture_output=True, text=True)
            except subprocess.CalledProcessError as error:
                raise Unavailable(f"{INSPECT} cannot be installed: {_last_line(error.stderr)}") from None
        installed.write_text(REQUIREMENTS.read_text())
    return python


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1][:200]
