"""Attribution of a gain to a harness's edits, and of what survives everything neutral.

Each edit is taken out of the harness (leave one out) and put into the baseline (add one in); the mean of the two is
its *contribution*. It is measured as released and under the probes of the battery, on the confirmation tasks, in looks:
an edit that is settled on the first part of the tasks is not measured on the rest. Single aspects then name what a
shortcut rests on; they decide nothing, because an honest edit too can lose its gain under one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from chase.agents.history import RELEASED
from chase.core.values import Json
from chase.harness.spec import Harness
from chase.methods.arena import Arena, Contender, Means, Variant
from chase.methods.audit_findings import Found
from chase.methods.counterfactuals import estimate_json
from chase.methods.edits import Check, Edit, Grouping, grouping_of, mixture_of
from chase.methods.looks import Look
from chase.methods.verdict import LABEL_SHARE, TOGETHER_SHARE, Edits, MeasuredGain, bounds_of
from chase.stats.bounded import GAINS
from chase.stats.contrasts import HALF, Cell, Contrast, averaged_cells
from chase.stats.estimates import INDEPENDENT, Clusters, Estimate, Sample, between
from chase.stats.simultaneous import tasks_above

MOST_NAMED = 2
"""Aspects that are named for one shortcut."""

Label = Literal["shortcut", "honest", "open"]


@dataclass(frozen=True, kw_only=True)
class Share:
    """An edit's contribution to the gain."""

    edit: Edit
    label: Label
    contribution: Estimate | None = None
    """As released: the mean of the two ways. None where neither can be measured."""
    leave_one_out: Estimate | None = None
    add_one_in: Estimate | None = None
    under: Mapping[str, MeasuredGain] = field(default_factory=dict)
    """By probe; empty where the released contribution may be nothing, judged by itself."""
    gains: Mapping[str, Estimate] = field(default_factory=dict)
    """The contribution under each probe."""
    rests_on: tuple[str, ...] = ()
    """Aspects under which, neutralised alone, most of a shortcut's contribution goes."""

    @property
    def value(self) -> float:
        return 0.0 if self.contribution is None else self.contribution.value

    @property
    def surely_contributes(self) -> bool:
        """Surely adds to the released gain."""
        return self.contribution is not None and self.contribution.low > 0

    def to_json(self) -> dict[str, Json]:
        def plain(found: Estimate | None) -> Json:
            return None if found is None else estimate_json(found)

        return {
            "name": self.edit.name,
            "component": self.edit.component,
            "parts": [part.name for part in self.edit.parts],
            "label": self.label,
            "problem": self.edit.problem,
            "contribution": plain(self.contribution),
            "leave_one_out": plain(self.leave_one_out),
            "add_one_in": plain(self.add_one_in),
            "under": {
                name: {
                    "gain": estimate_json(self.gains[name]),
                    "half": estimate_json(tested.half),
                    "half_expected": estimate_json(tested.half_expected),
                    "expected_share": tested.expected_share,
                    "no_room": tested.no_room,
                }
                for name, tested in self.under.items()
            },
            "rests_on": list(self.rests_on),
        }


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """Every edit with its contribution, the largest first."""

    shares: tuple[Share, ...]
    grouped_by: Grouping | None
    """Why an edit may be several parts; None where each is one."""
    probes: tuple[str, ...]
    level: float
    edits: Edits
    """Input of a verdict."""

    def to_json(self) -> dict[str, Json]:
        return {
            "grouped_by": self.grouped_by,
            "probes": list(self.probes),
            "level": self.level,
            "parts": [share.to_json() for share in self.shares],
        }


def in_words(gain: float, shares: Sequence[Share]) -> str:
    """ "Of +6.2 points, +6.0 come with "Read on." and survive; …": what the gain is made of, in a sentence."""
    parts = []
    for share in shares:
        said = f"{_points(share.value)} come with {share.edit.name}"
        if share.label == "honest":
            parts.append(f"{said} and survive everything neutral")
        elif share.label == "shortcut":
            rests = f" and rest on {' and '.join(share.rests_on)}" if share.rests_on else " and do not survive"
            parts.append(said + rests)
        else:
            parts.append(f"{said}: open")
    return f"Of {_points(gain)} points, {'; '.join(parts)}."


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"


