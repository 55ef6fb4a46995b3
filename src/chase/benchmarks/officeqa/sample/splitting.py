"""Whether a sample's questions can be split into the paper's roles, known before anything of it is written."""

from __future__ import annotations

from dataclasses import replace

from chase.benchmarks.officeqa.records import Question
from chase.benchmarks.officeqa.sample.grouping import sources
from chase.benchmarks.officeqa.sample.questions import easy_questions
from chase.benchmarks.officeqa.sample.shape import Shape
from chase.benchmarks.officeqa.sizes import LEAST_QUESTIONS, MOST_QUESTIONS
from chase.benchmarks.officeqa.splits import allocate
from chase.core.errors import UserError


def check_splits(shape: Shape) -> None:
    """Refuse a sample of Full on which nothing could be run. Pro V2 is one role and has no splits."""
    if shape.release != "full":
        return
    if not LEAST_QUESTIONS <= shape.questions <= MOST_QUESTIONS:
        raise UserError(
            f"--questions={shape.questions} cannot be split into the paper's six roles. "
            f"Ask for {LEAST_QUESTIONS} to {MOST_QUESTIONS}."
        )
    if not _splits(shape):
        raise UserError(
            f"--questions={shape.questions} on --documents={shape.documents} cannot be split into the paper's six "
            "roles: they form too few source components to keep roles apart. "
            f"Ask for --documents={_enough(shape)}."
        )


def _splits(shape: Shape) -> bool:
    """By what the splits look at: identifiers, sources and difficulty, which are drawn before any question is made."""
    groups = sources(shape)
    easy = easy_questions(shape, groups)
    questions = [
        Question(
            uid=f"UID{number + 1:04}",
            question="",
            answer="",
            sources=tuple(sorted(shape.all_documents[i].stem for i in group)),
            difficulty="easy" if number in easy else "hard",
        )
        for number, group in enumerate(groups)
    ]
    try:
        allocate(questions)
    except UserError:
        return False
    return True


def _enough(shape: Shape) -> int:
    """Documents that are enough, found by doubling: as many as questions always were, wherever it was tried."""
    while shape.documents < shape.questions:
        shape = replace(shape, documents=min(2 * shape.documents, shape.questions))
        if _splits(shape):
            break
    return shape.documents
