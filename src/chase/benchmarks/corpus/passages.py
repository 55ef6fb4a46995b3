"""Documents cut into passages: what a search finds and shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from chase.core.errors import UserError

PASSAGE_LINES = 40
"""Ours: the paper does not publish its own."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive lines of a document, counted from 1; the first and the last belong to it."""

    start: int
    end: int


def cut(lines: int, *, length: int = PASSAGE_LINES, shift: int = 0) -> tuple[Passage, ...]:
    """The passages of a document: together every line once, in order.

    A shift moves every eligible internal boundary that many lines later. One is eligible if it then still stands before
    where the next boundary stood, or before the document's end if it is the last; the others stay where they are.
    """
    if length < 1 or shift < 0:
        raise UserError(f"length={length}, shift={shift}: a passage has at least 1 line, a shift at least 0.")
    boundaries = range(length, lines, length)
    moved = [place + shift if place + shift < min(place + length, lines) else place for place in boundaries]
    edges = [0, *moved, lines] if lines else []
    return tuple(Passage(before + 1, end) for before, end in pairwise(edges))


def hold_every_line(passages: Sequence[Passage], lines: int) -> bool:
    """Whether passages hold every line of a document once, in order."""
    ends = [0, *(passage.end for passage in passages)]
    return ends[-1] == lines and all(p.start == end + 1 for p, end in zip(passages, ends, strict=False))
