"""The sentence that answers a question in words: the one that shares most of its rarer words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from chase.core.markdown_tables import is_row
from chase.models.lexical.question import Asked, shares
from chase.models.lexical.shelf import Run
from chase.models.lexical.words import bag

MOST_CHARACTERS = 280
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“(])")
_LEAST_SHARED = 2


def best_sentence(asked: Asked, runs: Sequence[Run], *, closely: bool) -> str | None:
    """The sentence with the most of the question's words, rare ones counting more; the first where several have.

    Told to look closely it weighs all that was shown; else the first run that has a sentence to offer.
    """
    for group in [runs] if closely else [[run] for run in runs]:
        candidates = [s for run in group for s in sentences(run.lines)]
        common = Counter(word for sentence in candidates for word in bag(sentence))
        scored = [(_score(asked, sentence, common), -place) for place, sentence in enumerate(candidates)]
        best = max(scored, default=(0.0, 0))
        if best[0] > 0:
            return candidates[-best[1]]
    return None


def _score(asked: Asked, sentence: str, common: Counter[str]) -> float:
    shared = shares(asked.text, sentence)
    return sum(1 / common[word] ** 0.5 for word in shared) if len(shared) >= _LEAST_SHARED else 0.0


@lru_cache(maxsize=512)
def sentences(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The sentences of a run, its tables left out, each in one line."""
    return tuple(s[:MOST_CHARACTERS] for block in _blocks(lines) for s in _END.split(block) if s.strip())


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    """Paragraphs, each in one line; a heading is one of its own."""
    block: list[str] = []
    for line in (*lines, ""):
        is_text = bool(line.strip()) and not is_row(line) and not line.startswith("#")
        if is_text:
            block.append(line.strip())
            continue
        if block:
            yield " ".join(block)
            block = []
        if line.startswith("#"):
            yield line.strip("# ")
