"""Tasks, programs, documents and records are what the paper says they are."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import astuple, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.benchmarks.syn_ledger import vocabulary as words
from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.contents import (
    DISTRACTORS,
    FAMILIES,
    FIELDS,
    Document,
    Family,
    Query,
    Record,
    Task,
    matches,
    read_question,
    read_slots,
    solve,
)

PROGRAMS = {
    "period-difference": (["x"], ["y"], lambda x, y: x - y),
    "combined-total": (["x"], ["y"], lambda x, y: x + y),
    "net-balance": (["x", "y"], ["z"], lambda x, y, z: x + y - z),
    "integer-share": (["x"], ["y"], lambda x, y: 100 * x / y),
    "reconciliation-gap": (["z"], ["x", "y"], lambda z, x, y: z - (x + y)),
}
"""The paper's table: amounts in the first document, in the second, and the calculation."""

families = st.sampled_from(FAMILIES)
answers = st.integers(10, 99)
seeds = st.integers(0, 2**32)


def tasks_of(benchmark: SynLedger) -> list[Task]:
    return [made.task for made in benchmark.generated.values()]


def test_families_are_those_of_the_papers_table() -> None:
    assert [family.name for family in FAMILIES] == list(PROGRAMS)
    for family in FAMILIES:
        first, second, _ = PROGRAMS[family.name]
        assert [role.symbol for role in family.first] == first
        assert [role.symbol for role in family.second] == second


@given(family=families, answer=answers, seed=seeds)
def test_amounts_are_drawn_to_give_the_answer(family: Family, answer: int, seed: int) -> None:
    amounts = family.draw(answer, random.Random(seed))
    first, second, calculation = PROGRAMS[family.name]
    assert calculation(*(amounts[symbol] for symbol in first + second)) == answer
    assert family.compute(amounts) == answer
    assert all(amount != 0 for amount in amounts.values())


@given(answer=answers, seed=seeds)
def test_shares_are_integral(answer: int, seed: int) -> None:
    share = FAMILIES[3]
    amounts = share.draw(answer, random.Random(seed))
    assert 100 * amounts["x"] % amounts["y"] == 0
    assert share.compute({"x": amounts["x"] * 1000 + 1, "y": amounts["y"] * 1000}) is None
    assert share.compute({"x": 1, "y": 0}) is None


def test_combined_totals_have_adjustments_of_either_sign() -> None:
    drawn = [FAMILIES[1].draw(50, random.Random(seed)) for seed in range(40)]
    assert {amounts["x"] > 0 for amounts in drawn} == {True, False}
    assert all((amounts["x"] > 0) != (amounts["y"] > 0) for amounts in drawn)


def test_each_family_has_the_same_64_two_digit_answers(ledger: SynLedger) -> None:
    assert len(ledger.tasks()) == 320
    pools = {family.name: [t.answer for t in tasks_of(ledger) if t.family is family] for family in FAMILIES}
    for pool in pools.values():
        assert len(pool) == len(set(pool)) == 64
        assert set(pool) == set(pools["net-balance"])
        assert all(10 <= answer <= 99 for answer in pool)


