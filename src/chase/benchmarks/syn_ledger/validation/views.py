"""Checks of everything that is rendered: every task under every variant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from chase.benchmarks.syn_ledger import scoring
from chase.benchmarks.syn_ledger.contents import Record, read_question, solve
from chase.benchmarks.syn_ledger.generator import generate, visible_numbers
from chase.benchmarks.syn_ledger.parsing import parse
from chase.benchmarks.syn_ledger.validation.tally import Tally

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a text says: its records (none where it cannot be parsed), how often each occurs, its numbers."""

    records: tuple[Record, ...]
    counts: dict[Record, int]
    numbers: set[int]

    @classmethod
    def of(cls, text: str) -> _Reading:
        try:
            records = parse(text)
        except (ValueError, IndexError):
            records = ()
        return cls(records, dict(Counter(records)), visible_numbers([text]))


def check_views(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """From the rendered text alone: the answer, the records, that the answer is not shown, unique paths."""
    for task_id, made in benchmark.generated.items():
        task, read = made.task, cache(_Reading.of)
        typed = {document.id: dict(Counter(document.records)) for document in task.documents}
        query = read_question(task.question)
        for variant in benchmark.variants():
            where = f"{task_id} under {variant}"
            files = benchmark.render(task_id, benchmark.variant(variant))
            readings = {file.id: read(file.text) for file in files}
            for document, reading in readings.items():
                same = reading.counts == typed.get(document)
                tallies["records-preserved"].expect(same, where, f"document {document} does not hold its records")
            answer = solve(query, [record for reading in readings.values() for record in reading.records])
            tallies["answer-from-renderings"].expect(answer == task.answer, where, f"the text gives {answer}")
            seen = visible_numbers([task.question, *(f"{f.path} {f.id}" for f in files)])
            seen = seen.union(*(reading.numbers for reading in readings.values()))
            tallies["answer-not-visible"].expect(task.answer not in seen, where, f"{task.answer} can be seen")
            tallies["paths-unique"].expect(len({f.path for f in files}) == len(files), where, "a path occurs twice")


def check_replay(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """Generating again gives the same tasks and manifests; rendering again gives the same bytes."""
    spec = benchmark.spec
    again = generate(spec.seed, spec.blocks, spec.planted, spec.contents)
    for made, other in zip(benchmark.generated.values(), again, strict=True):
        tallies["deterministic-rebuild"].expect(made == other, made.task.id, "a rebuild gives another task")
    for task in benchmark.generated:
        for variant in ("released", "neutral"):
            transformation = benchmark.variant(variant)
            same = benchmark.render(task, transformation) == benchmark.render(task, transformation)
            tallies["deterministic-rendering"].expect(same, f"{task} under {variant}", "two renders differ")


def check_interface(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """Every variant has the same tools and budgets; the scorer judges its fixtures as it must."""
    task = benchmark.tasks()[0]
    for variant in benchmark.variants():
        environment = benchmark.environment(task, benchmark.variant(variant))
        same = environment.tools == benchmark.tools and environment.limits == benchmark.limits
        tallies["same-tools-and-budgets"].expect(same, f"{task} under {variant}", "tools or budgets differ")
    for answer, output, verdict in scoring.FIXTURES:
        given = scoring.score(answer, output)
        tallies["scorer"].expect(given == verdict, f"output {output!r}", f"scored {given} for answer {answer}")
    for task in benchmark.tasks():
        answer = benchmark.task(task).answer
        right = benchmark.score(task, f" {answer:+,} ")
        wrong = benchmark.score(task, str(answer + 1)) + benchmark.score(task, f"{answer}.0")
        tallies["scorer"].expect((right, wrong) == (1.0, 0.0), task, "the scorer misjudges an output")
