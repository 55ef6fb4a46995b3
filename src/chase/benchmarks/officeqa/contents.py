"""A question with its answer, its source labels and its role. Host-side."""

from __future__ import annotations

from dataclasses import dataclass


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
