"""What is joined by shared labels, directly or through others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


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
