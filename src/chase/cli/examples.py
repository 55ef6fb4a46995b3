"""A before/after example in print: what an agent was shown, and what it is shown instead."""

from __future__ import annotations

import typer

from chase.protocol.example import Example

MOST_LINES, MOST_CHARS = 4, 110
"""Of each side of a change, from the first line that differs."""


def print_example(example: Example, *, indent: str = "") -> None:
    """A few lines for each change, those before marked `-`, those after `+`. `--json` has them whole."""
    if not example.changes:
        typer.echo(f"{indent}example task {example.task}: looks the same")
        return
    typer.echo(f"{indent}example task {example.task}, - before, + after:")
    for change in example.changes:
        arguments = ", ".join(f"{name} {value}" for name, value in change.call.arguments.items())
        typer.echo(f"{indent}  {_line(f'{change.call.tool} {arguments}'.rstrip())}")
        for mark, side in zip("-+", change.excerpt(MOST_LINES), strict=True):
            for line in side.lines:
                typer.echo(f"{indent}    {mark} {_line(line)}".rstrip())
            if side.more:
                typer.echo(f"{indent}    {mark} … {side.more} more lines")


def _line(line: str) -> str:
    """A line that cannot steer a terminal; white space at its end is spelled out, since it may be the change."""
    kept = line.rstrip()
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in kept)
    shown += "".join("\\x20" if c == " " else c.encode("unicode_escape").decode() for c in line[len(kept) :])
    return shown if len(shown) <= MOST_CHARS else f"{shown[:MOST_CHARS]}…"
