"""Source components: questions that are joined by shared source files, directly or through others."""

from __future__ import annotations

from collections.abc import Iterable

from chase.benchmarks.corpus import components as joined
from chase.benchmarks.officeqa.records import Question


def components(questions: Iterable[Question]) -> tuple[tuple[Question, ...], ...]:
    """The components, whatever the order of the questions: the largest first, each sorted by uid."""
    by_uid = {question.uid: question for question in questions}
    found = joined.components({uid: question.sources for uid, question in by_uid.items()})
    return tuple(tuple(by_uid[uid] for uid in component) for component in found)
