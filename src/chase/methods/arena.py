"""Where a method meets its tasks: scores go to the method, scores and traces to the history trees of its agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from chase.agents.history import RELEASED, HistoryWriter
from chase.core.interfaces import Transformation
from chase.core.keyed import sorted_by_key
from chase.core.values import Json
from chase.engine.evaluator import Cell, Evaluator
from chase.harness.spec import Harness
from chase.methods.selection import Standing
from chase.stats.destruction import destruction, gain
from chase.stats.estimates import PerTask, mean


@dataclass(frozen=True, kw_only=True)
class Named:
    """A harness with its name in the run and what its Proposer wrote about it."""

    name: str
    harness: Harness
    record: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A benchmark `B_b` with its name in the run."""

    name: str
    transformation: Transformation[Any]
    told: bool = True
    """Whether agents read of it in their history: archived ones yes, proposals under trial no."""


Means = Mapping[tuple[str, str], PerTask]
"""(harness, variant) → each task's mean score."""


class Arena(Protocol):
    """What a method needs of the world. The paper's numbers can be fed in through it."""

    async def means(self, harnesses: Sequence[Named], variants: Sequence[Variant], role: str) -> Means: ...


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

    async def means(self, harnesses: Sequence[Named], variants: Sequence[Variant], role: str) -> Means:
        pairs = [(harness, variant) for harness in harnesses for variant in variants]
        cells: list[Cell] = []
        for held, tasks in self._tasks[role].items():
            found = await self._evaluator.evaluate_all([(h.harness, v.transformation) for h, v in pairs], held, tasks)
            cells = [_joined(*both) for both in zip(cells, found, strict=True)] if cells else found
        if (tree := self._trees.get(role)) is not None:
            for (harness, variant), cell in zip(pairs, cells, strict=True):
                if variant.told and not tree.has_scores(harness.name, variant.name):
                    self._write(tree, harness, variant, cell)
        return {(h.name, v.name): cell.means for (h, v), cell in zip(pairs, cells, strict=True)}

    def _chosen(self, role: str, size: int | None) -> dict[str, tuple[str, ...]]:
        return pooled({name: self._evaluator.tasks(name) for name in self._pools[role]}, role, size)

    def _write(self, tree: HistoryWriter, harness: Named, variant: Variant, cell: Cell) -> None:
        traces = {
            (task, index): self._evaluator.trace(digest)
            for task, digests in cell.rollouts.items()
            for index, digest in enumerate(digests)
        }
        tree.add_harness(harness.name, harness.harness, harness.record)
        tree.add_scores(harness.name, variant.name, cell.scores, cell.reasons, traces)


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
