"""The table of a comparison's certificates: what is proved of each method's `H*`, by Hoeffding and by betting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from chase.runs.certified_theory import WAYS
from chase.runs.tables import Table

Found = Mapping[str, Any]
Bound = Callable[[Found, str], float | None]
"""From theorems and a way; None where there is none."""


def _of_archive(key: str) -> Bound:
    """Without an archive there is nothing but the released benchmark, where `Γ` is 0 by definition."""
    return lambda theorems, way: theorems["theorem1"][way][key] if theorems["archive_size"] > 1 else None


def _of_neutral(key: str) -> Bound:
    return lambda theorems, way: None if theorems["neutral"] is None else theorems["neutral"][way][key]


BOUNDS: Mapping[str, tuple[str, Bound]] = {
    "gamma_upper": ("Γ_A ≤", _of_archive("gamma_upper")),
    "g_min_lower": ("G_min,A ≥", _of_archive("g_min_lower")),
    "delta_bs_upper": ("Δ_BS ≤", _of_neutral("delta_bs_upper")),
    "g0_lower": ("G_0 ≥", _of_neutral("g0_lower")),
}
SURVIVING = {"g0_lower": "G_0", "g_min_lower": "G_min,A"}
"""Where a lower bound above 0 certifies a surviving gain."""


def certificate_table(certificates: Sequence[Found]) -> Table:
    """A row for each method in print, the median over its seeds; in CSV one for each seed.

    An `H*` that is `H_0` has no gain by definition: it needs no bound, and is in no median.
    """
    changed = [found["theorems"] for found in certificates if not found["unchanged"]]
    there = {key: bound for key, bound in BOUNDS.items() if _known(changed, bound[1])}
    surviving = next((key for key in SURVIVING if key in there), None)
    first, methods = certificates[0]["theorems"], list(dict.fromkeys(found["method"] for found in certificates))
    of = {name: [found for found in certificates if found["method"] == name] for name in methods}
    more = [] if surviving is None else [f"{SURVIVING[surviving]} > 0 certified"]
    return Table(
        name="certificates",
        title=f"Certificates of each H*, in points, Hoeffding / betting (α = {first['alpha']:g}, {first['tasks']} "
        f"sealed tasks{', median over seeds' if len(of[methods[0]]) > 1 else ''})",
        headings=("Method", "H* is H_0", "size of A", *(symbol for symbol, _ in there.values()), *more),
        rows=[[name, *_cells(of[name], there, surviving)] for name in methods],
        fields=("method", "seed", "unchanged", "archive_size", *(f"{key}_{way}" for key in there for way in WAYS)),
        data=[_values(found, [bound for _, bound in there.values()]) for found in certificates],
        notes=_notes(certificates),
    )


def _known(theorems: Sequence[Found], bound: Bound) -> bool:
    return any(bound(each, WAYS[0]) is not None for each in theorems)


def _values(found: Found, bounds: Sequence[Bound]) -> list[object]:
    theorems = found["theorems"]
    told = [bound(theorems, way) for bound in bounds for way in WAYS]
    return [found["method"], found["seed"], found["unchanged"], theorems["archive_size"], *told]


def _cells(found: Sequence[Found], there: Mapping[str, tuple[str, Bound]], surviving: str | None) -> list[str]:
    changed = [each["theorems"] for each in found if not each["unchanged"]]
    cells = [f"{len(found) - len(changed)} of {len(found)}", _sizes(changed)]
    for _, bound in there.values():
        cells.append(" / ".join(_middle([bound(each, way) for each in changed]) for way in WAYS))
    if surviving is not None:
        cells.append(" / ".join(_above_zero([there[surviving][1](each, way) for each in changed]) for way in WAYS))
    return cells


def _sizes(theorems: Sequence[Found]) -> str:
    sizes = sorted({each["archive_size"] for each in theorems})
    return " to ".join(map(str, sizes[:1] + sizes[1:][-1:])) or "–"


def _middle(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{100 * median(known):+.1f}" if known else "–"


def _above_zero(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(value > 0 for value in known)} of {len(known)}" if known else "–"


def _notes(certificates: Sequence[Found]) -> list[str]:
    """What the bounds rest on, and what is said of Theorem 1, each once."""
    first = certificates[0]["theorems"]
    said = [
        f"Each pair of bounds (Γ_A and G_min,A; Δ_BS and G_0) holds with probability {100 * first['level']:g} % for "
        "one H* by itself, not for all methods and seeds together. A median of bounds is no bound: each one is in the "
        "CSV, and in the JSON with Theorems 1 to 3 and their conditions. Where H* is H_0 every gain is 0 by "
        "definition: no bound is needed, and the median leaves it out.",
        "Conditions: " + "; ".join(first["theorem1"]["betting"]["conditions"][:2]) + ".",
    ]
    if first["neutral"] is not None and not any(f["theorems"]["theorem1"]["betting"]["applies"] for f in certificates):
        said.append(
            "Theorem 1 does not apply: no archive was found to compose to B_0, so K(A) counts as infinite. The bounds "
            "on Δ_BS and G_0 are measured under B_0 itself."
        )
    return said
