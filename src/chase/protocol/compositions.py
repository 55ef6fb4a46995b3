"""`K(A)`: the fewest archived transformations that make `B_0` when they are applied one after the other.

Two benchmarks are the same if they show the same: their manifests, as the firewall renders them, are equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from chase.core.interfaces import FirewallSubject, Transformation
from chase.protocol.transformation import OperatorList

MOST_RENDERED = 150
"""Compositions of one search: the length up to which it goes follows from it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Composition:
    """What the search for `K(A)` found."""

    k: int | None
    """None: no composition that was tried is `B_0`."""
    names: tuple[str, ...]
    """Archive entries in the order in which they are applied; empty where there are none."""
    tried: int
    """All compositions of up to so many were tried. 0: there is nothing to compose."""


def fewest_that_make(
    target: Transformation[Any],
    archived: Mapping[str, Transformation[Any]],
    subject: FirewallSubject[Any],
    tasks: Sequence[str],
) -> Composition:
    """The shortest composition of archived transformations that shows what the target shows on all of these tasks."""
    steps = {name: _lifted(transformation, subject) for name, transformation in archived.items()}
    wanted = _lifted(target, subject)
    units = (*subject.shared, *tasks)
    shown = cache(lambda unit: _shown([wanted], subject, unit))
    longest = _longest(len(steps))
    for length in range(1, longest + 1):
        for names in product(steps, repeat=length):
            applied = [steps[name] for name in names]
            if all(_shown(applied, subject, unit) == shown(unit) for unit in units):
                return Composition(k=length, names=names, tried=length)
    return Composition(k=None, names=(), tried=longest)


def _longest(entries: int) -> int:
    """The length up to which every composition of so many transformations is tried."""
    length = tried = 0
    while length < 2 * entries and tried + entries ** (length + 1) <= MOST_RENDERED:
        length += 1
        tried += entries**length
    return length


def _lifted(transformation: Transformation[Any], subject: FirewallSubject[Any]) -> OperatorList[Any]:
    """The same on the states that the firewall examines."""
    if not isinstance(transformation, OperatorList):
        transformation = OperatorList(operators=tuple(transformation.operators), seed=transformation.seed)
    seeded = list(transformation.pinned())
    operators = tuple(subject.lift(pinned.operator) for pinned in seeded)
    return OperatorList(operators=operators, pins=tuple(pinned.seed for pinned in seeded) or None)


def _shown(applied: Sequence[OperatorList[Any]], subject: FirewallSubject[Any], unit: str) -> str:
    """The digest of all that can be shown of a unit after the transformations in turn."""
    state = subject.state(unit)
    for transformation in applied:
        state = transformation.apply(state)
    return subject.present(state).view
