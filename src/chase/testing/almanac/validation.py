"""Almanac's own checks: that its questions have the answers they say, and that its parts fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from chase.benchmarks.checking import Checked, run_checks
from chase.core.interfaces import Progress
from chase.core.values import CheckResult
from chase.testing.almanac import scoring
from chase.testing.almanac.questions import read_question, solve
from chase.testing.almanac.rendering import parse

if TYPE_CHECKING:
    from chase.testing.almanac.benchmark import Almanac


def _answers(benchmark: Almanac) -> Checked:
    for id_ in benchmark.tasks():
        task = benchmark.task(id_)
        question = read_question(task.question)
        found = None if question is None else solve(question, benchmark.documents)
        yield id_, None if found == task.answer else f"the reports answer {found}"


def _questions(benchmark: Almanac) -> Checked:
    asked = Counter(benchmark.task(id_).question for id_ in benchmark.tasks())
    for id_ in benchmark.tasks():
        yield id_, None if asked[benchmark.task(id_).question] == 1 else "it is asked twice"


def _readable(benchmark: Almanac) -> Checked:
    for name in benchmark.variants():
        for document in benchmark.render(benchmark.variant(name).apply(benchmark.released)):
            try:
                held = parse(document.lines, document.id).document
            except ValueError as error:
                yield document.id, f"under {name} it cannot be read: {error}"
                continue
            same = held == next(d for d in benchmark.documents if d.id == document.id)
            yield document.id, None if same else f"under {name} it says something else"


def _versions(benchmark: Almanac) -> Checked:
    statuses: dict[tuple[str, int], list[str]] = {}
    for document in benchmark.documents:
        statuses.setdefault((document.place, document.year), []).append(document.status)
    for (place, year), found in statuses.items():
        one_each = sorted(found) == ["final", "preliminary"]
        yield f"{place} {year}", None if one_each else f"its reports are {', '.join(found)}"


def _verdicts(benchmark: Almanac) -> Checked:
    for answer, output, verdict in scoring.FIXTURES:
        found = scoring.score(answer, output)
        yield answer, None if found == verdict else f"{output!r} scores {found}, not {verdict}"


CHECKS: Mapping[str, Callable[[Almanac], Checked]] = {
    "reports give the answers": _answers,
    "every question is asked once": _questions,
    "reports say the same under every variant": _readable,
    "of each report there are two versions": _versions,
    "the scorer's verdicts": _verdicts,
}


def validate(benchmark: Almanac, progress: Progress) -> Sequence[CheckResult]:
    """Every check of the construction."""
    return run_checks(CHECKS, benchmark, progress)
