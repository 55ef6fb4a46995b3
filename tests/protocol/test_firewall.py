"""The validity firewall: honest changes pass, each kind of cheat is caught by the check named for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.manifest import PROTOCOL_FIELDS
from chase.benchmarks.syn_ledger.world import World
from chase.core.controls import Controls
from chase.protocol import firewall
from chase.protocol.archive import views_digest
from chase.protocol.firewall import CHECKS, run_checks
from chase.protocol.lifting import negative_control
from chase.protocol.proposal import Proposal
from chase.protocol.screening import exclusion
from chase.protocol.selftest import selftest
from chase.protocol.transformation import OperatorList
from chase.testing.ledger import parse_world

SOME_TASKS = {"evo": 4, "disc": 4}


@pytest.fixture(scope="module")
def small(ledger: SynLedger) -> SynLedger:
    """A benchmark with a few check tasks, so that every control can be tried often."""
    return ledger.fewer(SOME_TASKS)


@pytest.fixture(scope="module")
def subject(small: SynLedger) -> Any:
    return small.subject


@pytest.fixture(scope="module")
def controls(small: SynLedger) -> Controls:
    return small.controls()


def _quiet(_: str) -> None:
    return None


def test_the_self_test_passes(small: SynLedger, controls: Controls) -> None:
    outcomes = selftest(small, _quiet)
    assert [outcome for outcome in outcomes if not outcome.passed] == []
    assert len(outcomes) >= len(controls.positive) + len(controls.negative) + len(CHECKS)


@pytest.mark.parametrize("name", list(CHECKS))
def test_disabling_any_check_makes_the_self_test_fail(
    name: str, small: SynLedger, controls: Controls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firewall, "CHECKS", {**CHECKS, name: lambda examined: None})
    of_the_check = [negative for negative in controls.negative if negative.check == name]
    assert of_the_check
    outcomes = selftest(small, _quiet, Controls(positive={}, negative=of_the_check, refused={}))
    assert any(not outcome.passed for outcome in outcomes if not outcome.control.startswith("check "))


def test_all_seven_checks_of_the_papers_table_are_there() -> None:
    assert list(CHECKS) == [
        "task-and-answer",
        "available-information",
        "access-and-resources",
        "scoring",
        "declared-changes",
        "task-independence",
        "replay-and-inversion",
    ]


def test_an_undeclared_change_is_named(subject: Any) -> None:
    form = {"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 3}}], "declared": ["rank"]}
    record = run_checks(parse_world(form), subject)
    assert record.failed == ("declared-changes",)
    assert "order" in next(v.evidence for v in record.verdicts if v.check == "declared-changes")


def test_the_check_set_is_evolution_and_discovery_in_an_order_of_its_own(ledger: SynLedger) -> None:
    tasks = ledger.subject.check_tasks
    assert sorted(tasks) == sorted([*ledger.tasks("evo"), *ledger.tasks("disc")])
    assert list(tasks) != sorted(tasks)


def test_confirmation_tasks_can_be_checked_before_confirmation(ledger: SynLedger, subject: Any) -> None:
    form = {"benchmark": "syn-ledger", "operators": [{"name": "reverse", "arguments": {"aspect": "name"}}]}
    record = run_checks(parse_world(form), subject, ledger.tasks("conf1"))
    assert record.valid
    assert record.tasks == 16


def test_identity_passes_the_checks_and_is_excluded_as_inactive(subject: Any) -> None:
    identity = parse_world({"benchmark": "syn-ledger", "operators": []})
    assert run_checks(identity, subject).valid
    assert exclusion(identity, subject, archived=()) == "inactive"


def test_a_change_that_cancels_itself_is_inactive(subject: Any) -> None:
    twice = [{"name": "shift", "arguments": {"by": 3}}] * 2
    proposal = parse_world({"benchmark": "syn-ledger", "operators": twice})
    assert exclusion(proposal, subject, archived=()) == "inactive"


def test_an_archived_transformation_is_a_duplicate(subject: Any) -> None:
    form = {"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 3}}]}
    proposal = parse_world(form)
    assert exclusion(proposal, subject, archived=()) is None
    assert exclusion(proposal, subject, archived={proposal.transformation.hash}) == "duplicate"


class WithCorpus:
    """The subject with one task's documents in the place of what all tasks share."""

    def __init__(self, subject: Any, unit: str) -> None:
        self._subject = subject
        self.shared = (unit,)
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._subject, name)

    def exchanged(self, unit: str, other: str) -> World:
        self.asked[unit] += 1
        assert (unit == other) == (unit in self.shared)
        world: World = self._subject.exchanged(unit, other)
        return world


@pytest.fixture
def corpus(ledger: SynLedger, subject: Any) -> WithCorpus:
    return WithCorpus(subject, ledger.tasks("conf1")[0])


def changing(corpus: WithCorpus, change: Callable[[World], World]) -> Proposal[World]:
    """A change of what is shared alone."""
    question = corpus.state(corpus.shared[0]).question
    control = negative_control("x", "", lambda w: change(w) if w.question == question else w)
    operators = (control.operator,)
    return Proposal(
        benchmark="syn-ledger", transformation=OperatorList(operators=operators), declared=frozenset(PROTOCOL_FIELDS)
    )


def test_what_tasks_share_is_examined_once_with_the_check_set(corpus: WithCorpus, subject: Any) -> None:
    form = {"benchmark": "syn-ledger", "operators": [{"name": "reverse", "arguments": {"aspect": "name"}}]}
    record = run_checks(parse_world(form), corpus)
    assert record.valid
    assert record.tasks == len(subject.check_tasks)
    assert corpus.asked == dict.fromkeys((*corpus.shared, *subject.check_tasks), 1)


def test_a_fault_in_what_tasks_share_is_caught_and_named(corpus: WithCorpus, subject: Any, ledger: SynLedger) -> None:
    faulty = changing(
        corpus, lambda w: replace(w, documents=tuple(replace(d, records=d.records[::-1]) for d in w.documents))
    )
    record = run_checks(faulty, corpus)
    assert "available-information" in record.failed
    [evidence] = [v.evidence for v in record.verdicts if v.check == "available-information"]
    assert evidence.startswith(f"{corpus.shared[0]}: ")
    # Given tasks are confirmation's: what is shared was examined with the check set.
    assert run_checks(faulty, corpus, ledger.tasks("conf2")).valid
    assert run_checks(faulty, subject).valid


def test_a_change_of_what_tasks_share_alone_is_active_and_shows_in_the_archive(
    corpus: WithCorpus, subject: Any
) -> None:
    title = changing(
        corpus, lambda w: replace(w, manifest=w.manifest.update({p.id: {"title": "A"} for p in w.manifest}))
    )
    identity = parse_world({"benchmark": "syn-ledger", "operators": []})
    assert exclusion(title, corpus, archived=()) is None
    assert exclusion(title, subject, archived=()) == "inactive"
    assert views_digest(title, corpus) != views_digest(identity, corpus)
    assert views_digest(title, subject) == views_digest(identity, subject)


@pytest.mark.slow
def test_the_whole_self_test_passes_on_another_seed(another_seed: SynLedger) -> None:
    outcomes = selftest(another_seed, _quiet)
    assert [outcome for outcome in outcomes if not outcome.passed] == []
