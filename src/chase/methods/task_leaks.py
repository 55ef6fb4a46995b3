"""What a harness must not hold of the tasks that it was evolved on, and the scan for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from chase.core.interfaces import Benchmark, HasEvidence
from chase.harness.folder import render_files
from chase.harness.spec import Harness
from chase.methods.references.desk import answer_text
from chase.methods.references.verifier import holds
from chase.methods.trajectories import words

SPAN = 8
"""Tokens in a row that a harness may not share with a question."""
SHORTEST_NAME = 5
"""Characters: a shorter name says nothing of one document."""
SHORTEST_ANSWER = 5
"""Characters: a shorter answer is an ordinary word or number, and leaks only beside what tells its task apart."""


@dataclass(frozen=True, kw_only=True)
class TaskSecrets:
    """What stands for one task. Host-side."""

    task: str
    question: str
    answer: str
    values: tuple[str, ...] = ()
    """What in the question tells the task apart: names, periods."""
    names: tuple[str, ...] = ()
    """Ids, paths and file names of the documents that hold the answer."""


def secrets_of(benchmark: Benchmark[Any], tasks: Sequence[str]) -> list[TaskSecrets]:
    """What of each task may not stand in a harness."""
    released, paths = benchmark.variant("released"), dict[str, str]()
    found = []
    for task in tasks:
        known = benchmark.evidence(task) if isinstance(benchmark, HasEvidence) else {}
        if not known.keys() <= paths.keys():  # where tasks share their documents one view has all of them
            paths |= {file.id: file.path for file in benchmark.view(task, released).files}
        question = benchmark.environment(task, released).question
        found.append(
            TaskSecrets(
                task=task,
                question=question,
                answer=answer_text(benchmark, task),
                values=tuple(_telling_values(benchmark, question)),
                names=tuple(name for id_ in known for name in (id_, paths[id_], PurePosixPath(paths[id_]).name)),
            )
        )
    return found


def _telling_values(benchmark: Benchmark[Any], question: str) -> Iterator[str]:
    slots = benchmark.slots(question)
    for name, placeholder in benchmark.placeholders.items():
        if placeholder.tells_tasks_apart:
            yield from slots.get(name, ())


def leaks(harness: Harness, initial: Harness, secrets: Sequence[TaskSecrets]) -> Iterator[str]:
    """What a harness holds of tasks and `H_0` does not, each kind at most once. No leak is quoted: the Proposer is told
    what kind it is.
    """
    files = _new_texts(harness, initial)
    text = "\n".join(files)
    spans = _spans(text)
    kinds: Mapping[str, Callable[[TaskSecrets], bool]] = {
        "a task's id": lambda s: s.task in text,
        f"{SPAN} words in a row of a task's question": lambda s: bool(spans & _spans(s.question)),
        "the name of a document that holds an answer": lambda s: any(_named(text, name) for name in s.names),
        "a task's answer": lambda s: any(_answers(file, s) for file in files),
    }
    for kind, leaked in kinds.items():
        if any(leaked(secret) for secret in secrets):
            yield f"it holds {kind}"


def _new_texts(harness: Harness, initial: Harness) -> list[str]:
    """Each file of a harness without the lines that `H_0` has somewhere."""
    before = {line for text in render_files(initial).values() for line in text.splitlines()}
    return [
        "\n".join(line for line in text.splitlines() if line not in before) for text in render_files(harness).values()
    ]


def _spans(text: str) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[at : at + SPAN]) for at in range(len(found) - SPAN + 1)}


def _named(text: str, name: str) -> bool:
    return len(name) >= SHORTEST_NAME and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _answers(text: str, secret: TaskSecrets) -> bool:
    """An answer that is long enough to be nothing else, or one in a file with a value that tells its task apart."""
    long = len(secret.answer) >= SHORTEST_ANSWER
    return holds(text, secret.answer) and (long or any(holds(text, value) for value in secret.values))
