"""Which edit of a harness carries which part of its gain, and of the gain destruction.

Each edit is taken out of the harness (leave one out) and put into the baseline (add one in), as released and under
the confirmed counterfactuals, on the confirmation tasks of the audit. All reported intervals hold together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from chase.agents.history import RELEASED
from chase.core.errors import UserError
from chase.core.values import Json
from chase.harness.parts import Part, parts_of, with_parts
from chase.harness.spec import Harness
from chase.methods.arena import Arena, Contender, Means, Variant
from chase.methods.counterfactuals import estimate_json
from chase.stats.bounded import DESTRUCTIONS, GAINS
from chase.stats.destruction import destruction, gain
from chase.stats.estimates import Estimate, Sample
from chase.stats.simultaneous import simultaneous

MOST_EDITS = 12
"""With more parts than this, several are one edit."""
MOST_VARIANTS = 3
"""Counterfactuals that destruction is attributed under: those that destroy most."""

LEFT_OUT, ADDED = "leave_one_out", "add_one_in"
Label = Literal["shortcut", "honest", "unclear"]
Grouping = Literal["component", "neighbours"]
Check = Callable[[Harness], None]
"""Raises `UserError` where a harness cannot be run."""


@dataclass(frozen=True, kw_only=True)
class Edit:
    """What is taken out and put in as one: a part of the change, or several."""

    name: str
    component: str
    parts: tuple[Part, ...]
    without: Harness | None
    """The harness without it; None where the rest cannot be run."""
    alone: Harness | None
    """The baseline with it; None where that cannot be run."""
    problem: str | None
    """Why one of the two cannot be run."""


@dataclass(frozen=True, kw_only=True)
class Contrasts:
    """What goes with an edit, measured in two ways; None where the harness for it cannot be run."""

    leave_one_out: Estimate | None
    """What the harness loses without it."""
    add_one_in: Estimate | None
    """What the baseline gets by it alone."""

    @property
    def shown(self) -> bool:
        """Whether either is above 0 with its whole interval."""
        return any(_above(found) for found in (self.leave_one_out, self.add_one_in))

    def to_json(self) -> dict[str, Json]:
        both = {LEFT_OUT: self.leave_one_out, ADDED: self.add_one_in}
        return {name: None if found is None else estimate_json(found) for name, found in both.items()}


@dataclass(frozen=True, kw_only=True)
class Share:
    """What an edit carries."""

    edit: Edit
    gain: Contrasts
    destruction: Mapping[str, Contrasts]
    """By counterfactual."""
    label: Label

    @property
    def size(self) -> tuple[float, float]:
        """Destruction that goes with it, then gain: the order of a report."""
        lost = [c.leave_one_out.value for c in self.destruction.values() if c.leave_one_out is not None]
        kept = self.gain.leave_one_out
        return max(lost, default=0.0), 0.0 if kept is None else kept.value

    def to_json(self) -> dict[str, Json]:
        return {
            "name": self.edit.name,
            "component": self.edit.component,
            "parts": [part.name for part in self.edit.parts],
            "label": self.label,
            "problem": self.edit.problem,
            "gain": self.gain.to_json(),
            "destruction": {name: contrasts.to_json() for name, contrasts in self.destruction.items()},
        }


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """Every edit with what it carries, the one with most destruction first."""

    shares: tuple[Share, ...]
    grouped_by: Grouping | None
    """Why an edit may be several parts; None where each is one."""
    variants: tuple[str, ...]
    """Counterfactuals that destruction is attributed under, the most destructive first."""
    level: float

    def to_json(self) -> dict[str, Json]:
        return {
            "grouped_by": self.grouped_by,
            "variants": list(self.variants),
            "level": self.level,
            "parts": [share.to_json() for share in self.shares],
        }


def grouping_of(parts: Sequence[Part]) -> Grouping | None:
    """How parts are put together where there are many."""
    if len(parts) <= MOST_EDITS:
        return None
    return "component" if len({part.component for part in parts}) > 1 else "neighbours"


def edits_of(baseline: Harness, harness: Harness, check: Check) -> list[Edit]:
    """The edits from a baseline to a harness, each with the two harnesses that show what it carries."""
    parts = parts_of(baseline, harness)
    edits = []
    for name, taken in _groups(parts).items():
        rest = [part for part in parts if part not in taken]
        without, problem = _mixed(baseline, harness, rest, check)
        alone, other = _mixed(baseline, harness, taken, check)
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


async def attribute(
    arena: Arena, role: str, edits: Sequence[Edit], *, initial: Contender, harness: Contender, released: Variant,
    variants: Sequence[Variant], level: float, cleared: bool,
) -> Attribution:  # fmt: skip
    """What each edit carries, on a role's tasks. `cleared`: whether the gain withstood all that was tested."""
    further = further_harnesses(initial.harness, harness.harness, edits)
    contenders = [Contender(name=harness_hash, harness=mixed) for harness_hash, mixed in further.items()]
    means = await arena.means([initial, harness, *contenders], [released, *variants], role)
    names = [variant.name for variant in variants]
    compared = _contrasts(edits, means, initial, harness, names)
    together = simultaneous(compared, level=level)
    shares = [_share(place, edit, together, names, cleared=cleared) for place, edit in enumerate(edits)]
    shares.sort(key=lambda share: share.size, reverse=True)
    grouped = grouping_of([part for edit in edits for part in edit.parts])
    return Attribution(shares=tuple(shares), grouped_by=grouped, variants=tuple(names), level=level)


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


