"""An epoch's batches: a task set cut anew, and a harness's score on a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

from chase.core.keyed import sorted_by_key
from chase.methods.arena import Contender
from chase.methods.contract import World
from chase.stats.estimates import mean


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The tasks of one round."""

    round: int
    tasks: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"batch of round {self.round}"


def batch_sizes(tasks: int, batches: int) -> list[int]:
    """Sizes that differ by at most one, the more frequent size first: 80 in 27/27/26, 121 in 40/40/41."""
    smaller, larger = [tasks // batches] * (batches - tasks % batches), [tasks // batches + 1] * (tasks % batches)
    return larger + smaller if len(larger) > len(smaller) else smaller + larger


def partition(tasks: Sequence[str], batches: int, *, seed: int, epoch: int) -> list[Batch]:
    """An epoch's batches over all tasks, in an order that run seed and epoch alone decide."""
    order = iter(sorted_by_key(tasks, "harness-evolve batches", seed, epoch))
    sizes = enumerate(batch_sizes(len(tasks), batches), (epoch - 1) * batches + 1)
    return [Batch(round=t, tasks=tuple(sorted(islice(order, size)))) for t, size in sizes]


@dataclass(frozen=True, kw_only=True)
class Training:
    """Where harnesses meet batches: several task sets as one, each task with its first so many rollouts."""

    world: World[Any]
    roles: tuple[str, ...]
    rollouts: int

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(sorted(task for role in self.roles for task in self.world.tasks(role)))

    async def scores(self, harnesses: Sequence[Contender], batch: Batch) -> dict[str, Fraction]:
        """Harness → its released score on a batch."""
        released = self.world.released
        means = await self.world.arena.means(harnesses, [released], self.roles, batch.tasks, self.rollouts)
        return {named.name: mean(means[named.name, released.name]) for named in harnesses}
