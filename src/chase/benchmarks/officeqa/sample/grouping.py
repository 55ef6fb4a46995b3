"""Which documents each question draws on: files shared between questions, so that source components form."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import ceil

from chase.benchmarks.officeqa.sample.shape import Shape
from chase.core.keyed import rng

QUESTIONS, FILES, COMPONENTS = 246, 296, 100
"""The paper's figures for OfficeQA Full."""
SIZES = [1] * 45 + [2] * 25 + [3] * 13 + [4] * 9 + [5] * 4 + [14] * 4
"""Questions of each of 100 components: ours; the paper states their number alone."""
MOST_COMPONENTS = 0.75
"""By source files."""
MOST_FILES_USED = 0.85
"""Of all documents: some are no question's source."""


def sources(shape: Shape) -> list[tuple[int, ...]]:
    """For each question the numbers of its documents, in order."""
    draw = rng(shape.key, "sources")
    sizes = _sizes(shape)
    counts = _file_counts(shape, sizes, draw)
    groups = [
        chain
        for size, files in zip(sizes, _files(shape, counts, draw), strict=True)
        for chain in _chain(size, files, draw)
    ]
    draw.shuffle(groups)
    return groups


def components(shape: Shape) -> int:
    """How many source components there are, by the paper's proportion to questions.

    Where documents are few they are fewer than files, so that questions on several documents remain.
    """
    most = ceil(MOST_COMPONENTS * _most_files(shape))
    return max(1, min(round(shape.questions * COMPONENTS / QUESTIONS), most))


def _most_files(shape: Shape) -> int:
    return min(round(shape.questions * FILES / QUESTIONS), int(shape.documents * MOST_FILES_USED))


def _sizes(shape: Shape) -> list[int]:
    """Questions of each component, in the proportions of `SIZES`."""
    questions, count = shape.questions, components(shape)
    sizes = [SIZES[int((i + 0.5) * len(SIZES) / count)] for i in range(count)]
    place = 0
    while (excess := sum(sizes) - questions) != 0:
        place = (place - 1) % count
        if excess < 0 or sizes[place] > 1:
            sizes[place] += 1 if excess < 0 else -1
    return sizes


def _file_counts(shape: Shape, sizes: Sequence[int], draw: random.Random) -> list[int]:
    """Files of each component: one at least, the others by the number of questions."""
    counts = [1] * len(sizes)
    for component in draw.choices(range(len(sizes)), weights=sizes, k=max(0, _most_files(shape) - len(sizes))):
        counts[component] += 1
    return counts


def _files(shape: Shape, counts: Sequence[int], draw: random.Random) -> list[list[int]]:
    """Neighbouring documents for each component: runs of the calendar, in an order that is drawn, with gaps between."""
    spare = shape.documents - sum(counts)
    order = draw.sample(range(len(counts)), len(counts))
    skips = [0] * (len(counts) + 1)
    for gap in draw.choices(range(len(skips)), k=spare):
        skips[gap] += 1
    found: list[list[int]] = [[] for _ in counts]
    place = 0
    for component, skipped in zip(order, skips, strict=False):
        place += skipped
        found[component] = list(range(place, place + counts[component]))
        place += counts[component]
    return found


def _chain(questions: int, files: list[int], draw: random.Random) -> list[tuple[int, ...]]:
    """Runs of files, each beginning with the last file of the one before, so that all hang together."""
    more = [0] * questions
    for question in draw.choices(range(questions), k=len(files) - 1):
        more[question] += 1
    found, place = [], 0
    for count in more:
        found.append(tuple(files[place : place + count + 1]))
        place += count
    return found
