"""Decisions from a part of the scores: between which values a mean can still end, and what must be known next.

A contrast is a sum of cells with signs: `R(H) − R(H')`, or `Δ_b(H; H_0)`. Of a cell some tasks are known; a score that
is missing is from 0 to 1. `certain` says where a contrast ends whatever is missing, so that a decision by it is the one
that all scores would give. `chase.stats.racing` says where it very likely ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from chase.stats.estimates import PerTask

Cell = tuple[str, str]
"""(harness, variant)."""
Contrast = Sequence[tuple[int, PerTask]]
"""Cells with their signs, each cell as far as it is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """Where the mean over all tasks ends: at one value where all is known."""

    low: Fraction
    high: Fraction


Ends = Callable[[Contrast, int], Range]
"""Where a contrast over so many tasks ends."""


def certain(contrast: Contrast, tasks: int) -> Range:
    """The lowest and the highest mean over all tasks, whatever the missing scores are."""
    low = high = Fraction(0)
    for sign, cell in contrast:
        known, missing = sign * sum(cell.values(), Fraction(0)), tasks - len(cell)
        low += known + min(sign, 0) * missing
        high += known + max(sign, 0) * missing
    return Range(low=low / tasks, high=high / tasks)


@dataclass(frozen=True, kw_only=True, slots=True)
class Contest:
    """Constrained selection from a pool that begins with `H_0`: of the harnesses whose gain destruction is within the
    tolerance under every constraint the one with the highest score under `objective`; of equals the earlier.
    """

    pool: tuple[str, ...]
    tasks: int
    objective: str
    variants: tuple[str, ...]
    """All that a selected harness is known under; the released one first."""
    constraints: tuple[str, ...] = ()
    """Those of them whose gain destruction is held to the tolerance."""
    tolerance: Fraction = Fraction(0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """Why no more had to be known of a harness."""

    why: Literal["beaten", "infeasible"]
    by: str
    """The harness that is selected, or the constraint that is broken."""
    bound: Fraction
    """Beaten: the most by which it ends above the selected one. Infeasible: the least that its gain destruction ends
    at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What a contest needs next, or how it ended."""

    selected: str | None = None
    wanted: tuple[Cell, ...] = ()
    """Cells that more must be known of; none: it is decided, and all is known of the selected one."""
    stopped: Mapping[str, Stop] | None = None
    """Of every other harness of the pool, once one is selected."""


def next_step(contest: Contest, known: Mapping[Cell, PerTask], ends: Ends = certain) -> Step:
    """Best first: the objective decides who leads, then the leader must keep every constraint, then it is completed.

    `known` has every cell of `H_0` in full. With `certain` ends the harness that is selected is the one that all scores
    would select.
    """
    race = _Race(contest, known, ends)
    left = [name for name in contest.pool if race.broken(name) is None]
    front = [name for name in left if not any(race.beats(other, name) for other in left)] or left
    if len(front) > 1:
        scored = (contest.variants[0], contest.objective)  # agents read of the released scores, whatever decides
        return Step(wanted=race.missing((name, variant) for name in front for variant in scored))
    (leader,) = front
    in_doubt = [variant for variant in contest.constraints if race.destruction(leader, variant).high > race.tolerance]
    if leader != contest.pool[0] and in_doubt:
        return Step(wanted=race.missing((leader, variant) for variant in (contest.variants[0], *in_doubt)))
    others = {name: race.stop(name, leader) for name in contest.pool if name != leader}
    rest = race.missing((leader, variant) for variant in contest.variants)
    return Step(selected=leader, wanted=rest, stopped=others)


class _Race:
    """A contest at one moment."""

    def __init__(self, contest: Contest, known: Mapping[Cell, PerTask], ends: Ends) -> None:
        self._contest = contest
        self._known = known
        self._ends = ends
        self._place = {name: place for place, name in enumerate(contest.pool)}
        self.tolerance = contest.tolerance

    def missing(self, cells: Iterable[Cell]) -> tuple[Cell, ...]:
        return tuple(cell for cell in dict.fromkeys(cells) if len(self._cell(*cell)) < self._contest.tasks)

    def lead(self, harness: str, other: str) -> Range:
        """Where a harness ends above another."""
        objective = self._contest.objective
        return self._range((1, self._cell(harness, objective)), (-1, self._cell(other, objective)))

    def beats(self, other: str, harness: str) -> bool:
        """Whether it is settled that one ends before another: higher, or as high and earlier."""
        most = self.lead(harness, other).high
        return most < 0 or (most == 0 and self._place[other] < self._place[harness])

    def destruction(self, harness: str, variant: str) -> Range:
        first, initial = self._contest.variants[0], self._contest.pool[0]
        own = ((1, self._cell(harness, first)), (-1, self._cell(harness, variant)))
        return self._range(*own, (-1, self._cell(initial, first)), (1, self._cell(initial, variant)))

    def broken(self, harness: str) -> Stop | None:
        """The constraint that a harness breaks for certain. `H_0` breaks none: it has no gain to lose."""
        if harness == self._contest.pool[0]:
            return None
        least = {variant: self.destruction(harness, variant).low for variant in self._contest.constraints}
        worst = max(least, key=lambda variant: least[variant], default=None)
        if worst is None or least[worst] <= self.tolerance:
            return None
        return Stop(why="infeasible", by=worst, bound=least[worst])

    def stop(self, harness: str, selected: str) -> Stop:
        broken = self.broken(harness)
        return broken or Stop(why="beaten", by=selected, bound=self.lead(harness, selected).high)

    def _cell(self, harness: str, variant: str) -> PerTask:
        return self._known.get((harness, variant), {})

    def _range(self, *contrast: tuple[int, PerTask]) -> Range:
        return self._ends(contrast, self._contest.tasks)
