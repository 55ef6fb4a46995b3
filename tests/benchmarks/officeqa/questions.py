"""Made-up questions in source components of given shapes."""

from __future__ import annotations

import random
from collections.abc import Sequence

from chase.benchmarks.officeqa.records import Question


def in_components(shapes: Sequence[tuple[int, int]], *, labels: bool = True) -> list[Question]:
    """Questions in components of (easy, hard) questions each: neighbours in a component share a file, others none."""
    made = []
    for place, (easy, hard) in enumerate(shapes):
        for member in range(easy + hard):
            level = "easy" if member < easy else "hard"
            made.append(
                Question(
                    uid=f"UID{len(made):04}",
                    question=f"Question {len(made)}?",
                    answer="1",
                    sources=(f"c{place}-{member}", f"c{place}-{member + 1}"),
                    difficulty=level if labels else None,
                )
            )
    return made


def shapes_of(
    questions: int, groups: int, seed: int, *, largest: int = 1, single_level: bool = False
) -> list[tuple[int, int]]:
    """Shapes of so many components over so many questions: large ones attract more, as shared files do."""
    draw = random.Random(seed)
    sizes = [largest] + [1] * (groups - 1)
    free = range(1 if largest > 1 else 0, groups)
    for _ in range(questions - sum(sizes)):
        sizes[draw.choices(free, [sizes[place] for place in free])[0]] += 1
    out = []
    for size in sizes:
        easy = sum(draw.random() < 0.46 for _ in range(size))
        if single_level:
            easy = size if draw.random() < 0.46 else 0
        out.append((easy, size - easy))
    return out