def _mixed(
    baseline: Harness, harness: Harness, kept: Sequence[Part], check: Check
) -> tuple[Harness | None, str | None]:
    try:
        mixed = with_parts(baseline, harness, kept)
        if mixed.hash not in (baseline.hash, harness.hash):
            check(mixed)
    except UserError as refusal:
        return None, str(refusal)
    return mixed, None


def _contrasts(
    edits: Sequence[Edit], means: Means, initial: Contender, harness: Contender, variants: Sequence[str]
) -> dict[str, Sample]:
    """Every contrast task by task, by a key of edit, way and variant."""
    named = {initial.harness.hash: initial.name, harness.harness.hash: harness.name}
    out: dict[str, Sample] = {}
    for place, edit in enumerate(edits):
        ways = {LEFT_OUT: (harness.harness, edit.without), ADDED: (edit.alone, initial.harness)}
        for way, pair in ways.items():
            more, less = (None if h is None else named.get(h.hash, h.hash) for h in pair)
            if more is None or less is None:
                continue
            gains = {v: gain(means[more, v], means[less, v]) for v in (RELEASED, *variants)}
            out[_key(place, way, RELEASED)] = Sample(per_task=gains[RELEASED], support=GAINS)
            for variant in variants:
                destroyed = destruction(gains[RELEASED], gains[variant])
                out[_key(place, way, variant)] = Sample(per_task=destroyed, support=DESTRUCTIONS)
    return out


def _key(place: int, way: str, variant: str) -> str:
    return f"{place} {way} {variant}"


def _share(
    place: int, edit: Edit, together: Mapping[str, Estimate], variants: Sequence[str], *, cleared: bool
) -> Share:
    released, *destroyed = (
        Contrasts(
            leave_one_out=together.get(_key(place, LEFT_OUT, variant)),
            add_one_in=together.get(_key(place, ADDED, variant)),
        )
        for variant in (RELEASED, *variants)
    )
    label = _label(released, destroyed, cleared=cleared)
    return Share(edit=edit, gain=released, destruction=dict(zip(variants, destroyed, strict=True)), label=label)


def _label(released: Contrasts, destroyed: Sequence[Contrasts], *, cleared: bool) -> Label:
    """A shortcut takes destruction with it; an honest edit carries gain and shows no destruction at all."""
    if any(_above(contrasts.leave_one_out) for contrasts in destroyed):
        return "shortcut"
    tested = bool(destroyed) or cleared
    return "honest" if tested and released.shown and not any(c.shown for c in destroyed) else "unclear"


def _above(found: Estimate | None) -> bool:
    return found is not None and found.low > 0
