"""Source components: questions that are joined by shared source files, directly or through others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chase.benchmarks.officeqa.records import Question


def components(questions: Iterable[Question]) -> tuple[tuple[Question, ...], ...]:
    """The components, whatever the order of the questions: the largest first, each sorted by uid."""
    known = sorted(questions, key=lambda question: question.uid)
    leaders = _Leaders(len(known))
    first_with: dict[str, int] = {}
    for place, question in enumerate(known):
        for source in question.sources:
            leaders.join(first_with.setdefault(source, place), place)
    grouped: dict[int, list[Question]] = {}
    for place, question in enumerate(known):
        grouped.setdefault(leaders.of(place), []).append(question)
    return tuple(sorted(map(tuple, grouped.values()), key=_largest_first))


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


def _largest_first(component: Sequence[Question]) -> tuple[int, str]:
    return -len(component), component[0].uid
