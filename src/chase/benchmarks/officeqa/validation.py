"""OfficeQA's own checks: that task sets, sources and documents fit together, and that layouts say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, get_args

from chase.benchmarks.checking import Checked, run_checks
from chase.benchmarks.corpus.library import passages_of
from chase.benchmarks.corpus.passages import hold_every_line
from chase.benchmarks.corpus.world import excerpts
from chase.benchmarks.officeqa import scoring
from chase.benchmarks.officeqa.protocol import LayoutProtocol, Place, TableStyle
from chase.benchmarks.officeqa.rendering import RELEASED, lay_out, pieces
from chase.core.interfaces import Progress
from chase.core.values import CheckResult

if TYPE_CHECKING:
    from chase.benchmarks.officeqa.benchmark import OfficeQA


def _answers(benchmark: OfficeQA) -> Checked:
    for id_ in benchmark.tasks():
        right = benchmark.score(id_, benchmark.task(id_).answer)
        yield id_, None if right == 1.0 else "its own answer scores 0"


def _questions(benchmark: OfficeQA) -> Checked:
    asked = Counter(benchmark.task(id_).question for id_ in benchmark.tasks())
    for id_ in benchmark.tasks():
        yield id_, None if asked[benchmark.task(id_).question] == 1 else "it is asked twice"


def _sources(benchmark: OfficeQA) -> Checked:
    for id_ in benchmark.tasks():
        there = benchmark.collection(id_).corpus.names
        missing = [source for source in benchmark.task(id_).sources if source not in there]
        yield id_, f"{len(missing)} of its sources are no documents" if missing else None


def _apart(benchmark: OfficeQA) -> Checked:
    """Sources of evolution and certification are in no other task set."""
    roles: dict[str, set[str]] = {}
    full = [id_ for id_ in benchmark.tasks() if benchmark.collection(id_) is benchmark.full]
    for id_ in full:
        for source in benchmark.task(id_).sources:
            roles.setdefault(source, set()).add(benchmark.role_of(id_))
    for source, held in roles.items():
        alone = len(held) == 1 or not held & {"evo", "cert"}
        yield source, None if alone else f"it is a source in {', '.join(sorted(held))}"


def _layouts(benchmark: OfficeQA) -> Checked:
    """Of the fixture documents: what they say is the same in every layout."""
    for document in excerpts(benchmark.full.corpus, benchmark.base):
        said = pieces(document.lines, RELEASED)
        for unit, note, style in product(get_args(Place), get_args(Place), get_args(TableStyle)):
            layout = LayoutProtocol(unit_place=unit, note_place=note, table_style=style)
            same = pieces(lay_out(document.lines, layout), layout) == said
            yield document.id, None if same else f"it says something else with units {unit}, notes {note}, {style}"


def _covered(benchmark: OfficeQA) -> Checked:
    for id_, lines in benchmark.full.corpus.line_counts.items():
        for length, shift in product((20, 40, 80), (0, 5, 10, 20, 30, 35)):
            passages = passages_of(lines, LayoutProtocol(passage_lines=length, passage_shift=shift))
            whole = hold_every_line(passages, lines)
            yield id_, None if whole else f"passages of {length} lines, {shift} later, miss some"


def _verdicts(benchmark: OfficeQA) -> Checked:
    for answer, output, verdict in scoring.FIXTURES:
        found = scoring.score(answer, output)
        yield answer, None if found == verdict else f"{output!r} scores {found}, not {verdict}"


CHECKS: Mapping[str, Callable[[OfficeQA], Checked]] = {
    "answers score": _answers,
    "every question is asked once": _questions,
    "sources are documents": _sources,
    "sources of evo and cert stand apart": _apart,
    "documents say the same in every layout": _layouts,
    "passages hold every line once": _covered,
    "the scorer's verdicts": _verdicts,
}


def validate(benchmark: OfficeQA, progress: Progress) -> Sequence[CheckResult]:
    """Every check of the construction."""
    return run_checks(CHECKS, benchmark, progress)
