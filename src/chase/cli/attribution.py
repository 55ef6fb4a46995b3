"""The edits of an audited harness: a table, and a sentence to act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from chase.cli.output import emit_table, printable
from chase.methods.edits import GROUPED

Found = Mapping[str, Any]
_ADVICE = {"shortcut": "Take out", "honest": "Keep", "open": "Open"}


def print_attribution(found: Found) -> None:
    """Each edit with its contribution as released and under the probes, and what it is."""
    shares = found["parts"]
    if len(shares) < 2:
        _print_only(shares)
        return
    typer.echo("")
    if found["grouped_by"] is not None:
        typer.echo(GROUPED[found["grouped_by"]])
    emit_table(_table(shares, found["probes"], found["level"]))
    for share in shares:
        if share["problem"]:
            typer.echo(printable(f"not measured in full: {share['name']}: {share['problem']}"))
    typer.echo(printable(_advice(shares)))


def _print_only(shares: Sequence[Found]) -> None:
    """Print the aspects that a single edit rests on: its contribution is the gain."""
    for share in shares:
        if share["rests_on"]:
            typer.echo(f"the gain rests on {' and '.join(share['rests_on'])}")


def _table(shares: Sequence[Found], probes: Sequence[str], level: float) -> Table:
    title = f"contribution of each edit, in points; all intervals hold together at {100 * level:.0f} %"
    table = Table(title=title, title_justify="left")
    table.add_column("edit")
    for name in ("as released", *probes):
        table.add_column(name, justify="right")
    table.add_column("tasks", justify="right")
    table.add_column("it is")
    for share in shares:
        under = [share["under"].get(name, {}).get("gain") for name in probes]
        rests = f": {' and '.join(share['rests_on'])}" if share["rests_on"] else ""
        table.add_row(
            Text(printable(share["name"])),
            *map(_points, (share["contribution"], *under)),
            str((share["contribution"] or {}).get("n", "")),
            f"{share['label']}{rests}",
        )
    return table


def _points(estimate: Found | None) -> str:
    if estimate is None:
        return "not measured"
    return f"{100 * estimate['value']:+.1f} ({100 * estimate['low']:+.1f} to {100 * estimate['high']:+.1f})"


def _advice(shares: Sequence[Found]) -> str:
    """An action for each edit, in a sentence."""
    by_label = {label: [share["name"] for share in shares if share["label"] == label] for label in _ADVICE}
    said = [f"{_ADVICE[label]}: {', '.join(names)}" for label, names in by_label.items() if names]
    first, *others = said
    return "; ".join([first, *(other[0].lower() + other[1:] for other in others)])
