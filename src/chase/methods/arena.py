"""Where a method meets its tasks: scores go to the method, scores and traces to the history trees of its agents."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from chase.agents.history import RELEASED, HistoryWriter
from chase.core.errors import IntegrityError
from chase.core.interfaces import Transformation
from chase.core.keyed import sorted_by_key
from chase.core.values import Json
from chase.engine.evaluator import Cell, Evaluator
from chase.engine.rollout import Contestant
from chase.harness.spec import Harness
from chase.methods.selection import Standing
from chase.stats.destruction import destruction, gain
from chase.stats.estimates import PerTask, mean


@dataclass(frozen=True, kw_only=True)
class Entrant:
    """What is evaluated under a name in the run: a harness, or an agent that plays by itself."""

    name: str
    harness: Contestant
    record: Mapping[str, Json] = field(default_factory=dict)
    """What its Proposer wrote about it."""


@dataclass(frozen=True, kw_only=True)
class Contender(Entrant):
    """A harness with its name in the run."""

    harness: Harness


def as_contender(entrant: Entrant) -> Contender:
    """An entrant that is known to be a harness."""
    if not isinstance(entrant.harness, Harness):
        raise TypeError(f"{entrant.name} plays by itself and is no harness")
    return Contender(name=entrant.name, harness=entrant.harness, record=entrant.record)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A benchmark `B_b` with its name in the run."""

    name: str
    transformation: Transformation[Any]
    told: bool = True
    """Whether agents read of it in their history: archived ones yes, proposals under trial no."""


Means = Mapping[tuple[str, str], PerTask]
"""(harness, variant) → each task's mean score."""
SomeTasks = Collection[str] | None
"""Those of a role's tasks that are meant; None: all of them."""
Roles = str | tuple[str, ...]
"""A role, or several whose tasks count as those of one."""


class Arena(Protocol):
    """Where a method has harnesses evaluated. The paper's numbers can be fed in through it.

    Called by a method as often as it likes: a cell that was evaluated before costs nothing. Deterministic in its
    arguments and the run's seed. A role that the method does not hold, and a task that is not of the role, are
    `IntegrityError`s; an outage or a spent budget comes through as what it is.
    """

    async def means(
        self,
        harnesses: Sequence[Entrant],
        variants: Sequence[Variant],
        role: Roles,
        tasks: SomeTasks = None,
        rollouts: int | None = None,
    ) -> Means:
        """Each harness under each variant on all tasks of a role, or on some of them; with all rollouts of the role, or
        the first so many of them at most: the same ones that other methods have there.
        """
        ...


