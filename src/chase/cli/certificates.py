"""How the theorems of a certification are printed: Hoeffding and betting side by side, conditions in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chase.cli.output import echo
from chase.runs.certified_figures import bounds_of
from chase.stats.theorems import VACUOUS


def print_theorems(found: Mapping[str, Any] | None) -> None:
    """Bounds that hold with a stated probability, then what each theorem says; nothing where nothing was certified."""
    if found is None:
        return
    echo(
        f"\ncertificates, in points: each two lines hold together with probability {100 * found['level']:g} % "
        f"(α = {found['alpha']:g}, {found['tasks']} tasks, |A| = {found['archive_size']})"
    )
    echo(f"  {'':<17} {'Hoeffding':>17} {'betting':>17}")
    for bound in bounds_of(found):
        cells = " ".join(f"{_cell(*each):>17}" for each in zip(bound.values, bound.vacuous, strict=True))
        echo(f"  {f'{bound.symbol} {bound.side}':<17} {cells}   {bound.meaning}".rstrip())
    evolution = found["evolution"] or {"sentences": []}
    for sentence in (*found["sentences"], *evolution["sentences"]):
        echo(sentence)
    echo("Conditions: " + "; ".join(found["theorem1"]["betting"]["conditions"]) + ".")
    echo(f"Betting takes the tasks in an order that seed {found['seed']} decided before they were opened.")


def _cell(value: float, vacuous: bool) -> str:
    return f"{100 * value:+.1f}{f' ({VACUOUS})' if vacuous else ''}"