@dataclass(frozen=True, kw_only=True)
class EditMeasurement:
    """Measures edits on a role's tasks.

    An edit's released contribution is measured first: while that, judged by itself, may be nothing, no probe is run.
    """

    arena: Arena
    role: str
    initial: Contender
    harness: Contender
    released: Variant
    probes: Sequence[Found]
    """They decide."""
    aspects: Sequence[Found]
    """They name."""
    is_valid: Callable[[Found], bool]
    """Asked of an aspect before it is measured: whether the firewall passes it on the first look's tasks."""
    variants: Mapping[str, Variant]
    """The draws of probes and aspects, by name."""
    looks: Sequence[Look]
    check: Check
    clusters: Clusters = field(default_factory=lambda: INDEPENDENT)

    async def attribute(self, edits: Sequence[Edit], level: float) -> Attribution:
        """Every edit's contribution and label, and what they say of the whole."""
        settled: dict[str, Share] = {}
        for look in self.looks:
            for edit in edits:
                if edit.name in settled:
                    continue
                share = await self._share(edit, look, len(edits))
                if look is self.looks[-1] or share.label != "open":
                    settled[edit.name] = await self._named(share)
        shares = sorted(settled.values(), key=lambda share: share.value, reverse=True)
        return Attribution(
            shares=tuple(shares),
            grouped_by=grouping_of([part for edit in edits for part in edit.parts]),
            probes=tuple(probe.name for probe in self.probes),
            level=level,
            edits=await self._in_all(shares, level),
        )

    async def _share(self, edit: Edit, look: Look, edits: int) -> Share:
        """An edit on the tasks of one look; with the probes where its contribution, judged by itself, is above 0."""
        means = await self._means(edit, [], look.tasks)
        released = self._cells(edit, means, (RELEASED,))
        if not released:
            return Share(edit=edit, label="open")
        each = (1 - look.level) / 2 / edits
        by_way = {way: self._gain(cell, each, look.level) for way, cell in zip(self._ways(edit), released, strict=True)}
        share = Share(
            edit=edit,
            label="open",
            contribution=self._gain(averaged_cells(released), each, look.level),
            leave_one_out=by_way.get("leave one out"),
            add_one_in=by_way.get("add one in"),
        )
        promising = self._gain(averaged_cells(released), (1 - look.level) / 2, look.level).low > 0
        return await self._probed(share, look, edits) if promising else share

    async def _probed(self, share: Share, look: Look, edits: int) -> Share:
        """The same with what the probes leave of the contribution, and the label that follows."""
        each, accusing = (1 - look.level) / 2 / edits, 1.0 if edits == 1 else LABEL_SHARE
        means = await self._means(share.edit, [d for probe in self.probes for d in probe.draws], look.tasks)
        released = averaged_cells(self._cells(share.edit, means, (RELEASED,)))
        tested, gains = {}, {}
        for probe in self.probes:
            changed = averaged_cells(self._cells(share.edit, means, probe.draws))
            tested[probe.name] = bounds_of(
                Contrast(released=released, changed=changed, clusters=self.clusters), what=probe.what, source="battery",
                accusing=accusing * each / len(self.probes), acquitting=each, level=look.level,
            )  # fmt: skip
            gains[probe.name] = self._gain(changed, each / len(self.probes), look.level)
        return replace(share, under=tested, gains=gains, label=_label(share, tested))

    async def _named(self, share: Share) -> Share:
        """A shortcut with the aspects that it rests on, on the first look's tasks at the level that accused."""
        if share.label != "shortcut":
            return share
        look, lost = self.looks[0], list[tuple[float, str]]()
        accused = max(share.under, key=lambda name: share.under[name].destruction.value)
        level = list(share.under).index(accused)
        edit = share.edit if share.edit.without is None else replace(share.edit, alone=None)  # one way is enough here
        valid = [aspect for aspect in self.aspects if self.is_valid(aspect)]
        drawn = {aspect.what: aspect.draws[min(level, len(aspect.draws) - 1)] for aspect in valid}
        means = await self._means(edit, list(drawn.values()), look.tasks)
        released = averaged_cells(self._cells(edit, means, (RELEASED,)))
        for what, draw in drawn.items():
            changed = averaged_cells(self._cells(edit, means, (draw,)))
            sample = Contrast(released=released, changed=changed, clusters=self.clusters).destroyed
            found = between(sample, low=0.025, high=0.025, level=0.95)
            if found.low > 0:
                lost.append((found.value, what))
        names = tuple(what for _, what in sorted(lost, reverse=True)[:MOST_NAMED])
        return replace(share, rests_on=names)

    async def _in_all(self, shares: Sequence[Share], level: float) -> Edits:
        """The gain without shortcuts, and that of honest edits alone, each less half of the released gain."""
        by_label: dict[Label, list[Share]] = {"shortcut": [], "honest": [], "open": []}
        for share in shares:
            by_label[share.label].append(share)
        named = {label: tuple(share.edit.name for share in found) for label, found in by_label.items()}
        rest = await self._beyond_half(by_label["honest"] + by_label["open"]) if by_label["shortcut"] else None
        honest = await self._beyond_half(by_label["honest"]) if by_label["honest"] else None
        return Edits(
            shortcuts=named["shortcut"],
            honest=named["honest"],
            open=named["open"],
            without_shortcuts=None if rest is None else self._bounded(rest, level),
            by_honest=None if honest is None else self._bounded(honest, level),
            tasks_needed=None if honest is None else tasks_above(honest, 0.0, level=level),
        )

    async def _beyond_half(self, kept: Sequence[Share]) -> Sample | None:
        """The released gain of the baseline with these edits, less half of the whole one: from −1 to 1."""
        parts = [part for share in kept for part in share.edit.parts]
        mixed, _ = mixture_of(self.initial.harness, self.harness.harness, parts, self.check)
        if mixed is None:
            return None
        some = self._contender(mixed)
        means = await self.arena.means([self.initial, self.harness, some], [self.released], self.role)
        base = means[self.initial.name, RELEASED]
        whole = means[self.harness.name, RELEASED]
        part = means[some.name, RELEASED]
        values = {task: part[task] - base[task] - HALF * (whole[task] - base[task]) for task in base}
        return Sample(per_task=values, support=GAINS, clusters=self.clusters)

    def _bounded(self, beyond: Sample, level: float) -> Estimate:
        each = (1 - level) / 2
        return between(beyond, low=each, high=TOGETHER_SHARE * each, level=level)

    async def _means(self, edit: Edit, draws: Sequence[str], tasks: Sequence[str]) -> Means:
        """The four cells of an edit as released and under each variant."""
        pairs = self._ways(edit).values()
        named = {contender.name: contender for pair in pairs for contender in pair}
        variants = [self.released, *(self.variants[draw] for draw in draws)]
        return await self.arena.means(list(named.values()), variants, self.role, tasks) if named else {}

    def _ways(self, edit: Edit) -> dict[str, tuple[Contender, Contender]]:
        """The two harnesses, with and without the edit, by the way it is measured."""
        found = {}
        if edit.without is not None:
            found["leave one out"] = (self.harness, self._contender(edit.without))
        if edit.alone is not None:
            found["add one in"] = (self._contender(edit.alone), self.initial)
        return found

    def _cells(self, edit: Edit, means: Means, draws: Sequence[str]) -> list[Cell]:
        """With and without the edit, one cell for each way, averaged over draws."""
        return [
            averaged_cells([Cell(more=means[more.name, d], less=means[less.name, d]) for d in draws])
            for more, less in self._ways(edit).values()
        ]

    def _contender(self, harness: Harness) -> Contender:
        """A mixture under its hash; baseline and harness under their names."""
        for known in (self.initial, self.harness):
            if harness.hash == known.harness.hash:
                return known
        return Contender(name=harness.hash, harness=harness)

    def _gain(self, cell: Cell, alpha: float, level: float) -> Estimate:
        sample = Sample(per_task=cell.gain, support=GAINS, clusters=self.clusters)
        return between(sample, low=alpha, high=alpha, level=level)


def _label(share: Share, under: Mapping[str, MeasuredGain]) -> Label:
    """A shortcut surely contributes and surely loses more than half of that under a probe; an honest edit surely keeps
    half under all of them.
    """
    if share.surely_contributes and any(tested.destroys_half for tested in under.values()):
        return "shortcut"
    return "honest" if under and all(tested.keeps_half for tested in under.values()) else "open"
