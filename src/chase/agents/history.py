"""The read-only history tree: all that a Proposer or a Challenger can know of what was evaluated.

```
harnesses/<name>/…                           the harness's files, and candidate.json, its Proposer's record; of an agent
                                             of one's own agent.json alone, which says what it is
scores.jsonl                                 one line for each harness, variant and task, with its mark
tasks.jsonl                                  one line for each task: its question and all its scores
index.jsonl                                  one line for each rollout: what was done in it and what came of it
traces/<harness>/<variant>/<task>-<n>.jsonl  what the agent saw and did, one line for each event
archive/<entry>.json                         archived counterfactuals, with the observables they touch
rounds.jsonl                                 what was selected and which constraints were violated
<gate>.txt                                   what a gate requires of every candidate
```

It holds what one method evaluated in one run on one role's tasks, and no answer, evidence label or role. Neither the
order of lines nor the times of files say which task set a task is of, where a role is made of several.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from chase.agents.history_index import index_line, task_line, trace_lines, trace_of
from chase.core.values import Json
from chase.harness.folder import parse_files, render_files
from chase.harness.spec import Harness

RECORD, AGENT = "candidate.json", "agent.json"
SCORES, TASKS, INDEX, ROUNDS = "scores.jsonl", "tasks.jsonl", "index.jsonl", "rounds.jsonl"
WRITTEN = 946_684_800
"""The time that every file of a tree has, in seconds."""
RELEASED = "released"
"""The released benchmark's name among the variants of a tree."""
Mark = Literal["stable success", "unstable", "stable failure"]


def mark_of(scores: Sequence[float]) -> Mark:
    """How a task's rollouts came out together."""
    if all(score >= 1 for score in scores):
        return "stable success"
    return "unstable" if any(score >= 1 for score in scores) else "stable failure"


def contract_file(gate: str) -> str:
    """The file of a history that holds a gate's contract: `generalization_gate.txt`."""
    return f"{gate.replace('-', '_')}.txt"


class HistoryWriter:
    """The host's side of a tree. Adding what is there already changes nothing."""

    def __init__(self, root: Path, *, records: bool = True) -> None:
        """`records`: with what a harness's Proposer wrote about it, which speaks of its own tasks."""
        self.root = root
        self._records = records
        self._tasks: dict[str, dict[tuple[str, str], Sequence[float]]] = {}
        """Task → the scores of each (harness, variant)."""
        self._questions: dict[str, str] = {}
        if root.exists():  # everything is written again from the store: nothing of a later round may be left
            _set_writable(root)
            shutil.rmtree(root)
        for folder in ("harnesses", "traces", "archive"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        for name in (SCORES, TASKS, INDEX, ROUNDS):
            (root / name).write_text("", encoding="utf-8")

    def add_harness(self, name: str, harness: Harness, record: Mapping[str, Json]) -> None:
        folder = self.root / "harnesses" / name
        written = json.dumps(record if self._records else {}, indent=2)
        for file, text in {**render_files(harness), RECORD: written}.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")

    def add_agent(self, name: str, described: Mapping[str, Json]) -> None:
        """What stands in a harness's place where an agent of one's own plays: what it is, and no files."""
        folder = self.root / "harnesses" / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in ((AGENT, described), (RECORD, {})):
            (folder / file).write_text(json.dumps(content, indent=2), encoding="utf-8")

    def has_scores(self, harness: str, variant: str, task: str) -> bool:
        return (harness, variant) in self._tasks.get(task, {})

    def add_scores(
        self,
        harness: str,
        variant: str,
        scores: Mapping[str, Sequence[float]],
        reasons: Mapping[str, Sequence[str]],
        traces: Mapping[tuple[str, int], Json],
    ) -> None:
        """A harness's results under a variant, with the trace of each (task, rollout): those of tasks that are new."""
        new = sorted(task for task in scores if not self.has_scores(harness, variant, task))
        for task in new:
            self._tasks.setdefault(task, {})[harness, variant] = scores[task]
            line = {"harness": harness, "variant": variant, "task": task, "scores": list(scores[task])}
            self._append(SCORES, {**line, "mark": mark_of(scores[task]), "reasons": list(reasons[task])})
        folder = self.root / "traces" / harness / variant
        folder.mkdir(parents=True, exist_ok=True)
        for task, index in sorted(key for key in traces if key[0] in new):
            path, trace = folder / f"{task}-{index}.jsonl", traces[task, index]
            path.write_text("".join(f"{json.dumps(line)}\n" for line in trace_lines(trace)), encoding="utf-8")
            self._questions[task] = trace["question"]
            rollout = {"harness": harness, "variant": variant, "task": task, "rollout": index}
            done = index_line(trace, score=scores[task][index], reason=reasons[task][index])
            self._append(INDEX, {**rollout, **done, "trace": str(path.relative_to(self.root))})
        self._write_tasks()

    def _write_tasks(self) -> None:
        lines = [
            json.dumps(task_line(task, self._questions.get(task, ""), scores))
            for task, scores in sorted(self._tasks.items())
        ]
        (self.root / TASKS).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def add_entry(self, name: str, entry: Mapping[str, Json]) -> None:
        (self.root / "archive" / f"{name}.json").write_text(json.dumps(entry, indent=2), encoding="utf-8")

    def add_contract(self, gate: str, contract: str) -> None:
        (self.root / contract_file(gate)).write_text(contract, encoding="utf-8")

    def add_round(self, record: Mapping[str, Json]) -> None:
        self._append(ROUNDS, record)

    def _append(self, name: str, line: Mapping[str, Json]) -> None:
        with (self.root / name).open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(line)}\n")

    @contextmanager
    def read_only(self) -> Iterator[Path]:
        """The tree's root, with write permission taken away while an agent reads it, and one time on everything."""
        for path in _own(self.root):
            os.utime(path, (WRITTEN, WRITTEN))
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

    def plays_itself(self, name: str) -> bool:
        """Whether it is an agent of one's own, of which there is no harness."""
        return (self.root / "harnesses" / name / AGENT).exists()

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
            for line in self._lines(self.root / SCORES)
        ]

    def means(self, harnesses: Sequence[str], variant: str) -> dict[str, float]:
        """Harnesses' scores under a variant on the tasks that all of them met; empty where there is none."""
        found = self._compared([(harness, variant) for harness in harnesses])
        return dict(zip(harnesses, found, strict=True)) if found else {}

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

    def met(self, harness: str, variant: str) -> int:
        """How many tasks a harness was evaluated on under a variant."""
        return len(self._cells.get((harness, variant), {}))

    def _compared(self, cells: Sequence[tuple[str, str]]) -> list[float]:
        """The mean of each (harness, variant) over the tasks that all of them have; empty where there is none."""
        met = [self._cells.get(cell, {}) for cell in cells]
        common = [task for task in met[0] if all(task in tasks for tasks in met)] if met else []
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
        for path in sorted(folder.glob("*.jsonl")):
            yield str(path.relative_to(self.root)), trace_of(self._lines(path))

    def archive(self) -> dict[str, dict[str, Any]]:
        """Archived counterfactuals by name."""
        return {
            path.stem: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted((self.root / "archive").glob("*.json"))
        }

    def rounds(self) -> list[dict[str, Any]]:
        return self._lines(self.root / ROUNDS)

    @staticmethod
    def _lines(path: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
