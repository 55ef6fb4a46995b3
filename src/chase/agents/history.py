"""The read-only history tree: all that a Proposer or a Challenger can know of what was evaluated.

```
harnesses/<name>/…                          the harness's files, and candidate.json, its Proposer's record
scores.jsonl                                one line for each harness, variant and task, with its mark
traces/<harness>/<variant>/<task>-<n>.json  what the agent saw and did
archive/<entry>.json                        archived counterfactuals, with the observables they touch
rounds.jsonl                                what was selected and which constraints were violated
```

It holds what one method evaluated in one run on one role's tasks, and no answer, evidence label or role.
"""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from chase.core.values import Json
from chase.harness.folder import parse_files, render_files
from chase.harness.spec import Harness

RECORD = "candidate.json"
RELEASED = "released"
"""The released benchmark's name among the variants of a tree."""
Mark = Literal["stable success", "unstable", "stable failure"]


def mark_of(scores: Sequence[float]) -> Mark:
    """How a task's rollouts came out together."""
    if all(score >= 1 for score in scores):
        return "stable success"
    return "unstable" if any(score >= 1 for score in scores) else "stable failure"


class HistoryWriter:
    """The host's side of a tree. Adding what is there already changes nothing."""

    def __init__(self, root: Path, *, records: bool = True) -> None:
        """`records`: with what a harness's Proposer wrote about it, which speaks of its own tasks."""
        self.root = root
        self._records = records
        self._scored: set[tuple[str, str, str]] = set()
        if root.exists():  # everything is written again from the store: nothing of a later round may be left
            _set_writable(root)
            shutil.rmtree(root)
        for folder in ("harnesses", "traces", "archive"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for name in ("scores.jsonl", "rounds.jsonl"):
            (root / name).write_text("", encoding="utf-8")

    def add_harness(self, name: str, harness: Harness, record: Mapping[str, Json]) -> None:
        folder = self.root / "harnesses" / name
        written = json.dumps(record if self._records else {}, indent=2)
        for file, text in {**render_files(harness), RECORD: written}.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")

    def has_scores(self, harness: str, variant: str, task: str) -> bool:
        return (harness, variant, task) in self._scored

    def add_scores(
        self,
        harness: str,
        variant: str,
        scores: Mapping[str, Sequence[float]],
        reasons: Mapping[str, Sequence[str]],
        traces: Mapping[tuple[str, int], Json],
    ) -> None:
        """A harness's results under a variant, with the trace of each (task, rollout): those of tasks that are new."""
        new = {task: values for task, values in scores.items() if not self.has_scores(harness, variant, task)}
        self._scored |= {(harness, variant, task) for task in new}
        with (self.root / "scores.jsonl").open("a", encoding="utf-8") as file:
            for task, values in new.items():
                line = {"harness": harness, "variant": variant, "task": task, "scores": list(values)}
                file.write(json.dumps({**line, "mark": mark_of(values), "reasons": list(reasons[task])}) + "\n")
        folder = self.root / "traces" / harness / variant
        folder.mkdir(parents=True, exist_ok=True)
        for (task, index), trace in traces.items():
            if task in new:
                (folder / f"{task}-{index}.json").write_text(json.dumps(trace), encoding="utf-8")

    def add_entry(self, name: str, entry: Mapping[str, Json]) -> None:
        (self.root / "archive" / f"{name}.json").write_text(json.dumps(entry, indent=2), encoding="utf-8")

    def add_round(self, record: Mapping[str, Json]) -> None:
        with (self.root / "rounds.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    @contextmanager
    def read_only(self) -> Iterator[Path]:
        """The tree's root, with write permission taken away while an agent reads it."""
        for path in _own(self.root):
            path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
        try:
            yield self.root
        finally:
            _set_writable(self.root)


def _set_writable(root: Path) -> None:
    for path in _own(root):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)


def _own(root: Path) -> Iterator[Path]:
    """The tree's own files and folders: what a link that somebody put there leads to is left alone."""
    yield root
    yield from (path for path in root.rglob("*") if not path.is_symlink())


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskScores:
    """One line of `scores.jsonl`."""

    harness: str
    variant: str
    task: str
    scores: tuple[float, ...]
    mark: Mark

    @property
    def mean(self) -> float:
        return sum(self.scores) / len(self.scores)


class History:
    """An agent's side of a tree."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def harnesses(self) -> list[str]:
        return sorted(folder.name for folder in (self.root / "harnesses").iterdir())

    def harness(self, name: str) -> Harness:
        folder = self.root / "harnesses" / name
        files = {
            str(path.relative_to(folder)): path.read_bytes().decode()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != RECORD
        }
        return parse_files(files, where=name)

    def record(self, name: str) -> dict[str, Any]:
        """What its Proposer wrote about a harness."""
        record: dict[str, Any] = json.loads((self.root / "harnesses" / name / RECORD).read_text(encoding="utf-8"))
        return record

    @cached_property
    def scores(self) -> list[TaskScores]:
        return [
            TaskScores(
                harness=line["harness"],
                variant=line["variant"],
                task=line["task"],
                scores=tuple(line["scores"]),
                mark=line["mark"],
            )
            for line in self._lines("scores.jsonl")
        ]

    def mean(self, harness: str, variant: str) -> float | None:
        """A harness's score under a variant, or None where it was not evaluated."""
        found = self._compared([(harness, variant)])
        return found[0] if found else None

    def gain(self, harness: str, base: str) -> float | None:
        """A harness's released score over another's, on the tasks that both met; None where there is none."""
        found = self._compared([(harness, RELEASED), (base, RELEASED)])
        return found[0] - found[1] if found else None

    def destruction(self, harness: str, initial: str, entry: str) -> float | None:
        """A harness's gain destruction under an archived counterfactual, on the tasks of all four cells; None: none."""
        found = self._compared([(name, variant) for name in (harness, initial) for variant in (RELEASED, entry)])
        if not found:
            return None
        released, counterfactual, initial_released, initial_counterfactual = found
        return (released - initial_released) - (counterfactual - initial_counterfactual)

    def _compared(self, cells: Sequence[tuple[str, str]]) -> list[float]:
        """The mean of each (harness, variant) over the tasks that all of them have; empty where there is none."""
        met = [self._cells.get(cell, {}) for cell in cells]
        common = [task for task in met[0] if all(task in tasks for tasks in met)]
        return [sum(tasks[task] for task in common) / len(common) for tasks in met] if common else []

    @cached_property
    def _cells(self) -> dict[tuple[str, str], dict[str, float]]:
        found: dict[tuple[str, str], dict[str, float]] = {}
        for line in self.scores:
            found.setdefault((line.harness, line.variant), {})[line.task] = line.mean
        return found

    def traces(self, harness: str, variant: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(path in the tree, trace), in the order of the paths."""
        folder = self.root / "traces" / harness / variant
        for path in sorted(folder.glob("*.json")):
            yield str(path.relative_to(self.root)), json.loads(path.read_text(encoding="utf-8"))

    def archive(self) -> dict[str, dict[str, Any]]:
        """Archived counterfactuals by name."""
        return {
            path.stem: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted((self.root / "archive").glob("*.json"))
        }

    def rounds(self) -> list[dict[str, Any]]:
        return self._lines("rounds.jsonl")

    def _lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.root / name).read_text(encoding="utf-8").splitlines()]
