"""How many tasks and rollouts a question takes: every number of rollouts with the tasks that go with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from chase.stats.certificate_planning import tasks_by_betting, tasks_by_hoeffding
from chase.stats.power import Noise, confirmation_power, confirmation_tasks
from chase.stats.simultaneous import tasks_to_detect

Way = Literal["hoeffding", "betting"]
WAYS: tuple[Way, ...] = ("hoeffding", "betting")
DESTRUCTION_CELLS = 4
"""Two harnesses, as released and under the counterfactual."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """So many rollouts of so many tasks in each cell."""

    rollouts: int
    tasks: int
    episodes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Doubling:
    """The power of a confirmation set, and what twice the tasks and twice the rollouts make of it: at the same cost."""

    now: float
    tasks: float
    rollouts: float


def confirmation_designs(
    noise: Noise, delta: float, *, alpha: float, power: float, rollouts: Iterable[int]
) -> list[Design]:
    """What confirms a gain destruction of `delta` in one round with this error and power."""
    return _designs(lambda count: confirmation_tasks(delta, noise.sd(count), alpha, power), DESTRUCTION_CELLS, rollouts)


def certification_designs(
    noise: Noise, delta: float, *, alpha: float, power: float, archive: int, rollouts: Iterable[int]
) -> list[Design]:
    """What puts the lower bound of a gain destruction of `delta` above 0 with this power, where the bounds of the gain
    and of `archive` destructions hold together at `1 − alpha`.
    """
    return _designs(
        lambda count: tasks_to_detect(
            delta, noise.sd(count), quantities=archive + 1, level=1 - alpha, power=power
        ),
        2 * (archive + 1),
        rollouts,
    )  # fmt: skip


def certificate_designs(
    noise: Noise, delta: float, *, way: Way, alpha: float, power: float, archive_size: int, rollouts: Iterable[int]
) -> list[Design]:
    """What proves with this power, together with all other bounds of a certificate, that a counterfactual which
    destroys nothing destroys less than `delta`: both harnesses under all `|A|` benchmarks.
    """
    tasks_of = {"hoeffding": tasks_by_hoeffding, "betting": tasks_by_betting}[way]
    return _designs(
        lambda count: tasks_of(delta, noise.sd(count), alpha=alpha, archive_size=archive_size, power=power),
        2 * archive_size,
        rollouts,
    )


def doubling(noise: Noise, delta: float, *, alpha: float, tasks: int, rollouts: int) -> Doubling:
    """What is bought by more tasks, and by more rollouts."""
    return Doubling(
        now=confirmation_power(delta, noise.sd(rollouts), tasks, alpha),
        tasks=confirmation_power(delta, noise.sd(rollouts), 2 * tasks, alpha),
        rollouts=confirmation_power(delta, noise.sd(2 * rollouts), tasks, alpha),
    )


def cheapest(designs: Iterable[Design]) -> Design:
    """Fewest episodes; of equal ones the one with more tasks."""
    return min(designs, key=lambda design: (design.episodes, design.rollouts))


def _designs(tasks_of: Callable[[int], int], cells: int, rollouts: Iterable[int]) -> list[Design]:
    found = [(count, max(2, tasks_of(count))) for count in rollouts]
    return [Design(rollouts=count, tasks=tasks, episodes=cells * tasks * count) for count, tasks in found]
