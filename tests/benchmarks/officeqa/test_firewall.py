"""The firewall on OfficeQA: its self-test, its cost, and proposals at random."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chase.benchmarks.corpus import subject as canonical
from chase.benchmarks.corpus.environment import CorpusEnvironment
from chase.benchmarks.corpus.index import Hit
from chase.benchmarks.corpus.library import passages_of
from chase.benchmarks.corpus.subject import CORPUS
from chase.benchmarks.corpus.world import FIXTURE_LINES, FIXTURES
from chase.benchmarks.officeqa.operators import ALLOWLIST
from chase.core.values import Sighting
from chase.protocol.kit import ProtocolKit
from chase.protocol.selftest import selftest
from tests.benchmarks.officeqa.offices import office

FORMS = [{"name": kind.name, "arguments": dict(form.arguments)} for kind in ALLOWLIST.values() for form in kind.forms()]


@pytest.mark.slow
def test_the_selftest_passes() -> None:
    outcomes = selftest(office().fewer({"evo": 3, "disc": 3}), lambda _: None)
    assert [outcome for outcome in outcomes if not outcome.passed] == []
    assert len(outcomes) > 60


@cache
def few() -> ProtocolKit:
    return ProtocolKit(office().fewer({"evo": 2, "disc": 2}))


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(st.sampled_from(FORMS), max_size=5), st.integers(0, 2**40))
def test_compositions_of_allowed_operators_are_valid(operators: list[Any], seed: int) -> None:
    kit = few()
    proposal = kit.parse({"benchmark": "officeqa", "operators": operators, "seed": seed})
    assert kit.run_checks(proposal).failed == ()


def test_the_corpus_is_examined_in_a_dozen_documents_and_all_names() -> None:
    subject = office().subject
    shown = subject.released(CORPUS)
    assert len(shown.contents) == FIXTURES == 12
    assert all(len(document.lines) <= FIXTURE_LINES for document in subject.state(CORPUS).documents)
    assert {document for document in shown.protocol if not document.startswith("(")} == set(office().full.corpus.ids)
    task = subject.check_tasks[0]
    assert len(subject.state(task).protocol.documents) == 12


def test_outputs_are_compared_in_canonical_form() -> None:
    """However fields are named and grouped, what is read is the same."""
    kit = ProtocolKit(office())
    subject = office().subject
    forms = [{"name": "rename-fields", "arguments": {"words": "desk"}}, {"name": "wrap-text"}]
    proposal = kit.lift(kit.parse({"benchmark": "officeqa", "operators": forms}))
    before, after = subject.released(CORPUS), subject.present(proposal.transformation.apply(subject.state(CORPUS)))
    assert (before.contents, before.access) == (after.contents, after.access)
    assert before.view != after.view


def test_passages_that_miss_a_line_are_missing_contents(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cut that loses the last passage is told as contents that cannot be read."""
    monkeypatch.setattr(canonical, "passages_of", lambda lines, layout: passages_of(lines, layout)[:-1])
    canonical._contents.cache_clear()
    subject = office().subject
    shown = subject.present(subject.state(CORPUS))
    assert set(shown.contents.values()) == {None}
    canonical._contents.cache_clear()


def test_a_result_that_is_not_the_passage_it_says_is_another_access(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of every search result must be that of the lines that it names."""
    subject, whole = office().subject, CorpusEnvironment.show_hit
    before = subject.released(CORPUS)

    def misplaced(environment: CorpusEnvironment, hit: Hit, *place: Any, **more: Any) -> Sighting:
        return whole(environment, replace(hit, start=hit.start + 1), *place, **more)

    monkeypatch.setattr(CorpusEnvironment, "show_hit", misplaced)
    assert subject.present(subject.state(CORPUS)).access != before.access


def test_a_task_of_any_role_can_be_examined() -> None:
    """A frozen transformation is checked on the confirmation tasks, which are not among those of the search."""
    subject = office().subject
    for role in office().roles:
        task = office().tasks(role)[0]
        assert subject.state(task).answer == subject.answer(task) == office().task(task).answer
