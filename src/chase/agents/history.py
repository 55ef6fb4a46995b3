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
        self._scored: set[tuple[str, str]] = set()
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

    def has_scores(self, harness: str, variant: str) -> bool:
        return (harness, variant) in self._scored

    def add_scores(
        self,
        harness: str,
        variant: str,
        scores: Mapping[str, Sequence[float]],
        reasons: Mapping[str, Sequence[str]],
        traces: Mapping[tuple[str, int], Json],
    ) -> None:
        """A harness's results under a variant, with the trace of each (task, rollout)."""
        if self.has_scores(harness, variant):
            return
        self._scored.add((harness, variant))
        with (self.root / "scores.jsonl").open("a", encoding="utf-8") as file:
            for task, values in scores.items():
                line = {"harness": harness, "variant": variant, "task": task, "scores": list(values)}
                file.write(json.dumps({**line, "mark": mark_of(values), "reasons": list(reasons[task])}) + "\n")
        folder = self.root / "traces" / harness / variant
        folder.mkdir(parents=True, exist_ok=True)
        for (task, index), trace in traces.items():
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
        means = [line.mean for line in self.scores if (line.harness, line.variant) == (harness, variant)]
        return sum(means) / len(means) if means else None

    def destruction(self, harness: str, initial: str, entry: str) -> float | None:
        """A harness's gain destruction under an archived counterfactual, or None where one of its cells is missing."""
        cells = [self.mean(name, variant) for name in (harness, initial) for variant in (RELEASED, entry)]
        if None in cells:
            return None
        released, counterfactual, initial_released, initial_counterfactual = (cell or 0.0 for cell in cells)
        return (released - initial_released) - (counterfactual - initial_counterfactual)

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
