"""What is joined by shared labels, directly or through others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chase.core.keyed import digest

NAME_LETTERS = 16
"""Of a component's name."""


def components(labels: Mapping[str, Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    """The components of keys with their labels, whatever their order: the largest first, each sorted."""
    known = sorted(labels)
    leaders = _Leaders(len(known))
    first_with: dict[str, int] = {}
    for place, key in enumerate(known):
        for label in labels[key]:
            leaders.join(first_with.setdefault(label, place), place)
    grouped: dict[int, list[str]] = {}
    for place, key in enumerate(known):
        grouped.setdefault(leaders.of(place), []).append(key)
    return tuple(sorted(map(tuple, grouped.values()), key=lambda keys: (-len(keys), keys[0])))


def named_components(labels: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Key → the name of its component, of those that are not alone in theirs. A name tells nothing of the labels."""
    joined = [keys for keys in components(labels) if len(keys) > 1]
    return {key: f"component {digest(keys)[:NAME_LETTERS]}" for keys in joined for key in keys}


class _Leaders:
    """Union-find: each place's set is known by one of its places."""

    def __init__(self, places: int) -> None:
        self._above = list(range(places))

    def of(self, place: int) -> int:
        while self._above[place] != place:
            self._above[place] = self._above[self._above[place]]
            place = self._above[place]
        return place

    def join(self, one: int, other: int) -> None:
        self._above[self.of(other)] = self.of(one)
