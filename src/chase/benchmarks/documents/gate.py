"""What the generalization gate has to know of a benchmark of documents, and its part of the contract. Host-side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from chase.benchmarks.documents.contents import Task
from chase.core.gate_facts import GateFacts, TaskFacts

REALISATION = """\
- This holds for all that a harness says or does: system prompt, memory, retrieval, tool and control policy, guidance.
- No ids of questions, no names of task sets or of variants of the benchmark, no text of an observed question (eight \
of its words in a row are too many), no answers, no names of documents, no year of an observed question together with \
a longer number of its answer, no branches on which question is asked.
"""


def documents_facts(tasks: Iterable[Task], paths: Mapping[str, str], labels: Iterable[str]) -> GateFacts:
    """`paths` are the documents' released ones by id; `labels` those of roles and variants."""
    return GateFacts(
        realisation=REALISATION,
        checks=frozenset({"eight-token-spans", "year-number-pairs"}),
        tasks=tuple(_task(task, paths) for task in tasks),
        labels=tuple(labels),
        documents=tuple(word for id_, path in paths.items() for word in _names(id_, path)),
    )


def _task(task: Task, paths: Mapping[str, str]) -> TaskFacts:
    return TaskFacts(
        id=task.id,
        role=task.role,
        question=task.question,
        answer=task.answer,
        identity=(task.label,) if any(c.isdigit() for c in task.label) and len(task.label) > 3 else (),
        sources=tuple(word for id_ in task.evidence for word in _names(id_, paths[id_])),
    )


def _names(id_: str, path: str) -> Iterator[str]:
    """How a document can be named: its id, its path and its file's name. A name without figure or sign is a word."""
    name = PurePosixPath(path).name
    yield from (id_, path)
    yield from (part for part in (name, PurePosixPath(name).stem) if not part.isalpha())
