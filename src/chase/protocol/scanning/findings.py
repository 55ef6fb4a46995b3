"""A scan: every observable held against evidence and the answer, and those that hold up, grouped into findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from chase.core.interfaces import Observable, Progress, Transformation
from chase.core.values import ORIGINS
from chase.protocol.kit import WINDOW
from chase.protocol.scanning.rows import Finding, Row, Scan
from chase.protocol.scanning.sights import Subjects
from chase.stats.association import DRAWS, Choices, Numbers, holm, rank_correlations

ALIKE = 0.5
"""Rank correlation within tasks from which on two observables are taken to show one feature."""
Values = Mapping[str, Mapping[str, Mapping[str, float | None]]]
"""Observable → task → document → its value."""
EVIDENCE, WINDOWS = "evidence", "window of evidence"
"""What is gone with: being an evidence document; being the window of one in which the evidence stands."""


class Scanner:
    """Scans the same tasks under any variant. What is chosen and drawn is the same for all."""

    def __init__(
        self, subjects: Subjects, observables: Sequence[Observable], *, level: float, seed: int, tell: Progress
    ) -> None:
        self.subjects = subjects
        self.observables = tuple(observables)
        self._origins = {observable.name: observable.origin for observable in observables}
        self.alpha = 1 - level
        self._seed = seed
        self._tell = tell
        self._blocks = subjects.document_blocks()
        self.targets = subjects.answers()
        self.draws = max(DRAWS, ceil(2 * self.hypotheses / self.alpha))
        self._documents = Choices(list(self._blocks.values()), seed=seed, draws=self.draws)

    @property
    def tasks_used(self) -> int:
        """Tasks with documents of which some are evidence and some are not."""
        return len(self._blocks)

    def scan(self, transformation: Transformation[Any], what: str) -> Scan:
        """Every observable against every target under one variant."""
        values = self._values(transformation, what)
        tested = self._document_rows(values) + self._window_rows(transformation) + self._answer_rows(values)
        adjusted = holm([row.p for row in tested])
        rows = tuple(replace(row, adjusted=p) for row, p in zip(tested, adjusted, strict=True))
        findings = self._grouped([row for row in rows if row.adjusted <= self.alpha], values)
        return Scan(rows=rows, findings=findings, unseen=_unseen(values), alpha=self.alpha)

    def _grouped(self, rows: Sequence[Row], values: Values) -> tuple[Finding, ...]:
        """Rows as findings, cause before symptom: one joins the first that it shows the same as, or follows from them
        where it adds nothing to them.
        """
        groups: list[list[Row]] = []
        follows: dict[int, list[Row]] = {}
        scores = {row.observable: self._column(values[row.observable]) for row in rows if row.observable in values}
        for row in sorted(rows, key=lambda row: row.order):
            own = [group for group in groups if group[0].target == row.target]
            likeness = [abs(_agreement(scores[g[0].observable], scores[row.observable])) for g in own]
            alike = next((group for group, like in zip(own, likeness, strict=True) if like >= ALIKE), None)
            if alike is not None:
                alike.append(row)
            elif row.target == EVIDENCE and own and self._adds_nothing(row, own, scores):
                follows.setdefault(id(own[likeness.index(max(likeness))]), []).append(row)
            else:
                groups.append([row])
        return tuple(Finding(rows=tuple(group), follows=tuple(follows.get(id(group), ()))) for group in groups)

    def _column(self, by_task: Mapping[str, Mapping[str, float | None]]) -> Numbers:
        return np.array(self._documents.scores(self._items(by_task)))

    def _adds_nothing(self, row: Row, groups: Sequence[Sequence[Row]], scores: Mapping[str, Numbers]) -> bool:
        """Whether an observable no longer goes with evidence where the findings' part in it is taken out, and it was
        that part: at least half of what went with evidence is gone with it.
        """
        found = np.array([scores[group[0].observable] for group in groups]).T
        own = scores[row.observable]
        rest = own - found @ np.linalg.lstsq(found, own, rcond=None)[0]
        before, after = (abs(self._documents.statistic(part)) for part in (own, rest))
        return after <= before / 2 and float(self._documents.p_values(rest.reshape(-1, 1))[0]) > self.alpha

    @property
    def hypotheses(self) -> int:
        """Most rows that a scan can have: its intervals hold together."""
        return len(self.observables) * (1 + len(self.targets)) + 1

    @property
    def level_each(self) -> float:
        return 1 - self.alpha / self.hypotheses

    def _values(self, transformation: Transformation[Any], what: str) -> Values:
        """What every observable says of every document in view."""
        values: dict[str, dict[str, dict[str, float | None]]] = {o.name: {} for o in self.observables}
        for done, (task, seen) in enumerate(self.subjects.released.items()):
            self._tell(f"{what}: {done} of {len(self.subjects.tasks)} tasks")
            shown = self.subjects.sightings(task, transformation)
            for observable in self.observables:
                values[observable.name][task] = {id_: observable(shown[id_]) for id_ in seen if id_ in shown}
        return values

    def _items(self, by_task: Mapping[str, Mapping[str, float | None]]) -> list[float | None]:
        """The values of all items, block after block."""
        return [by_task[task].get(id_) for task in self._blocks for id_ in self.subjects.released[task]]

    def _document_rows(self, values: Values) -> list[Row]:
        items = {name: self._items(by_task) for name, by_task in values.items()}
        told = {name: own for name, own in items.items() if self._varies(own)}
        scores = self._scores(self._documents, list(told.values()))
        rows = []
        for (name, own), p in zip(told.items(), self._documents.p_values(scores).tolist(), strict=True):
            effect = self._documents.superiority(own, level=self.level_each)
            if effect is not None:
                means = self._means(own)
                rows.append(
                    Row(
                        target=EVIDENCE, observable=name, measure="superiority", effect=effect.value, low=effect.low,
                        high=effect.high, p=p, n=effect.blocks, mean_evidence=means[0], mean_others=means[1],
                        origin=self._origins[name],
                    )
                )  # fmt: skip
        return rows

    def _varies(self, items: Sequence[float | None]) -> bool:
        """Whether an observable differs between documents of some task: what never does can give nothing away."""
        return any(self._documents.scores(items))

    @staticmethod
    def _scores(choices: Choices, columns: Sequence[Sequence[float | None]]) -> Numbers:
        items = sum(block.size for block in choices.blocks)
        return np.array([choices.scores(column) for column in columns]).reshape(len(columns), items).T

    def _means(self, items: Sequence[float | None]) -> tuple[float | None, float | None]:
        flags = [flag for block in self._documents.blocks for flag in block.chosen]
        sides = [
            [v for v, f in zip(items, flags, strict=True) if v is not None and f is side] for side in (True, False)
        ]
        own, others = (sum(side) / len(side) if side else None for side in sides)
        return own, others

    def _window_rows(self, transformation: Transformation[Any]) -> list[Row]:
        """One row: do evidence's windows come early or late among those of their documents?"""
        choices = Choices(self.subjects.window_blocks(transformation), seed=self._seed, draws=self.draws)
        places: list[float | None] = [float(place) for block in choices.blocks for place in range(block.size)]
        effect = choices.superiority(places, level=self.level_each) if places else None
        if effect is None:
            return []
        p = float(choices.p_values(self._scores(choices, [places]))[0])
        return [
            Row(
                target=WINDOWS, observable=WINDOW, measure="superiority", effect=effect.value, low=effect.low,
                high=effect.high, p=p, n=effect.blocks, origin=ORIGINS[0],
            )
        ]  # fmt: skip

    def _answer_rows(self, values: Values) -> list[Row]:
        """Do observables of evidence go with the answer over tasks? Tasks of one component count as one."""
        rows = []
        for target, answers in self.targets.items():
            together: dict[tuple[tuple[float, int], ...], dict[str, list[float]]] = {}  # shuffled once for all they fit
            for name, by_task in values.items():
                points = list(self._points(answers, by_task))
                if len({point.value for point in points}) > 1:
                    fixed = tuple((point.answer, point.size) for point in points)
                    together.setdefault(fixed, {})[name] = [point.value for point in points]
            for fixed, columns in together.items():
                wanted, sizes = zip(*fixed, strict=True)
                found = rank_correlations(
                    columns, wanted, sizes, level=self.level_each, seed=self._seed, draws=self.draws
                )
                rows += [
                    Row(
                        target=target, observable=name, measure="correlation", effect=row.value, low=row.low,
                        high=row.high, p=row.p, n=row.n, origin=self._origins[name],
                    )
                    for name, row in found.items()
                ]  # fmt: skip
        return rows

    def _points(
        self, answers: Mapping[str, float], by_task: Mapping[str, Mapping[str, float | None]]
    ) -> Iterator[_Point]:
        """Each component that an observable says something of."""
        for group in self.subjects.components:
            tasks = [task for task in group if task in answers]
            known = [value for task in tasks for value in self._of_evidence(task, by_task)]
            if known:
                answer = sum(answers[task] for task in tasks) / len(tasks)
                yield _Point(value=sum(known) / len(known), answer=answer, size=len(tasks))

    def _of_evidence(self, task: str, by_task: Mapping[str, Mapping[str, float | None]]) -> list[float]:
        """The values of a task's evidence documents; of all that can be seen, where it has none."""
        own = by_task[task]
        ids = self.subjects.evidence[task] & own.keys() or own.keys()
        return [value for id_ in ids if (value := own[id_]) is not None]


class _Point(NamedTuple):
    """A component of tasks: the observable's mean over their evidence, the answers' mean, and how many they are."""

    value: float
    answer: float
    size: int


def _unseen(values: Values) -> frozenset[str]:
    return frozenset(
        name
        for name, by_task in values.items()
        if all(value is None for shown in by_task.values() for value in shown.values())
    )


def _agreement(left: Numbers, right: Numbers) -> float:
    """How much two orders of the documents agree, within tasks and over all of them: 1, or −1 where one is reversed."""
    lengths = float(np.sqrt((left**2).sum() * (right**2).sum()))
    return float(left @ right) / lengths if lengths else 0.0
