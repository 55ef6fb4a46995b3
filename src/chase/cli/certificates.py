"""How the theorems of a certification are printed: Hoeffding and betting side by side, conditions in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chase.cli.output import echo
from chase.stats.theorems import LARGEST_DESTRUCTION, LEAST_GAIN, PLUG_IN, VACUOUS

WAYS = ("hoeffding", "betting")


def print_theorems(found: Mapping[str, Any] | None) -> None:
    """Bounds that hold with a stated probability, then what each theorem says; nothing where nothing was certified."""
    if found is None:
        return
    echo(
        f"\ncertificates, in points: each two lines hold together with probability {100 * found['level']:g} % "
        f"(α = {found['alpha']:g}, {found['tasks']} tasks, |A| = {found['archive_size']})"
    )
    echo(f"  {'':<17} {'Hoeffding':>17} {'betting':>17}")
    for name, bounds, meaning in _rows(found):
        cells = " ".join(f"{_cell(bound, name):>17}" for bound in bounds)
        echo(f"  {name:<17} {cells}   {meaning}".rstrip())
    evolution = found["evolution"] or {"sentences": []}
    for sentence in (*found["sentences"], *evolution["sentences"]):
        echo(sentence)
    echo("Conditions: " + "; ".join(found["theorem1"]["betting"]["conditions"]) + ".")
    echo(f"Betting takes the tasks in an order that seed {found['seed']} decided before they were opened.")


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, list[float], str]]:
    first = found["theorem1"]
    yield "Γ_A at most", [first[way]["gamma_upper"] for way in WAYS], "largest gain destruction over the archive"
    yield "G_min,A at least", [first[way]["g_min_lower"] for way in WAYS], "gain under its worst entry"
    if first["betting"]["applies"]:
        told = f"by Theorem 1{f' [{PLUG_IN}]' if first['betting']['plug_in'] else ''}"
        yield "Δ_BS at most", [first[way]["delta_bs_upper"] for way in WAYS], told
        yield "G_0 at least", [first[way]["g0_lower"] for way in WAYS], told
    if found["neutral"] is not None:
        told = "measured under B_0 itself"
        yield "Δ_BS at most", [found["neutral"][way]["delta_bs_upper"] for way in WAYS], told
        yield "G_0 at least", [found["neutral"][way]["g0_lower"] for way in WAYS], told


def _cell(bound: float, name: str) -> str:
    said = bound < LARGEST_DESTRUCTION if name.endswith("most") else bound > LEAST_GAIN
    return f"{100 * bound:+.1f}{'' if said else f' ({VACUOUS})'}"
