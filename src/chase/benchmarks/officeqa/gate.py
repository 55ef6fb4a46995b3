"""What the generalization gate has to know of OfficeQA, and its part of the contract. Host-side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from chase.benchmarks.officeqa.contents import Task
from chase.benchmarks.officeqa.terms import BASE
from chase.core.gate_facts import GateFacts, TaskFacts

REALISATION = """\
- This holds for all that a harness says or does: system prompt, memory, retrieval, tool and control policy, guidance.
- No ids of questions, no names of task sets or of variants of the benchmark, no text of an observed question (eight \
of its words in a row are too many), no answers, no names of documents, no year of an observed question together with \
a longer number of its answer, no branches on which question is asked.
"""


def office_facts(name: str, tasks: Iterable[Task], names: Mapping[str, str], labels: Iterable[str]) -> GateFacts:
    """`names` are the documents' released names by id; `labels` those of roles and variants."""
    return GateFacts(
        realisation=REALISATION,
        checks=frozenset({"eight-token-spans", "year-number-pairs"}),
        tasks=tuple(_task(task, names) for task in tasks),
        identities=tuple(dict.fromkeys((name, BASE, "office qa"))),
        labels=tuple(labels),
        documents=tuple(word for id_, given in names.items() for word in _names(id_, given)),
    )


def _task(task: Task, names: Mapping[str, str]) -> TaskFacts:
    return TaskFacts(
        id=task.id,
        role=task.role,
        question=task.question,
        answer=task.answer,
        identity=(task.uid,),
        sources=tuple(word for id_ in task.sources for word in _names(id_, names[id_])),
    )


def _names(id_: str, name: str) -> Iterator[str]:
    """How a document can be named: its id, its name, and that without the suffix."""
    yield from (id_, name, PurePosixPath(name).stem)
