"""Which source components go where: an exact search by dynamic programming.

Components are divided among four groups: `evo` and `cert` take whole components, `apart` fills the confirmation
questions that have no component in common with `disc`, and `around` holds `disc` and the questions linked to it.
Group sizes are fixed. In addition every component of `around` keeps a question for `disc`, and what the others of
`around` and all of `apart` hold must allow the confirmation sets' easy and hard questions.

The table says for every place in the list of components, and every room left in `evo`, `cert` and `apart`, which
numbers of easy questions the components from there on can bring to `apart` while filling all three exactly. A
depth-first search walks through it and so never meets a dead end of sizes; it turns back only where `around` cannot
supply the linked questions, and remembers where it has failed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chase.benchmarks.officeqa.sizes import Sizes
from chase.core.keyed import uniform

Group = Literal["evo", "cert", "apart", "around"]
Bits = NDArray[np.uint64]
DRAWS, DRAW_STEPS, LAST_STEPS = 4, 3_000, 50_000
"""Searches in a drawn order of groups, steps in each, and steps in the last one, which serves `around` first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A component as the search sees it."""

    key: str
    size: int
    easy: int

    @property
    def hard(self) -> int:
        return self.size - self.easy

    @property
    def spare_easy(self) -> int:
        """Easy questions that `around` can give away, where the one kept for `disc` may be a hard one."""
        return self.easy - (self.hard == 0)

    @property
    def spare_hard(self) -> int:
        return self.hard - (self.easy == 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Supply:
    """What components in `around` can give to the confirmation sets."""

    easy: int = 0
    hard: int = 0
    extra: int = 0
    """Questions beyond one of each component."""

    def with_part(self, part: Part) -> Supply:
        return Supply(
            easy=self.easy + part.spare_easy, hard=self.hard + part.spare_hard, extra=self.extra + part.size - 1
        )

    def plus(self, other: Supply) -> Supply:
        return Supply(easy=self.easy + other.easy, hard=self.hard + other.hard, extra=self.extra + other.extra)

    def at_most(self, wanted: int) -> Supply:
        """Without what nobody can need, so that supplies which serve alike are equal."""
        return Supply(easy=min(self.easy, wanted), hard=min(self.hard, wanted), extra=min(self.extra, wanted))


@dataclass(frozen=True, slots=True)
class Room:
    """Questions that groups still take, and the easy ones that `apart` has."""

    evo: int
    cert: int
    apart: int
    easy: int = 0

    def without(self, group: Group, part: Part) -> Room | None:
        """What is left after a component; None if it does not fit."""
        if group == "around":
            return self
        left = getattr(self, group) - part.size
        if left < 0:
            return None
        if group == "apart":
            return replace(self, apart=left, easy=self.easy + part.easy)
        return replace(self, evo=left) if group == "evo" else replace(self, cert=left)


class OutOfSteps(Exception):
    """A search was given up: whether there is a solution is not known."""


@dataclass
class Search:
    """A division of components for given sizes. `difficulty=False`: easy and hard are not told apart."""

    parts: Sequence[Part]
    sizes: Sizes
    difficulty: bool
    _left: int = field(default=0, init=False)
    _failed: set[tuple[int, Room, Supply]] = field(default_factory=set, init=False)
    _orders: list[Sequence[Group]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self.parts = sorted(self.parts, key=lambda part: (-part.size, part.key))
        self.table = fillings(self.parts, self.sizes)
        supplies, questions = [Supply()], [0]
        for part in reversed(self.parts):
            supplies.append(supplies[-1].with_part(part))
            questions.append(questions[-1] + part.size)
        self._supplies, self._questions = supplies[::-1], questions[::-1]

    def without_difficulty(self) -> Search:
        """The same search, with nothing asked of difficulty."""
        relaxed = copy(self)
        relaxed.difficulty = False
        return relaxed

    def find(self) -> list[Group] | None:
        """The group of each component in `parts`, or None if there is no valid division.

        Orders of groups are drawn by the components' identifiers, so that no group gets the large components; where
        these fail, `around` is served first.
        """
        for draw in range(DRAWS):
            try:
                return self._walk(draw, DRAW_STEPS)
            except OutOfSteps:
                continue
        return self._walk(None, LAST_STEPS)

    def _walk(self, draw: int | None, steps: int) -> list[Group] | None:
        self._left, self._failed = steps, set()
        self._orders = [self._order(part, draw) for part in self.parts]
        return self._from(0, Room(self.sizes.evo, self.sizes.cert, self.sizes.all_apart), Supply())

    def _from(self, place: int, room: Room, supply: Supply) -> list[Group] | None:
        if not self._possible(place, room, supply) or (place, room, supply) in self._failed:
            return None
        if place == len(self.parts):
            return []
        self._left -= 1
        if self._left < 0:
            raise OutOfSteps
        part = self.parts[place]
        for group in self._orders[place]:
            left = room.without(group, part)
            given = supply.with_part(part).at_most(self.sizes.all_linked) if group == "around" else supply
            if left is not None and (rest := self._from(place + 1, left, given)) is not None:
                return [group, *rest]
        self._failed.add((place, room, supply))
        return None

    def _possible(self, place: int, room: Room, supply: Supply) -> bool:
        """Whether sizes can be met from here, and the linked questions if `around` got the best of what is left."""
        fillings = int(self.table[place][room.evo, room.cert, room.apart])
        for_around = self._questions[place] - room.evo - room.cert - room.apart
        most = supply.plus(self._supplies[place].at_most(for_around))
        if not fillings or most.extra < self.sizes.all_linked:
            return False
        return not self.difficulty or bool(fillings & suited(self.sizes, room.easy, most))

    def _order(self, part: Part, draw: int | None) -> Sequence[Group]:
        """The groups of a component in the order in which they are tried: drawn in proportion to their sizes."""
        if draw is None:
            return ("around", "apart", "cert", "evo")
        sizes = group_sizes(self.sizes)
        drawn = {group: uniform("officeqa-splits", draw, part.key, group) for group in sizes}
        return sorted(sizes, key=lambda group: -math.log(1 - drawn[group]) / sizes[group])


def group_sizes(sizes: Sizes) -> dict[Group, int]:
    return {"evo": sizes.evo, "cert": sizes.cert, "apart": sizes.all_apart, "around": sizes.around_disc}


def suited(sizes: Sizes, easy_apart: int, supply: Supply) -> int:
    """Bit e says whether `around` can give the easy and hard questions that the confirmation sets lack when `apart`
    gets e easy ones more.
    """
    least = max(0, sizes.all_linked - supply.hard)
    most = min(supply.easy, sizes.all_linked)
    first = max(0, sizes.all_easy - easy_apart - most)
    last = sizes.all_easy - easy_apart - least
    return (1 << last + 1) - (1 << first) if first <= last else 0


def fillings(parts: Sequence[Part], sizes: Sizes) -> list[Bits]:
    """For each place: bit e of `[evo, cert, apart]` says whether the parts from there on can fill exactly this room
    and bring e easy questions to `apart`.
    """
    last = np.zeros((sizes.evo + 1, sizes.cert + 1, sizes.all_apart + 1), dtype=np.uint64)
    last[0, 0, 0] = 1
    tables = [last]
    for part in reversed(parts):
        tables.append(_with_part(tables[-1], part))
    return tables[::-1]


def _with_part(after: Bits, part: Part) -> Bits:
    filled = after.copy()
    size = part.size
    filled[size:] |= after[:-size]
    filled[:, size:] |= after[:, :-size]
    filled[:, :, size:] |= after[:, :, :-size] << np.uint64(part.easy)
    return filled
