"""Per-task paired outcomes: on how many tasks a harness does better, the same or worse than another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chase.runs.conclusion import RELEASED
from chase.runs.naming import UNCHANGED
from chase.store.reader import Reader
from chase.store.records import MeansWanted

Found = Mapping[str, Any]
SEARCH = ("evo", "disc")


@dataclass(frozen=True, kw_only=True)
class TaskPair:
    """One task's mean scores under one variant."""

    task: str
    before: float
    after: float


@dataclass(frozen=True, kw_only=True)
class PairedOutcomes:
    """Two harnesses on the same tasks under one variant."""

    harness: str
    """Whose outcomes: `H*`, `H`, a method."""
    variant: str
    tasks: tuple[TaskPair, ...]

    @property
    def better(self) -> int:
        return sum(pair.after > pair.before for pair in self.tasks)

    @property
    def worse(self) -> int:
        return sum(pair.after < pair.before for pair in self.tasks)

    @property
    def same(self) -> int:
        return len(self.tasks) - self.better - self.worse


@dataclass(frozen=True, kw_only=True)
class _Asked:
    harness: str
    runs: tuple[str, ...]
    before: str
    after: str
    variants: Mapping[str, str]
    """Name → hash."""
    roles: tuple[str, ...]
    of_roles: bool


def paired_outcomes(store: Reader, run: str, result: Found) -> list[PairedOutcomes]:
    """Of a result: on the tasks that it was judged by, under every variant there."""
    return [paired for asked in _asked(run, result) for paired in _paired(store, asked)]


def _asked(run: str, result: Found) -> Iterator[_Asked]:
    if "verdict" in result:
        findings = (*result["confirmed"], *result["not_confirmed"])
        variants = {RELEASED: UNCHANGED, **{found["name"]: found["hash"] for found in findings}}
        yield _Asked(
            harness="H", runs=(run,), before=result["baseline"], after=result["harness"], variants=variants,
            roles=SEARCH, of_roles=False,
        )  # fmt: skip
    elif "final" in result and result["final"]["changes"]:
        yield _of_evolution(run, result)


def _of_evolution(run: str, result: Found) -> _Asked:
    """On the sealed tasks; where they were left alone, on those that it was selected on."""
    certified = result.get("certification")
    archived = {entry["name"]: entry["hash"] for entry in result.get("archive", ())}
    variants = certified["variants"] if certified else {RELEASED: UNCHANGED, **archived}
    initial = result["config"]["initial"]
    return _Asked(
        harness="H*", runs=(run,), before=initial, after=result["final"]["hash"], variants=variants,
        roles=("cert",) if certified else ("evo",), of_roles=True,
    )  # fmt: skip


def _paired(store: Reader, asked: _Asked) -> Iterator[PairedOutcomes]:
    rows = store.task_means(
        MeansWanted(
            runs=asked.runs,
            harnesses=(asked.before, asked.after),
            transformations=tuple(asked.variants.values()),
            roles=asked.roles,
            of_roles=asked.of_roles,
        )
    )
    means = {(task, harness, variant): mean for task, harness, variant, mean, _ in rows}
    tasks = sorted({task for task, *_ in rows})
    for name, variant in asked.variants.items():
        pairs = [
            TaskPair(task=task, before=means[task, asked.before, variant], after=means[task, asked.after, variant])
            for task in tasks
            if (task, asked.before, variant) in means and (task, asked.after, variant) in means
        ]
        if pairs:
            yield PairedOutcomes(harness=asked.harness, variant=name, tasks=tuple(pairs))
