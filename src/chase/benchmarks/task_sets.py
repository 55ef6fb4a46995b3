"""Tasks by id and by task set, of a benchmark that holds all of them: a part of the `Benchmark` contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Generic, Protocol, Self, TypeVar

from chase.core.errors import UserError, choose
from chase.core.interfaces import HasClusters
from chase.core.keyed import sorted_by_key


class HeldTask(Protocol):
    """What a task must say of itself."""

    @property
    def id(self) -> str: ...
    @property
    def role(self) -> str: ...


T = TypeVar("T", bound=HeldTask)


def clusters_of(benchmark: object) -> Mapping[str, str]:
    """Task → cluster as far as a benchmark knows them (`HasClusters`); nothing where it does not."""
    return benchmark.clusters() if isinstance(benchmark, HasClusters) else {}


class TaskSets(Generic[T]):
    """For a benchmark class to inherit from. It sets `_tasks`, and says its `name` and its `roles`."""

    name: str
    roles: Any
    """The task sets' names: an attribute, or a property where they depend on the data."""
    sizes: Mapping[str, int] = {}
    """Role → most of its tasks that are used; all where it is not named."""
    _tasks: Mapping[str, T]

    def task(self, task: str) -> T:
        """The host-side task of an id."""
        if task not in self._tasks:
            raise UserError(f"unknown task '{task}' in {self.name}. Valid: ids such as {min(self._tasks)}.")
        return self._tasks[task]

    def tasks(self, role: str | None = None) -> Sequence[str]:
        if role is None:
            return sorted(self._tasks)
        choose("split", role, self.roles)
        every = [task.id for task in self._tasks.values() if task.role == role]
        return sorted(sorted_by_key(every, "fewer")[: self.sizes[role]] if role in self.sizes else every)

    def role_of(self, task: str) -> str:
        return self.task(task).role

    def fewer(self, sizes: Mapping[str, int]) -> Self:
        cut = copy(self)
        cut.sizes = {**self.sizes, **{role: min(size, self.sizes.get(role, size)) for role, size in sizes.items()}}
        cut.__dict__.pop("subject", None)  # its check tasks are those that are used
        return cut
