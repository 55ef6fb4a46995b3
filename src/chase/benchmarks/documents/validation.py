"""The checks of a benchmark of documents: that task sets, evidence, documents and scorer fit together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from chase.benchmarks.checking import Checked, run_checks
from chase.benchmarks.corpus.library import passages_of
from chase.benchmarks.corpus.passages import hold_every_line
from chase.benchmarks.corpus.protocol import Layout
from chase.benchmarks.documents.splits import ROLES
from chase.core.interfaces import Progress
from chase.core.values import CheckResult

if TYPE_CHECKING:
    from chase.benchmarks.documents.benchmark import Documents


def _answers(benchmark: Documents) -> Checked:
    for id_ in benchmark.tasks():
        wrong = benchmark.scorer.wrong_with(benchmark.task(id_).answer)
        yield id_, None if wrong is None else f"its answer {wrong}"


def _evidence(benchmark: Documents) -> Checked:
    there = benchmark.collection.corpus.names
    for id_ in benchmark.tasks():
        missing = [document for document in benchmark.task(id_).evidence if document not in there]
        yield id_, f"{len(missing)} of its evidence files are no documents" if missing else None


def _roles(benchmark: Documents) -> Checked:
    for role in ROLES:
        yield role, None if benchmark.tasks(role) else "it has no tasks"


def _groups(benchmark: Documents) -> Checked:
    """A group is in one task set, and so is a question that is asked twice."""
    by_group = benchmark.description.splits.grouping == "group"
    sets: dict[str, set[str]] = {}
    for id_ in benchmark.tasks():
        task = benchmark.task(id_)
        for label in [f"question {task.question}", *([f"group {task.group}"] if by_group and task.group else [])]:
            sets.setdefault(label, set()).add(task.role)
    for label, roles in sets.items():
        yield label, None if len(roles) == 1 else f"it is in {', '.join(sorted(roles))}"


def _covered(benchmark: Documents) -> Checked:
    for id_, lines in benchmark.collection.corpus.line_counts.items():
        for length, shift in product(
            (benchmark.description.protocol.passage_lines, 20, 40, 80), (0, 5, 10, 20, 30, 35)
        ):
            passages = passages_of(lines, Layout(passage_lines=length, passage_shift=shift))
            whole = hold_every_line(passages, lines)
            yield id_, None if whole else f"passages of {length} lines, {shift} later, miss some"


CHECKS: Mapping[str, Callable[[Documents], Checked]] = {
    "answers score": _answers,
    "evidence are documents": _evidence,
    "every task set has tasks": _roles,
    "groups stay together": _groups,
    "passages hold every line once": _covered,
}


def validate(benchmark: Documents, progress: Progress) -> Sequence[CheckResult]:
    """Every check of the construction."""
    return run_checks(CHECKS, benchmark, progress)
