"""A question with its answer, its source labels and its role. Host-side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from chase.core.keyed import opaque_id

ID_LETTERS = 10
"""Of a document's identifier: two of a few thousand names do not meet."""


def document_id(stem: str) -> str:
    """The identifier of a document: of its file's name without the suffix, and it tells nothing of it."""
    return opaque_id("officeqa-document", stem, letters=ID_LETTERS)


def identify(name: str) -> str:
    """The identifier of a document by its file's name."""
    return document_id(PurePosixPath(name).stem)


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One question of a release. `sources` are ids of documents."""

    id: str
    uid: str
    """As the release calls it."""
    role: str
    question: str
    answer: str
    sources: tuple[str, ...]
    difficulty: str | None
