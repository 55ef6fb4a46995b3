"""What the generalization gate has to know of Almanac: a shared corpus of named reports, as OfficeQA's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chase.core.gate_facts import GateFacts, TaskFacts
from chase.testing.almanac.contents import Document, Task
from chase.testing.almanac.questions import read_question

REALISATION = """\
- This holds for system prompt, memory, retrieval, tool and control policy and guidance modules together.
- No ids of questions, no labels of task sets or of variants of the benchmark, no text of an observed question, no \
answers, no names of reports, no year of a question beside a number of its answer, no branches on which question it is.
"""


def almanac_facts(
    name: str, tasks: Iterable[Task], documents: Iterable[Document], names: Mapping[str, str], variants: Iterable[str]
) -> GateFacts:
    """`names` are the reports' names by id."""
    held = list(documents)
    given = list(tasks)
    return GateFacts(
        realisation=REALISATION,
        checks=frozenset({"eight-token-spans", "year-number-pairs"}),
        tasks=tuple(
            TaskFacts(
                id=task.id,
                role=task.role,
                question=task.question,
                answer=task.answer,
                sources=tuple(n for d in held if _is_source(task, d) for n in (d.id, names[d.id])),
            )
            for task in given
        ),
        identities=(name,),
        labels=(*dict.fromkeys(task.role for task in given), *(v for v in variants if "-" in v)),
        documents=tuple(n for both in names.items() for n in both),
    )


def _is_source(task: Task, document: Document) -> bool:
    asked = read_question(task.question)
    if asked is None:
        return False
    return document.status == "final" and document.place == asked.place and document.year in asked.years
