"""What a report shows of the benchmark itself: a before and after of each counterfactual, construction and balance.

This needs the benchmark, which takes a moment to open and may need data that are not here: then the report says so and
goes on without. An example shows what an agent is shown, and no answer, role or evidence label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from chase.core.errors import ChaseError
from chase.core.interfaces import Benchmark, HasStatistics
from chase.protocol.example import Example, example_of
from chase.protocol.proposal import parse_for
from chase.report import more_charts
from chase.report.document import BeforeAfter, Block, Figure, Section, Text
from chase.report.facts import RunFacts, role_order
from chase.report.heads import MALFORMED
from chase.runs.tables import Table

Found = Mapping[str, Any]
MOST_LINES = 12
"""Of each side of an example, from the first line that differs."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkFacts:
    """What the opened benchmark says of a run."""

    examples: Mapping[str, Example]
    """By the counterfactual's name."""
    sizes: Mapping[str, int]
    """Task sets, as the run had them."""
    statistics: Found | None
    table: tuple[str, list[str], list[list[str]]] | None
    problem: str | None = None


def benchmark_facts(facts: RunFacts, opened: Callable[[], Benchmark[Any]], *, counted: bool = True) -> BenchmarkFacts:
    """Open the benchmark and look; what fails is a sentence in the report. Not `counted`: without its statistics."""
    known = facts.config.get("tasks")
    sizes = {role: known[role] for role in sorted(known, key=role_order)} if isinstance(known, Mapping) else {}
    try:
        benchmark = opened()
        if benchmark.content_hash != facts.config.get("content_hash", benchmark.content_hash):
            raise ChaseError(f"{benchmark.name} has another content here than in the run.")
        statistics = table = None
        if counted and isinstance(benchmark, HasStatistics):
            statistics = benchmark.statistics()
            title, headings, rows = benchmark.statistics_table()
            table = (title, list(headings), [list(row) for row in rows])
        return BenchmarkFacts(
            examples={
                name: example_of(benchmark, parse_for(benchmark, form).transformation) for name, form in _forms(facts)
            },
            sizes=sizes or {role: len(benchmark.tasks(role)) for role in benchmark.roles},
            statistics=statistics,
            table=table,
        )
    except ChaseError as error:
        return BenchmarkFacts(examples={}, sizes=sizes, statistics=None, table=None, problem=str(error))


def _forms(facts: RunFacts) -> Iterator[tuple[str, Found]]:
    """Archived counterfactuals, or an audit's findings, as data."""
    for entry in facts.archive.entries if facts.archive is not None else ():
        yield entry.name, entry.transformation
    result = facts.result or {}
    for found in (*result.get("confirmed", ()), *result.get("not_confirmed", ())):
        yield found["name"], found["transformation"]


def example_section(facts: RunFacts, found: BenchmarkFacts) -> Section | None:
    """Each counterfactual in words, with what an agent sees before and after."""
    try:
        words = dict(_words(facts))
    except MALFORMED:  # which the report says of the result itself
        return None
    if not words:
        return None
    blocks: list[Block] = []
    for name, said in words.items():
        blocks.append(Text(text=f"{name}: {said}", strong=True))
        if name in found.examples:
            blocks += _example(found.examples[name])
    if found.problem:
        blocks.append(Text(text=f"No example can be shown: {found.problem}"))
    lead = "The same calls on one task, as released and under each counterfactual. Questions and answers are the same."
    return Section(id="examples", title="What an agent sees", blocks=blocks, lead=lead)


def _words(facts: RunFacts) -> Iterator[tuple[str, str]]:
    result = facts.result or {}
    for found in (*result.get("archive", ()), *result.get("confirmed", ()), *result.get("not_confirmed", ())):
        yield found["name"], found["what"]


def _example(example: Example) -> Iterator[Block]:
    if not example.changes:
        yield Text(text=f"Task {example.task} looks the same to these calls.")
    for change in example.changes:
        arguments = ", ".join(f"{name} {value}" for name, value in change.call.arguments.items())
        before, after = change.excerpt(MOST_LINES)
        yield BeforeAfter(title=f"{change.call.tool} {arguments}".rstrip(), before=before, after=after)


def construction_section(found: BenchmarkFacts) -> Section | None:
    """Task sets, and where the benchmark counts them families and features."""
    if not found.sizes:
        return None
    if found.table is None:
        title, headings, rows = "Task sets", ["set", "tasks"], [[role, str(n)] for role, n in found.sizes.items()]
    else:
        title, headings, rows = found.table
    table = Table(
        name="construction",
        title=title,
        headings=tuple(headings),
        rows=rows,
        fields=tuple(headings),
        data=rows,
        alignments="l" * len(headings),
    )
    figure = Figure(
        drawing=more_charts.construction(found.sizes, found.statistics),
        table=table,
        caption="Task sets as this run used them; families and balance are those of the whole benchmark.",
    )
    return Section(id="benchmark", title="The benchmark", blocks=[figure])
