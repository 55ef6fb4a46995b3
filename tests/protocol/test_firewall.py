"""The validity firewall: honest changes pass, each kind of cheat is caught by the check named for it."""

from __future__ import annotations

from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.interfaces import Controls
from chase.protocol import firewall
from chase.protocol.firewall import CHECKS, examine
from chase.protocol.screening import exclusion
from chase.protocol.selftest import selftest
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
    record = examine(parse_world(form), subject)
    assert record.failed == ("declared-changes",)
    assert "order" in next(v.evidence for v in record.verdicts if v.check == "declared-changes")


def test_the_check_set_is_evolution_and_discovery_in_an_order_of_its_own(ledger: SynLedger) -> None:
    tasks = ledger.subject.check_tasks
    assert sorted(tasks) == sorted([*ledger.tasks("evo"), *ledger.tasks("disc")])
    assert list(tasks) != sorted(tasks)


def test_confirmation_tasks_can_be_checked_before_confirmation(ledger: SynLedger, subject: Any) -> None:
    form = {"benchmark": "syn-ledger", "operators": [{"name": "reverse", "arguments": {"aspect": "name"}}]}
    record = examine(parse_world(form), subject, ledger.tasks("conf1"))
    assert record.valid
    assert record.tasks == 16


def test_identity_passes_the_checks_and_is_excluded_as_inactive(subject: Any) -> None:
    identity = parse_world({"benchmark": "syn-ledger", "operators": []})
    assert examine(identity, subject).valid
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


@pytest.mark.slow
def test_the_whole_self_test_passes_on_another_seed(another_seed: SynLedger) -> None:
    outcomes = selftest(another_seed, _quiet)
    assert [outcome for outcome in outcomes if not outcome.passed] == []
