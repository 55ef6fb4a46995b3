"""Commands of our own that stand for coding agents: small Python programs that a confinement lets run."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

needs_bubblewrap = pytest.mark.skipif(
    shutil.which("bwrap") is None,
    reason="bubblewrap is not installed: `apt-get install bubblewrap`, or your system's way",
)
PYTHON = Path(sys.base_prefix) / "bin" / "python3"
"""An interpreter outside any virtual environment: its folder is all that it needs."""


def program(folder: Path, body: str) -> Path:
    """A program in a folder of its own."""
    path = folder / "tool" / "agent.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("import json, os, pathlib, shutil, sys, time\n" + textwrap.dedent(body), encoding="utf-8")
    return path


def command(folder: Path, body: str) -> str:
    """The command line that runs a program."""
    return shlex.join([str(PYTHON), "-B", str(program(folder, body))])


def readable(folder: Path) -> tuple[Path, ...]:
    """What a confinement must show for it."""
    return Path(sys.base_prefix), folder / "tool"


def processes_with(mark: str) -> Iterator[int]:
    """Ids of the processes whose command line has a mark."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                yield int(entry.name)
        except OSError:
            continue
