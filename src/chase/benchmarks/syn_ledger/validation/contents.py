"""Checks of tasks and typed records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from chase.benchmarks.syn_ledger.combinatorics import BLOCK
from chase.benchmarks.syn_ledger.contents import (
    Document,
    Record,
    Task,
    matches,
    read_question,
    solve,
)
from chase.benchmarks.syn_ledger.generator import ANSWERS, DECADE
from chase.benchmarks.syn_ledger.validation.tally import Tally
from chase.core.keyed import key_bits

if TYPE_CHECKING:
    from chase.benchmarks.syn_ledger.benchmark import SynLedger


def all_records(task: Task) -> list[Record]:
    return [record for document in task.documents for record in document.records]


def check_shape(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """Sizes, families with their shared answers, kinds of distractors."""
    tasks = [made.task for made in benchmark.generated.values()]
    sizes, families, distractors = tallies["sizes"], tallies["families"], tallies["distractors"]
    form = benchmark.spec.contents
    numbers = sorted(task.number for task in tasks)
    sizes.expect(numbers == list(range(benchmark.spec.blocks * BLOCK)), benchmark.name, "tasks are missing")
    for task in tasks:
        shape = [len(document.records) for document in task.documents]
        sizes.expect(shape == [6] * form.documents, task.id, f"records are {shape}, not {form.documents} times 6")
        kinds = Counter(document.kind for document in task.documents)
        distractors.expect(kinds == {"evidence": 2, **form.distractors}, task.id, f"kinds are {dict(kinds)}")
        evidence = {document.id for document in task.documents if document.kind == "evidence"}
        distractors.expect(evidence == set(task.evidence), task.id, "evidence is mislabelled")
    for decade in range(benchmark.spec.blocks // 10):
        members = [task for task in tasks if task.number // DECADE == decade]
        pools = [{t.answer for t in members if t.family is family} for family in form.families]
        for family, pool in zip(form.families, pools, strict=True):
            count = sum(task.family is family for task in members)
            families.expect(count == ANSWERS == len(pool), family.name, f"{count} tasks, {len(pool)} answers")
            families.expect(pool == pools[0], family.name, "the answers are not those of the first family")
            families.expect(all(10 <= a <= 99 for a in pool), family.name, "an answer is not a two-digit number")


def check_answers(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """The answer from the typed records; each required amount is one record of the right evidence document."""
    for made in benchmark.generated.values():
        task = made.task
        answer = solve(task.query, all_records(task))
        tallies["answer-from-records"].expect(answer == task.answer, task.id, f"records give {answer}")
        for side, (evidence, roles) in enumerate(
            zip(task.evidence, (task.family.first, task.family.second), strict=True)
        ):
            document = _document(task, evidence)
            block = [document.records[i] for i in document.block]
            found = matches(task.query, all_records(task))
            for role in roles:
                satisfying = found[role.symbol]
                tallies["unique-solution"].expect(
                    len(satisfying) == 1 and satisfying[0] in block,
                    task.id,
                    f"{len(satisfying)} records satisfy '{role.category}' of evidence document {side + 1}",
                )
        tallies["question-text"].expect(
            task.question == task.query.text() and read_question(task.question) == task.query,
            task.id,
            "the question's text does not say what is asked",
        )


def check_necessity(benchmark: SynLedger, tallies: Mapping[str, Tally]) -> None:
    """Replacing either evidence document changes the answer."""
    tally = tallies["evidence-necessary"]
    for made in benchmark.generated.values():
        task = made.task
        for evidence in task.evidence:
            document = _document(task, evidence)
            decoy = _with_block(document, entity="another entity")
            answer = solve(task.query, _replaced(task, decoy))
            tally.expect(answer is None, task.id, f"without document {evidence} the answer is still {answer}")
            shift = 1 + key_bits("necessity", evidence) % 97
            shifted = _with_block(document, shift=shift)
            answer = solve(task.query, _replaced(task, shifted))
            tally.expect(answer != task.answer, task.id, f"other amounts in {evidence} give the same answer")


def _document(task: Task, identifier: str) -> Document:
    return next(document for document in task.documents if document.id == identifier)


def _with_block(document: Document, *, entity: str | None = None, shift: int = 0) -> Document:
    """The document with another entity, or with other amounts, in its candidate block."""
    records = [
        replace(record, entity=entity or record.entity, amount=record.amount + shift) if i in document.block else record
        for i, record in enumerate(document.records)
    ]
    return replace(document, records=tuple(records))


def _replaced(task: Task, document: Document) -> list[Record]:
    documents = [document if d.id == document.id else d for d in task.documents]
    return [record for d in documents for record in d.records]
