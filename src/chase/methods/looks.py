"""The looks of an audit: some of the fresh tasks first, then all, each with its part of the error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chase.core.keyed import sorted_by_key

FIRST_LOOK = 4
"""The first look has one in so many of the fresh tasks."""
LEAST_LOOK = 24
"""Tasks of a first look; with fewer there is one look."""
EARLY = 0.2
"""The share of the error that may be spent on the first look."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """A part of the tasks, and the level that bounds hold at there."""

    tasks: tuple[str, ...]
    level: float


def in_order(tasks: Iterable[str], seed: int) -> tuple[str, ...]:
    """Fresh tasks in the order in which they are looked at, which the seed decides."""
    return tuple(sorted_by_key(tasks, "looks", seed))


def looks_at(tasks: tuple[str, ...], level: float) -> tuple[Look, ...]:
    """A first part of the tasks with a fifth of the error, then all with the rest; few tasks: all at once."""
    first = len(tasks) // FIRST_LOOK
    if first < LEAST_LOOK:
        return (Look(tasks=tasks, level=level),)
    error = 1 - level
    return (Look(tasks=tasks[:first], level=1 - EARLY * error), Look(tasks=tasks, level=1 - (1 - EARLY) * error))
