"""A question with its answer, its evidence and its role. Host-side."""

from __future__ import annotations

from dataclasses import dataclass

from chase.benchmarks.documents.questions import Question
from chase.core.keyed import opaque_id


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One question. `evidence` are ids of documents."""

    id: str
    """Opaque: it tells nothing of the question, its place or its role."""
    label: str
    """As the questions file calls it."""
    role: str
    question: str
    answer: str
    evidence: tuple[str, ...]
    group: str | None


def make_task(question: Question, role: str, ids: dict[str, str]) -> Task:
    """`ids`: those of documents by path."""
    return Task(
        id=opaque_id("documents-task", question.id, question.question),
        label=question.id,
        role=role,
        question=question.question,
        answer=question.answer,
        evidence=tuple(ids[path] for path in question.evidence),
        group=question.group,
    )