class StoreArena:
    """The arena over an evaluator. What a role's agents may read is written to the role's tree.

    `pools` makes several task sets one role, cut to a number of tasks where `sizes` says so.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        trees: Mapping[str, HistoryWriter],
        pools: Mapping[str, Sequence[str]] | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        self._evaluator = evaluator
        self._trees = trees
        self._pools = pools or {role: (role,) for role in evaluator.roles}
        self._tasks = {role: self._chosen(role, (sizes or {}).get(role)) for role in self._pools}

    def tasks(self, role: str) -> list[str]:
        """The ids of a role's tasks."""
        return sorted(task for chosen in self._tasks[role].values() for task in chosen)

    async def traces(self, entrant: Entrant, variant: Variant, role: str) -> list[Json]:
        """The traces of all its rollouts under a variant on a role's tasks; what was evaluated costs nothing."""
        found = []
        for held, tasks in self._held((role,)).items():
            asked = [(entrant.harness, variant.transformation)]
            (cell,) = await self._evaluator.evaluate_all(asked, held, tasks)
            found += [self._evaluator.trace(digest) for of_task in cell.rollouts.values() for digest in of_task]
        return found

    async def means(
        self,
        harnesses: Sequence[Entrant],
        variants: Sequence[Variant],
        role: Roles,
        tasks: SomeTasks = None,
        rollouts: int | None = None,
    ) -> Means:
        pairs = [(harness, variant) for harness in harnesses for variant in variants]
        roles = (role,) if isinstance(role, str) else role
        sets, cells = self._sets(roles, tasks), list[Cell]()
        first = (
            None if rollouts is None else min([rollouts, *(self._evaluator.agreed(held) for held in self._held(roles))])
        )
        for held, chosen in sets.items():
            asked = [(h.harness, v.transformation) for h, v in pairs]
            found = await self._evaluator.evaluate_all(asked, held, chosen, first)
            cells = [_joined(*both) for both in zip(cells, found, strict=True)] if cells else found
        if (tree := self._tree(roles)) is not None:
            for (harness, variant), cell in zip(pairs, cells, strict=True):
                new = [task for task in cell.scores if not tree.has_scores(harness.name, variant.name, task)]
                if variant.told and new:
                    self._write(tree, harness, variant, cell, new)
        return {(h.name, v.name): cell.means for (h, v), cell in zip(pairs, cells, strict=True)}

    def _chosen(self, role: str, size: int | None) -> dict[str, tuple[str, ...]]:
        return pooled({name: self._evaluator.tasks(name) for name in self._pools[role]}, role, size)

    def _tree(self, roles: Sequence[str]) -> HistoryWriter | None:
        """Whose history tells of roles that are evaluated together: the order of its lines does not tell them apart."""
        first, *others = [self._trees.get(role) for role in roles]
        if any(other is not first for other in others):
            raise IntegrityError(f"roles {', '.join(roles)} have different readers: evaluate them one by one.")
        return first

    def _held(self, roles: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Task set → its tasks, of the sets that make up roles."""
        if strange := [role for role in roles if role not in self._tasks]:
            raise IntegrityError(f"role '{strange[0]}' is not held here. Held: {', '.join(sorted(self._tasks))}.")
        return {held: tasks for role in roles for held, tasks in self._tasks[role].items()}

    def _sets(self, roles: Sequence[str], tasks: SomeTasks) -> Mapping[str, tuple[str, ...]]:
        """Task set → those of its tasks that are meant, of the sets that make up roles."""
        every = self._held(roles)
        if tasks is None:
            return every
        if strange := set(tasks) - {task for all_ in every.values() for task in all_}:
            named = f"role '{roles[0]}'" if len(roles) == 1 else f"roles {', '.join(roles)}"
            raise IntegrityError(f"task {min(strange)} is not of {named}, which is what was asked for.")
        if not tasks:
            raise ValueError("no task was given")
        meant = {held: tuple(task for task in all_ if task in tasks) for held, all_ in every.items()}
        return {held: chosen for held, chosen in meant.items() if chosen}

    def _write(self, tree: HistoryWriter, harness: Entrant, variant: Variant, cell: Cell, tasks: Sequence[str]) -> None:
        scores = {task: cell.scores[task] for task in tasks}
        traces = {
            (task, index): self._evaluator.trace(digest)
            for task in tasks
            for index, digest in enumerate(cell.rollouts[task])
        }
        if isinstance(harness.harness, Harness):
            tree.add_harness(harness.name, harness.harness, harness.record)
        else:
            tree.add_agent(harness.name, harness.harness.describe())
        tree.add_scores(harness.name, variant.name, scores, cell.reasons, traces)


def pooled(held: Mapping[str, Sequence[str]], role: str, size: int | None) -> dict[str, tuple[str, ...]]:
    """Task set → its tasks in a pool of several: all, or so many in an order that a hash decides."""
    every = sorted_by_key([task for tasks in held.values() for task in tasks], "pool", role)
    kept = frozenset(every[:size])
    chosen = {name: tuple(task for task in tasks if task in kept) for name, tasks in held.items()}
    return {name: tasks for name, tasks in chosen.items() if tasks}


def _joined(left: Cell, right: Cell) -> Cell:
    """Two task sets' cells of the same harness and transformation as one."""
    return replace(
        left,
        scores={**left.scores, **right.scores},
        reasons={**left.reasons, **right.reasons},
        rollouts={**left.rollouts, **right.rollouts},
    )


def gain_destruction(means: Means, harness: str, initial: str, variant: str) -> dict[str, Any]:
    """`Δ̂_b(H; H_0)` task by task."""
    gains = [gain(means[harness, name], means[initial, name]) for name in (RELEASED, variant)]
    return destruction(*gains)


def standing(means: Means, harness: str, initial: str, variants: Sequence[Variant]) -> Standing:
    """A harness's estimates from the cells of all variants."""
    return Standing(
        name=harness,
        released=mean(means[harness, RELEASED]),
        gain=mean(gain(means[harness, RELEASED], means[initial, RELEASED])),
        destruction={
            v.name: mean(gain_destruction(means, harness, initial, v.name)) for v in variants if v.name != RELEASED
        },
        scores={v.name: mean(means[harness, v.name]) for v in variants},
    )
