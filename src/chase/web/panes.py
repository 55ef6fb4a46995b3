"""The trace explorer: one task under two harnesses and two variants, side by side, marked where it departs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chase.core.errors import ChaseError
from chase.runs.naming import UNCHANGED, Names
from chase.runs.stories import Step, first_difference, story
from chase.store.records import StoredRollout
from chase.web.viewer import Viewer, hash_of


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Where a pane first departs from another."""

    step: int
    """Its number; the number of all steps where the other went on after this one's end."""
    of: str
    """`variant`: from the same harness as released. `harness`: from the other harness under the same variant."""
    words: str


@dataclass(frozen=True, kw_only=True)
class Pane:
    """One rollout of the four."""

    harness: str
    variant: str
    rollout: StoredRollout | None
    steps: tuple[Step, ...] = ()
    marks: tuple[Mark, ...] = ()
    problem: str | None = None

    def marks_at(self, step: int) -> list[Mark]:
        return [mark for mark in self.marks if mark.step == step]

    def turn(self, mark: Mark) -> int | None:
        """The number that stands at a marked step; None: it ended before."""
        return self.steps[mark.step].turn if mark.step < len(self.steps) else None


@dataclass(frozen=True, kw_only=True)
class Four:
    """`H_0` and another harness, as released and under a counterfactual."""

    anchor: StoredRollout
    base: str
    harness: str
    variant: str
    """Hashes, the first two of harnesses."""
    panes: tuple[Pane, ...]
    others: Sequence[StoredRollout]
    """The rollouts of the same cell at the indices before and after."""


def explore(viewer: Viewer, anchor: StoredRollout, names: Names, asked: Mapping[str, str]) -> Four:
    """The four panes around a rollout; what is not asked for is chosen so that most of them have been run."""
    key, initial = anchor.key, _initial(names)
    base = _whole("harness", names.harnesses, asked.get("base")) or initial or key.harness
    harness = _whole("harness", names.harnesses, asked.get("harness"))
    variant = _whole("variant", names.variants, asked.get("variant")) or _variant(viewer, anchor, names)
    harness = harness or (key.harness if key.harness != base else _harness(viewer, anchor, names, base, variant))
    cells = [(base, UNCHANGED), (base, variant), (harness, UNCHANGED), (harness, variant)]
    digests = [viewer.store.twin(anchor, harness=h, transformation=v) for h, v in cells]
    found = viewer.store.with_status(digests)
    panes = [_pane(viewer, names, cell, found.get(digest)) for cell, digest in zip(cells, digests, strict=True)]
    others = [viewer.store.twin(anchor, index=key.index + step) for step in (-1, 1) if key.index + step >= 0]
    return Four(
        anchor=anchor,
        base=base,
        harness=harness,
        variant=variant,
        panes=tuple(_marked(panes, names)),
        others=list(viewer.store.with_status(others).values()),
    )


def _initial(names: Names) -> str | None:
    return next((found for found, name in names.harnesses.items() if name == "H0"), None)


def _whole(kind: str, known: Mapping[str, str], asked: str | None) -> str | None:
    """The whole hash of a name, or of the beginning of a hash that has one."""
    given = hash_of(kind, known, asked)
    return None if given is None else next((found for found in known if found.startswith(given)), given)


def _variant(viewer: Viewer, anchor: StoredRollout, names: Names) -> str:
    """The anchor's, where it is a counterfactual; else the last that has a name and was run with it."""
    if anchor.key.transformation != UNCHANGED:
        return anchor.key.transformation
    known = [found for found in names.variants if found != UNCHANGED]
    digests = {viewer.store.twin(anchor, transformation=found): found for found in known}
    there = viewer.store.with_status(list(digests))
    run = [variant for digest, variant in digests.items() if digest in there]
    return (run or known or [UNCHANGED])[-1]


def _harness(viewer: Viewer, anchor: StoredRollout, names: Names, base: str, variant: str) -> str:
    """The last that has a name and was run on the anchor's task, under the counterfactual if there is one."""
    known = [found for found in names.harnesses if found != base]
    for transformation in (variant, UNCHANGED):
        digests = {viewer.store.twin(anchor, harness=found, transformation=transformation): found for found in known}
        there = viewer.store.with_status(list(digests))
        run = [harness for digest, harness in digests.items() if digest in there]
        if run:
            return run[-1]
    return (known or [base])[-1]


def _pane(viewer: Viewer, names: Names, cell: tuple[str, str], rollout: StoredRollout | None) -> Pane:
    harness, variant = names.harness(cell[0]), names.variant(cell[1])
    if rollout is None:
        return Pane(harness=harness, variant=variant, rollout=None)
    try:
        steps = tuple(story(viewer.store.trace(rollout.trace_digest)))
    except (ChaseError, KeyError, TypeError, AttributeError) as error:
        return Pane(harness=harness, variant=variant, rollout=rollout, problem=str(error))
    return Pane(harness=harness, variant=variant, rollout=rollout, steps=steps)


def _marked(panes: Sequence[Pane], names: Names) -> Iterator[Pane]:
    """Each pane with its departures: from the same harness as released, and from the other harness beside it."""
    for number, pane in enumerate(panes):
        pairs = []
        if number in (1, 3):
            pairs.append(("variant", panes[number - 1], f"{pane.harness} as released"))
        if number in (2, 3):
            pairs.append(("harness", panes[number - 2], f"{panes[number - 2].harness} under {pane.variant}"))
        marks = [mark for of, other, words in pairs if (mark := _mark(pane, other, of, words)) is not None]
        yield Pane(
            harness=pane.harness,
            variant=pane.variant,
            rollout=pane.rollout,
            steps=pane.steps,
            marks=tuple(marks),
            problem=pane.problem,
        )


def _mark(pane: Pane, other: Pane, of: str, words: str) -> Mark | None:
    if not pane.steps or not other.steps or pane.rollout == other.rollout:
        return None
    step = first_difference(pane.steps, other.steps)
    return None if step is None else Mark(step=step, of=of, words=words)
