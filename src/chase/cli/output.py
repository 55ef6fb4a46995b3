"""How commands speak: results on stdout, progress on stderr."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

from chase.core.errors import UserError
from chase.runs.rendering import printable as printable

if TYPE_CHECKING:
    from chase.runs.results import Result

_BEYOND_ASCII = re.compile(r"[^\n -~]")


def emit_json(schema: str, payload: Mapping[str, Any]) -> None:
    """One JSON object on stdout, with its schema's name. Characters that could steer a terminal are escaped."""
    text = json.dumps({"schema": schema, **payload}, ensure_ascii=False, indent=2)
    typer.echo(_BEYOND_ASCII.sub(lambda found: _escaped(found[0]), text))


def emit(result: Result) -> None:
    """A run's result as one JSON object on stdout."""
    emit_json(result.schema, result.payload)


def _escaped(char: str) -> str:
    return char if char.isprintable() else json.dumps(char)[1:-1]


def echo(line: str) -> None:
    """A line on stdout that cannot steer a terminal."""
    typer.echo(printable(line))


def emit_table(table: Table) -> None:
    """A table on stdout: drawn on a terminal, and as wide as it needs to be elsewhere."""
    console = Console(file=sys.stdout, highlight=False)
    if not console.is_terminal:
        console = Console(file=sys.stdout, highlight=False, width=200)
    console.print(table)


class Steps:
    """Says on stderr which step a long command is at: one live line on a terminal, plain lines elsewhere."""

    def __init__(self, label: str, plain_seconds: float = 2.0) -> None:
        """`plain_seconds`: between lines elsewhere than on a terminal."""
        self._label = label
        self._plain_seconds = plain_seconds
        self._start = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._last_plain = 0.0

    def __call__(self, step: str) -> None:
        elapsed = time.monotonic() - self._start
        line = f"{self._label}: {step} ({elapsed:.0f} s)" if self._label else f"{step} ({elapsed:.0f} s)"
        if self._terminal:
            typer.echo(f"\r\x1b[2K{line}", err=True, nl=False)
        elif elapsed - self._last_plain >= self._plain_seconds or not self._last_plain:
            self._last_plain = elapsed or 1e-9
            typer.echo(line, err=True)

    def clear(self) -> None:
        if self._terminal:
            typer.echo("\r\x1b[2K", err=True, nl=False)


@contextmanager
def steps(label: str, plain_seconds: float = 2.0) -> Iterator[Steps]:
    """Progress for the length of a block; the live line is gone afterwards."""
    progress = Steps(label, plain_seconds)
    try:
        yield progress
    finally:
        progress.clear()


def new_folder(path: Path, option: str) -> Path:
    """The folder, made; refused where it already holds something, so that nothing is overwritten."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(f"{option}={path} already holds something. Name a new or an empty folder.")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{option}={path} cannot be made: {error.strerror}. Name a folder you can write to.") from None
    return path
