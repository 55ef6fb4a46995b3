"""Per-task paired outcomes: on how many tasks a harness does better, the same or worse than another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    variants: Mapping[str, Sequence[str]]
    """Name → the hashes of its draws."""
    roles: tuple[str, ...]
    of_roles: bool


def paired_outcomes(store: Reader, run: str, result: Found) -> list[PairedOutcomes]:
    """Of a result: on the tasks that it was judged by, under every variant there."""
    return [paired for asked in _asked(run, result) for paired in _paired(store, asked)]


def _asked(run: str, result: Found) -> Iterator[_Asked]:
    if "verdict" in result:
        findings = (*result["confirmed"], *result["not_confirmed"])
        variants = {RELEASED: (UNCHANGED,), **{found["name"]: _draws(found) for found in findings}}
        yield _Asked(
            harness="H", runs=(run,), before=result["baseline"], after=result["harness"], variants=variants,
            roles=SEARCH, of_roles=False,
        )  # fmt: skip
    elif "final" in result and result["final"]["changes"]:
        yield _of_evolution(run, result)


def _draws(found: Found) -> Sequence[str]:
    """The hashes of a finding's draws; none where the record names not all of them: a part of them is another gain."""
    hashes: Sequence[str] = found.get("hashes", [found["hash"]])
    return hashes if len(hashes) == len(found["draws"]) else ()


def _of_evolution(run: str, result: Found) -> _Asked:
    """On the sealed tasks; where they were left alone, on those that it was selected on."""
    certified = result.get("certification")
    archived = {entry["name"]: entry["hash"] for entry in result.get("archive", ())}
    variants = certified["variants"] if certified else {RELEASED: UNCHANGED, **archived}
    initial = result["config"]["initial"]
    return _Asked(
        harness="H*", runs=(run,), before=initial, after=result["final"]["hash"],
        variants={name: (variant,) for name, variant in variants.items()},
        roles=("cert",) if certified else ("evo",), of_roles=True,
    )  # fmt: skip


def _paired(store: Reader, asked: _Asked) -> Iterator[PairedOutcomes]:
    rows = store.task_means(
        MeansWanted(
            runs=asked.runs,
            harnesses=(asked.before, asked.after),
            transformations=tuple(draw for draws in asked.variants.values() for draw in draws),
            roles=asked.roles,
            of_roles=asked.of_roles,
        )
    )
    means = {(task, harness, variant): mean for task, harness, variant, mean, _ in rows}
    tasks = sorted({task for task, *_ in rows})
    ends = {"before": asked.before, "after": asked.after}
    for name, draws in asked.variants.items():
        pairs = [
            TaskPair(task=task, **{end: _mean(means, task, harness, draws) for end, harness in ends.items()})
            for task in tasks
            if draws and all((task, harness, draw) in means for harness in ends.values() for draw in draws)
        ]
        if pairs:
            yield PairedOutcomes(harness=asked.harness, variant=name, tasks=tuple(pairs))


def _mean(means: Mapping[tuple[str, str, str], float], task: str, harness: str, draws: Sequence[str]) -> float:
    """A task's mean score over the draws of a variant."""
    return sum(means[task, harness, draw] for draw in draws) / len(draws)
