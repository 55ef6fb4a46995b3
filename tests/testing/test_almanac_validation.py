"""Almanac's own checks pass, and each finds the fault that is planted for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace

import pytest

from chase.testing.almanac import scoring
from chase.testing.almanac.benchmark import Almanac
from chase.testing.almanac.contents import Task
from chase.testing.almanac.rendering import RenderedDocument
from chase.testing.almanac.validation import CHECKS, validate
from tests.testing.almanacs import NAME, open_once


def failed(benchmark: Almanac) -> list[str]:
    return [result.name for result in validate(benchmark, lambda name: None) if not result.passed]


def test_an_almanac_is_sound() -> None:
    for name in (NAME, "almanac@12", "almanac@20261"):
        assert failed(open_once(name)) == []


def with_task(change: Callable[[Task, Task], Task]) -> Callable[[Almanac], None]:
    """The first task, changed with a look at the second."""

    def spoil(benchmark: Almanac) -> None:
        first, second, *_ = benchmark._tasks.values()
        benchmark._tasks = {**benchmark._tasks, first.id: change(first, second)}

    return spoil


def _two_finals(benchmark: Almanac) -> None:
    """A preliminary report that is said to be final: its place and year have two."""
    place = next(n for n, document in enumerate(benchmark.documents) if document.status == "preliminary")
    spoilt = replace(benchmark.documents[place], status="final")
    benchmark.documents = (*benchmark.documents[:place], spoilt, *benchmark.documents[place + 1 :])


class _Careless(Almanac):
    """Loses the last line of a report."""

    def render(self, protocol: object) -> tuple[RenderedDocument, ...]:
        first, *rest = super().render(protocol)  # type: ignore[arg-type]
        return replace(first, lines=first.lines[:-1]), *rest


def _careless(benchmark: Almanac) -> None:
    benchmark.__class__ = _Careless


FAULTS: Mapping[str, Callable[[Almanac], None]] = {
    "reports give the answers": with_task(lambda first, second: replace(first, answer="7")),
    "every question is asked once": with_task(lambda first, second: replace(second, id=first.id)),
    "of each report there are two versions": _two_finals,
    "reports say the same under every variant": _careless,
}
VERDICTS = "the scorer's verdicts"


@pytest.mark.parametrize("check", FAULTS)
def test_a_planted_fault_is_found(check: str) -> None:
    spoilt = copy(open_once(NAME))
    FAULTS[check](spoilt)
    assert check in failed(spoilt)


def test_a_scorer_that_judges_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "score", lambda answer, output: float(answer == output))
    assert failed(open_once(NAME)) == [VERDICTS]


def test_every_check_has_a_planted_fault() -> None:
    assert set(CHECKS) == {*FAULTS, VERDICTS}
