"""How complex a run's search was: the Rademacher term of each search set, from what the run evaluated there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from chase.stats.estimates import PerTask, within_task_means
from chase.stats.rademacher import Rademacher, empirical_rademacher
from chase.store.records import UsedRollout

Cells = Mapping[tuple[str, str], PerTask]
"""(harness, transformation), by their hashes → each task's mean score."""


def search_terms(
    used: Sequence[UsedRollout], sets: Mapping[str, Sequence[str]], *, initial: str, released: str, seed: int
) -> dict[str, Rademacher]:
    """Role → its Rademacher term over the harnesses and pairs that were evaluated on all of its tasks.

    `initial` and `released` are the hashes of `H_0` and of the identity. A set on which no harness was evaluated as
    released has none.
    """
    found = {}
    for role, tasks in sets.items():
        cells = _cells(used, role, tasks)
        scores = [_row(cell, tasks) for (_, transformation), cell in cells.items() if transformation == released]
        if scores:
            pairs = _destructions(cells, tasks, initial, released)
            found[role] = empirical_rademacher(np.array(scores), pairs, seed=seed)
    return found


def _cells(used: Sequence[UsedRollout], role: str, tasks: Sequence[str]) -> Cells:
    """What covers every task of the role, each with the same number of rollouts."""
    scores: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in used:
        key = one.rollout.key
        if key.role == role:
            scores[key.harness, key.transformation][key.task].append(one.rollout.outcome.score or 0.0)
    whole = {
        pair: by_task
        for pair, by_task in sorted(scores.items())
        if by_task.keys() >= set(tasks) and len({len(values) for values in by_task.values()}) == 1
    }
    return {pair: within_task_means(by_task) for pair, by_task in whole.items()}


def _destructions(
    cells: Cells, tasks: Sequence[str], initial: str, released: str
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """`δ_{b,i}(H)` for every pair whose four cells are there: a row for each, a column for each task."""
    rows = []
    for harness, transformation in cells:
        corners = [(harness, released), (initial, released), (harness, transformation), (initial, transformation)]
        if transformation != released and harness != initial and all(corner in cells for corner in corners):
            own, first, changed, changed_first = (np.array(_row(cells[corner], tasks)) for corner in corners)
            rows.append(own - first - changed + changed_first)
    return np.array(rows).reshape(len(rows), len(tasks))


def _row(cell: PerTask, tasks: Sequence[str]) -> list[float]:
    return [float(cell[task]) for task in tasks]
