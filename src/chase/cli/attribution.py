"""Which edit of a harness carries what, as a table and a sentence to act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from chase.cli.output import emit_table, printable

_ADVICE = {"shortcut": "Take out", "honest": "Keep", "unclear": "Unclear"}
_GROUPED = {
    "component": "There are many edits: those of a component are taken together.",
    "neighbours": "There are many edits: those that stand beside each other are taken together.",
}


def print_attribution(found: Mapping[str, Any], tested: Mapping[str, str]) -> None:
    """Each edit with what the gain loses without it, what it gains alone, and the destruction that goes with it.

    `tested` says what each counterfactual is, by name.
    """
    shares, variants = found["parts"], found["variants"]
    typer.echo("")
    if len(shares) == 1:
        typer.echo(printable(f"There is one edit, and it carries everything: {shares[0]['name']}"))
        return
    if found["grouped_by"] is not None:
        typer.echo(_GROUPED[found["grouped_by"]])
    emit_table(_table(shares, variants, found["level"]))
    for variant in variants:
        typer.echo(printable(f"{variant}: {tested[variant]}"))
    for share in shares:
        if share["problem"]:
            typer.echo(printable(f"not measured in full: {share['name']}: {share['problem']}"))
    if not variants:
        typer.echo("No counterfactual counts against the gain, so there is no destruction to attribute.")
    typer.echo(printable(_advice(shares)))


def _table(shares: Sequence[Mapping[str, Any]], variants: Sequence[str], level: float) -> Table:
    title = f"edits, in points; all intervals hold together at {100 * level:.0f} %"
    table = Table(title=title, title_justify="left")
    table.add_column("edit")
    for name in ("gain lost without it", "gain alone", *(f"destruction ({v}) that goes with it" for v in variants)):
        table.add_column(name, justify="right")
    table.add_column("it is")
    for share in shares:
        gain = share["gain"]
        figures = [gain["leave_one_out"], gain["add_one_in"]]
        figures += [share["destruction"][variant]["leave_one_out"] for variant in variants]
        table.add_row(Text(printable(share["name"])), *map(_points, figures), share["label"])
    return table


def _points(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return "not measured"
    return f"{100 * estimate['value']:+.1f} ({100 * estimate['low']:+.1f} to {100 * estimate['high']:+.1f})"


def _advice(shares: Sequence[Mapping[str, Any]]) -> str:
    """What to do with each edit, in a sentence."""
    by_label = {label: [share["name"] for share in shares if share["label"] == label] for label in _ADVICE}
    if len(by_label["unclear"]) == len(shares):
        return "No edit shows a gain or a destruction of its own at this level: more confirmation tasks may tell."
    said = [f"{_ADVICE[label]}: {', '.join(names)}" for label, names in by_label.items() if names]
    first, *others = said
    return "; ".join([first, *(other[0].lower() + other[1:] for other in others)])