def test_every_ten_blocks_use_the_answers_again(larger_ledger: SynLedger) -> None:
    tasks = tasks_of(larger_ledger)
    pools = [
        sorted(t.answer for t in tasks if t.family is family and t.number // 320 == decade)
        for family in FAMILIES
        for decade in (0, 1)
    ]
    assert len(tasks) == 640
    assert all(pool == pools[0] and len(set(pool)) == 64 for pool in pools)


def test_family_and_configuration_cells_occur_exactly_twice(ledger: SynLedger) -> None:
    cells = Counter((task.family.name, task.configuration) for task in tasks_of(ledger))
    assert len(cells) == 5 * 32
    assert set(cells.values()) == {2}
    blocks = [Counter(t.family.name for t in tasks_of(ledger) if t.block == block) for block in range(10)]
    assert all(sorted(block.values()) == [6, 6, 6, 7, 7] for block in blocks)


def test_a_task_has_twelve_documents_of_six_records(ledger: SynLedger) -> None:
    for task in tasks_of(ledger):
        assert [len(document.records) for document in task.documents] == [6] * 12
        assert Counter(document.kind for document in task.documents) == {
            "evidence": 2,
            "other-period": 2,
            "wrong-entity": 2,
            "superseded": 2,
            "inactive": 2,
            "wrong-basis": 1,
            "irrelevant-category": 1,
        }
    assert sum(DISTRACTORS.values()) == 10


def test_evidence_blocks_are_the_required_records(ledger: SynLedger) -> None:
    for task in tasks_of(ledger):
        for identifier, roles in zip(task.evidence, (task.family.first, task.family.second), strict=True):
            document = next(d for d in task.documents if d.id == identifier)
            block = [document.records[i] for i in document.block]
            assert [record.category for record in block] == [role.category for role in roles]
            assert all(
                task.query.satisfied(role, record)
                and (record.status, record.version, record.basis) == ("approved", "prevailing", "enacted")
                for role, record in zip(roles, block, strict=True)
            )


EXCLUDED_BY = {
    "other-period": {"period"},
    "wrong-entity": {"entity"},
    "superseded": {"version"},
    "inactive": {"status"},
    "wrong-basis": {"basis"},
    "irrelevant-category": {"category"},
}


def _required(task: Task, document: Document) -> list[Record]:
    """The required records that a distractor's block is matched to: the evidence block most like it."""
    blocks = []
    for identifier in task.evidence:
        evidence = next(d for d in task.documents if d.id == identifier)
        blocks.append([evidence.records[i] for i in evidence.block])
    block = [document.records[i] for i in document.block]
    return min((b for b in blocks if len(b) == len(block)), key=lambda b: len(_differences(b, block)))


def _differences(required: list[Record], block: list[Record]) -> set[str]:
    return {
        name
        for a, b in zip(required, block, strict=True)
        for name in FIELDS
        if name != "amount" and getattr(a, name) != getattr(b, name)
    }


def test_decoys_match_the_required_records_in_all_but_one_condition(ledger: SynLedger) -> None:
    for task in tasks_of(ledger):
        for document in task.documents:
            if document.kind != "evidence":
                block = [document.records[i] for i in document.block]
                assert _differences(_required(task, document), block) == EXCLUDED_BY[document.kind]


def test_contextual_rows_are_outside_the_entity_or_the_periods(ledger: SynLedger) -> None:
    for task in tasks_of(ledger):
        for document in task.documents:
            for place, record in enumerate(document.records):
                if place not in document.block:
                    assert record.entity != task.query.entity or record.period not in task.query.periods


def test_every_document_has_the_same_categories(ledger: SynLedger) -> None:
    """So that neither sizes nor words of a document tell evidence."""
    for task in tasks_of(ledger):
        palettes = [sorted(record.category for record in document.records) for document in task.documents]
        assert all(palette == palettes[0] and len(set(palette)) == 6 for palette in palettes)


def test_words_that_stand_in_the_same_place_have_the_same_length() -> None:
    for column in (words.STATUSES, words.VERSIONS, words.BASES, words.SECTION_LABELS, words.ENTITY_KIND):
        assert len({len(word) for word in column}) == 1
    for column in (words.ENTITY_FIRST, words.ENTITY_SECOND):
        assert len({len(word) for word in column}) == 1
    assert all(len(category) == len(twin) for category, twin in words.CATEGORY_TWINS.items())


def test_distractor_amounts_do_not_depend_on_the_required_ones() -> None:
    """Another answer gives other required amounts and leaves what comes after as it was."""
    from chase.benchmarks.syn_ledger.generator import _attempt

    for number in range(5):
        one, other = (_attempt(7, number, 0, answer, ("filename",)).task for answer in (31, 97))
        assert one.evidence == other.evidence
        for mine, theirs in zip(one.documents, other.documents, strict=True):
            required = mine.block if mine.kind == "evidence" else ()
            for place, (a, b) in enumerate(zip(mine.records, theirs.records, strict=True)):
                assert (a == b) or place in required


def test_the_question_names_entity_periods_and_conditions(ledger: SynLedger) -> None:
    for task in tasks_of(ledger):
        assert task.query.entity in task.question
        assert all(period in task.question for period in task.query.periods)
        assert "approved" in task.question
        assert "enacted basis" in task.question
        assert len(task.query.periods) == (2 if task.family.name == "period-difference" else 1)


names = st.from_regex(r"[A-Z][a-z]{2,8} [A-Z][a-z]{2,8}", fullmatch=True)
years = st.integers(1000, 9998)


@given(family=families, entity=names, year=years)
def test_questions_read_back_to_what_they_ask(family: Family, entity: str, year: int) -> None:
    query = Query(entity=entity, periods=tuple(f"FY{year - lag:04d}" for lag in range(family.periods)), family=family)
    assert read_question(query.text()) == query
    assert read_slots(query.text()) == (entity, list(query.periods))


@pytest.mark.parametrize("text", ["", "What is 6 times 7?", "For Amberdale Agency, how are you?"])
def test_other_texts_are_no_questions(text: str) -> None:
    with pytest.raises(ValueError, match="not a Syn-Ledger question"):
        read_question(text)


def test_solving_needs_each_amount_exactly_once(ledger: SynLedger) -> None:
    for task in tasks_of(ledger)[:40]:
        records = [record for document in task.documents for record in document.records]
        assert solve(task.query, records) == task.answer
        assert solve(task.query, reversed(records)) == task.answer
        for found in matches(task.query, records).values():
            assert len(found) == 1
            assert solve(task.query, [r for r in records if r is not found[0]]) is None
            assert solve(task.query, [*records, replace(found[0], amount=1)]) is None


def test_a_record_that_fails_any_condition_is_not_counted(ledger: SynLedger) -> None:
    task = tasks_of(ledger)[0]
    role = task.family.first[0]
    evidence = next(d for d in task.documents if d.id == task.evidence[0])
    good = evidence.records[evidence.block[0]]
    assert task.query.satisfied(role, good)
    for change in (
        {"entity": "Other Office"},
        {"period": "FY1999"},
        {"category": "archive levy"},
        {"status": "canceled"},
        {"status": "in draft"},
        {"version": "superseded"},
        {"basis": "planned"},
        {"basis": "accrual"},
    ):
        assert not task.query.satisfied(role, replace(good, **change))


def test_no_answer_is_visible_under_any_variant(ledger: SynLedger) -> None:
    for task in ledger.tasks()[::8]:
        for variant in ledger.variants():
            view = ledger.view(task, ledger.variant(variant))
            visible = " ".join([view.question, *(f"{file.id} {file.path} {file.text}" for file in view.files)])
            assert str(ledger.task(task).answer) not in re.findall(r"\d+", visible)


def test_other_seeds_have_other_entities_amounts_and_names(ledger: SynLedger, larger_ledger: SynLedger) -> None:
    mine, theirs = tasks_of(ledger), tasks_of(larger_ledger)[:320]
    assert not {t.id for t in mine} & {t.id for t in theirs}
    assert not {d.id for t in mine for d in t.documents} & {d.id for t in theirs for d in t.documents}

    def shared(what: object) -> float:
        """The share of tasks of the same number that have it in common."""
        return sum(what(a) == what(b) for a, b in zip(mine, theirs, strict=True)) / len(mine)  # type: ignore[operator]

    assert shared(lambda t: t.query.entity) < 0.05
    assert shared(lambda t: t.answer) < 0.1
    assert shared(lambda t: sorted(r.amount for d in t.documents for r in d.records)) == 0
    assert shared(lambda t: t.family.name) == 1  # the construction is the same
    paths = [
        [sorted(file.path for file in b.view(t.id, b.variant("released")).files) for t in tasks[:20]]
        for b, tasks in ((ledger, mine), (larger_ledger, theirs))
    ]
    assert not [1 for a, b in zip(*paths, strict=True) if a == b]
    assert {t.answer for t in mine} != {t.answer for t in theirs}


def test_no_two_tasks_share_an_identifier(ledger: SynLedger) -> None:
    tasks = tasks_of(ledger)
    identifiers = [t.id for t in tasks] + [d.id for t in tasks for d in t.documents]
    assert len(set(identifiers)) == len(identifiers) == 320 * 13
    assert all(re.fullmatch("[a-z]{8}|[a-z]{10}", identifier) for identifier in identifiers)


def test_records_are_plain_typed_values() -> None:
    record = Record(entity="A", period="FY2030", category="c", status="approved", version="v", basis="b", amount=-3)
    assert astuple(record) == ("A", "FY2030", "c", "approved", "v", "b", -3)
    assert tuple(Record.__dataclass_fields__) == FIELDS
