"""Checks of everything that is rendered: every task under every variant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chase.benchmarks.syn_ledger import scoring
from chase.benchmarks.syn_ledger.contents import Record, read_question, solve
from chase.benchmarks.syn_ledger.generator import generate, visible_numbers
from chase.benchmarks.syn_ledger.parsing import parse
from chase.benchmarks.syn_ledger.validation.tally import Tally

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger


class _Reader:
    """Parses texts and finds their numbers, each distinct text once."""

    def __init__(self) -> None:
        self._records: dict[str, dict[Record, int] | None] = {}
        self._numbers: dict[str, set[int]] = {}

    def records(self, text: str) -> dict[Record, int] | None:
        if text not in self._records:
            try:
                self._records[text] = dict(Counter(parse(text)))
            except (ValueError, IndexError):
                self._records[text] = None
        return self._records[text]

    def numbers(self, text: str) -> set[int]:
        if text not in self._numbers:
            self._numbers[text] = visible_numbers([text])
        return self._numbers[text]


def check_views(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """From the rendered text alone: the answer, the records, that the answer is not shown, unique paths."""
    for task_id, made in benchmark.generated.items():
        task, reader = made.task, _Reader()
        typed = {document.id: dict(Counter(document.records)) for document in task.documents}
        query = read_question(task.question)
        for variant in benchmark.variants():
            where = f"{task_id} under {variant}"
            files = benchmark.render(task_id, benchmark.variant(variant))
            parsed = {file.id: reader.records(file.text) for file in files}
            for document, records in parsed.items():
                same = records is not None and records == typed.get(document)
                tallies["records-preserved"].expect(same, where, f"document {document} does not hold its records")
            everything = [record for records in parsed.values() for record in Counter(records or {}).elements()]
            answer = solve(query, everything)
            tallies["answer-from-renderings"].expect(answer == task.answer, where, f"the text gives {answer}")
            seen = visible_numbers([task.question, *(f"{f.path} {f.id} {f.preview}" for f in files)])
            seen = seen.union(*(reader.numbers(f.text) for f in files))
            tallies["answer-not-visible"].expect(task.answer not in seen, where, f"{task.answer} can be seen")
            tallies["paths-unique"].expect(len({f.path for f in files}) == len(files), where, "a path occurs twice")


def check_replay(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """Generating again gives the same tasks and manifests; rendering again gives the same bytes."""
    spec = benchmark.spec
    again = generate(spec.seed, spec.blocks, spec.planted)
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
