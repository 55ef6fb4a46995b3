"""An epoch's batches: a task set cut anew, and a harness's score on a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from chase.core.keyed import sorted_by_key
from chase.methods.arena import Contender
from chase.methods.contract import World
from chase.stats.estimates import mean


@dataclass(frozen=True, kw_only=True)
class Batch:
    """The tasks of one round, by the task set that each belongs to."""

    round: int
    tasks: Mapping[str, tuple[str, ...]]
    """Role → tasks; no role is empty."""

    @property
    def name(self) -> str:
        return f"batch of round {self.round}"

    @property
    def every(self) -> tuple[str, ...]:
        """All tasks, in an order that says nothing of their roles."""
        return tuple(sorted(task for tasks in self.tasks.values() for task in tasks))


def batch_sizes(tasks: int, batches: int) -> list[int]:
    """Sizes that differ by at most one, the more frequent size first: 80 in 27/27/26, 121 in 40/40/41."""
    smaller, larger = [tasks // batches] * (batches - tasks % batches), [tasks // batches + 1] * (tasks % batches)
    return larger + smaller if len(larger) > len(smaller) else smaller + larger


def partition(roles: Mapping[str, Sequence[str]], batches: int, *, seed: int, epoch: int) -> list[Batch]:
    """An epoch's batches over all tasks of some roles, in an order that run seed and epoch alone decide."""
    role_of = {task: role for role, tasks in roles.items() for task in tasks}
    order = iter(sorted_by_key(role_of, "harness-evolve batches", seed, epoch))
    made = []
    for place, size in enumerate(batch_sizes(len(role_of), batches)):
        found: dict[str, list[str]] = {}
        for task in [next(order) for _ in range(size)]:
            found.setdefault(role_of[task], []).append(task)
        by_role = {role: tuple(sorted(found[role])) for role in sorted(found)}
        made.append(Batch(round=(epoch - 1) * batches + place + 1, tasks=by_role))
    return made


async def batch_scores(
    world: World[Any], harnesses: Sequence[Contender], batch: Batch, rollouts: int
) -> dict[str, Fraction]:
    """Harness → its released score on a batch, each task with its first so many rollouts."""
    found: dict[str, dict[str, Fraction]] = {named.name: {} for named in harnesses}
    for role, tasks in batch.tasks.items():
        means = await world.arena.means(harnesses, [world.released], role, tasks, rollouts)
        for named in harnesses:
            found[named.name] |= means[named.name, world.released.name]
    return {name: mean(per_task) for name, per_task in found.items()}
