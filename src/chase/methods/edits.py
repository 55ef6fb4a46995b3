"""The edits of a harness: its difference from a baseline in parts that can be taken out and put in by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from chase.core.errors import UserError
from chase.harness.parts import Part, parts_of, with_parts
from chase.harness.spec import Harness

MOST_EDITS = 12
"""With more parts than this, several are one edit."""

Grouping = Literal["component", "neighbours"]
GROUPED: Mapping[Grouping, str] = {
    "component": "There are many edits: those of a component are taken together.",
    "neighbours": "There are many edits: neighbours are taken together.",
}
Check = Callable[[Harness], None]
"""Raises `UserError` where a harness cannot be run."""


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A part of the change, or several, that is taken out and put in as one."""

    name: str
    component: str
    parts: tuple[Part, ...]
    without: Harness | None
    """The harness without it; None where the rest cannot be run."""
    alone: Harness | None
    """The baseline with it; None where that cannot be run."""
    problem: str | None
    """Reason why one of the two cannot be run."""


def grouping_of(parts: Sequence[Part]) -> Grouping | None:
    """Rule for putting parts together where there are many."""
    if len(parts) <= MOST_EDITS:
        return None
    return "component" if len({part.component for part in parts}) > 1 else "neighbours"


def edits_of(baseline: Harness, harness: Harness, check: Check) -> list[Edit]:
    """The edits from a baseline to a harness, each with the two harnesses that show what it carries."""
    parts = parts_of(baseline, harness)
    edits = []
    for name, taken in _groups(parts).items():
        rest = [part for part in parts if part not in taken]
        without, problem = mixture_of(baseline, harness, rest, check)
        alone, other = mixture_of(baseline, harness, taken, check)
        edits.append(
            Edit(
                name=name,
                component=taken[0].component,
                parts=tuple(taken),
                without=without,
                alone=alone,
                problem=problem or other,
            )
        )
    return edits


def further_harnesses(baseline: Harness, harness: Harness, edits: Sequence[Edit]) -> dict[str, Harness]:
    """The harnesses that attribution runs beside the two, by hash."""
    made = [mixed for edit in edits for mixed in (edit.without, edit.alone) if mixed is not None]
    return {mixed.hash: mixed for mixed in made if mixed.hash not in (baseline.hash, harness.hash)}


def _groups(parts: Sequence[Part]) -> dict[str, list[Part]]:
    """The parts of each edit by its name: one each, or, of many, those of a component or of one neighbourhood."""
    grouping = grouping_of(parts)
    if grouping is None:
        return {part.name: [part] for part in parts}
    if grouping == "component":
        components = list(dict.fromkeys(part.component for part in parts))
        groups = [[part for part in parts if part.component == component] for component in components]
        return {_several(group, group[0].component): group for group in groups}
    size = -(-len(parts) // MOST_EDITS)
    groups = [list(parts[start : start + size]) for start in range(0, len(parts), size)]
    return {_several(group, f"{group[0].name} …"): group for group in groups}


def _several(group: Sequence[Part], name: str) -> str:
    return group[0].name if len(group) == 1 else f"{name} ({len(group)} edits)"


def mixture_of(
    baseline: Harness, harness: Harness, kept: Sequence[Part], check: Check
) -> tuple[Harness | None, str | None]:
    """The baseline with some parts of the harness; where it cannot be run None, and the reason."""
    try:
        mixed = with_parts(baseline, harness, kept)
        if mixed.hash not in (baseline.hash, harness.hash):
            check(mixed)
    except UserError as refusal:
        return None, str(refusal)
    return mixed, None
