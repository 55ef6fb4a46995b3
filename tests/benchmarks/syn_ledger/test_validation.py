"""Validation catches each planted fault by the check that is meant for it, and passes a sound benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.validation import CHECKS, Check, neutrality
from chase.benchmarks.syn_ledger.validation.neutrality import MOST_Z, association
from chase.benchmarks.syn_ledger.validation.tally import SHOWN, Tally
from tests.benchmarks.syn_ledger import faults
from tests.benchmarks.syn_ledger.faults import check, in_task, only, rebuilt
from tests.conftest import OTHER_FEATURES, open_once

pytestmark = pytest.mark.slow

NAMES = [name for _, names in CHECKS for name in names]
ONE_BY_ONE = {
    "answer-from-renderings",
    "records-preserved",
    "answer-not-visible",
    "paths-unique",
}
"""Checks that look at one task at a time and at every variant of it: a few tasks are enough to test them."""

FROZEN_HASH = "5a661cd8d00a3b3d40888dd685003b3d1721150a24c7a1fe62ee2a21e43643cd"


@pytest.fixture(scope="module")
def task(ledger: SynLedger) -> str:
    """The task that faults are planted in."""
    return ledger.tasks("evo")[4]


def few(benchmark: SynLedger, name: str, task: str) -> SynLedger:
    """The benchmark, or, where the check looks at one task at a time, the task and two sound ones."""
    return only(benchmark, [task, *benchmark.tasks("disc")[:2]]) if name in ONE_BY_ONE else benchmark


def caught(benchmark: SynLedger, name: str, task: str) -> str:
    """The first failure of a check that must fail."""
    result = check(few(benchmark, name, task), name)
    assert not result.passed, f"{name} did not see the fault"
    return result.failures[0]


# A sound benchmark


@pytest.mark.slow
@pytest.mark.parametrize("function", [function for function, _ in CHECKS], ids=lambda function: function.__name__)
def test_a_sound_benchmark_passes(ledger: SynLedger, task: str, function: Check) -> None:
    """The control of every fault below; the whole of `validate` runs in the slow tests."""
    names = next(names for each, names in CHECKS if each is function)
    results = faults.results(few(ledger, names[0], task), function)
    assert [result.name for result in results] == list(names)
    assert all(result.failures == () and result.count > 0 for result in results)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["syn-ledger@1", "syn-ledger@2", "syn-ledger@3", "syn-ledger@5", "syn-ledger@11x20"])
def test_other_seeds_and_sizes_validate(name: str) -> None:
    heard: list[str] = []
    results = open_once(name).validate(heard.append)
    assert [result.name for result in results] == NAMES
    assert {result.name: result.failures for result in results if not result.passed} == {}
    assert heard == [names[0] for _, names in CHECKS]


@pytest.mark.slow
def test_other_planted_features_and_another_seed_validate() -> None:
    results = open_once(f"syn-ledger@8:{OTHER_FEATURES}").validate(lambda _: None)
    assert {result.name: result.failures for result in results if not result.passed} == {}


def test_the_default_benchmark_is_frozen() -> None:
    """A rollout of yesterday is one of the same benchmark. Change this on purpose, with a version, or not at all."""
    assert open_once("syn-ledger").content_hash == FROZEN_HASH


def test_the_hash_follows_what_a_rollout_could_depend_on(ledger: SynLedger, task: str) -> None:
    class OtherTools(SynLedger):
        versions: ClassVar = {**SynLedger.versions, "tools": 99}

    other_sets = faults.copied(ledger)
    other_sets._role_of = {**ledger._role_of, task: "cert"}
    benchmarks = [
        ledger,
        *(rebuilt(ledger, in_task(task, fault)) for fault in (faults.wrong_answer, faults.second_solution)),
        rebuilt(ledger, in_task(task, faults.unbalanced_level)),
        faults.copied(ledger, OtherTools),
        other_sets,
    ]
    hashes = [only(benchmark, [task]).content_hash for benchmark in benchmarks]
    assert len(set(hashes)) == len(hashes)
    assert only(ledger, [task]).content_hash == hashes[0]


# Faults in one task: (fault, the checks that must see it)


@pytest.mark.parametrize(
    ("fault", "names"),
    [
        (faults.wrong_answer, ["answer-from-records", "answer-from-renderings", "families"]),
        (faults.second_solution, ["unique-solution", "answer-from-records", "answer-from-renderings"]),
        (faults.unnecessary_evidence, ["evidence-necessary", "unique-solution"]),
        (faults.copied_evidence, ["evidence-necessary", "unique-solution"]),
        (faults.path_that_leaks, ["answer-not-visible"]),
        (faults.metadata_that_leaks, ["answer-not-visible"]),
        (faults.unbalanced_level, ["balance-neutral", "balance-released"]),
        (faults.twice_the_same_path, ["paths-unique"]),
        (faults.missing_record, ["sizes"]),
        (faults.mislabelled_evidence, ["distractors"]),
        (faults.another_question, ["question-text"]),
        (faults.distractor_that_moves, ["distractors-fixed"]),
        (faults.unordered_documents, ["identifiers"]),
    ],
)
def test_a_fault_in_one_task_is_caught_where_it_is(
    ledger: SynLedger, task: str, fault: faults.Alter, names: list[str]
) -> None:
    faulty = rebuilt(ledger, in_task(task, fault))
    for name in names:
        failure = caught(faulty, name, task)
        assert failure.startswith(task) or name in ("families", "balance-released"), failure


@pytest.mark.slow
def test_every_changed_task_fails_the_rebuild(ledger: SynLedger, task: str) -> None:
    faulty = rebuilt(ledger, in_task(task, faults.path_that_leaks))
    result = check(faulty, "deterministic-rebuild")
    assert [failure.split(":")[0] for failure in result.failures] == [task]
    assert check(faulty, "answer-from-records").passed


# Faults of a kind of benchmark


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (faults.SwapsContents, "records-preserved"),
        (faults.LeaksInOneVariant, "answer-not-visible"),
        (faults.TaskInTwoSets, "allocation-sizes"),
        (faults.RestlessRenderer, "deterministic-rendering"),
        (faults.GenerousScorer, "scorer"),
        (faults.OtherBudgetWhenNeutral, "same-tools-and-budgets"),
        (faults.UnevenSets, "allocation-features"),
        (faults.UnevenSets, "allocation-pairs"),
        (faults.UnevenSets, "allocation-rebuild"),
        (faults.OneFamilyMore, "allocation-families"),
    ],
)
def test_a_faulty_kind_of_benchmark_is_caught(ledger: SynLedger, task: str, kind: type[SynLedger], name: str) -> None:
    caught(faults.copied(ledger, kind), name, task)


def test_a_leak_in_one_variant_is_named_with_the_variant(ledger: SynLedger, task: str) -> None:
    faulty = few(faults.copied(ledger, faults.LeaksInOneVariant), "answer-not-visible", task)
    result = check(faulty, "answer-not-visible")
    assert len(result.failures) == 3
    assert all("under placebo-section-labels" in failure for failure in result.failures)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "names"),
    [
        (faults.neutralisation_that_drops_a_record, ["records-preserved", "compose-to-neutral"]),
        (faults.neutralisation_that_exchanges_ids, ["declared-fields", "compose-to-neutral"]),
        (faults.neutralisation_that_reorders_documents, ["compose-to-neutral", "declared-fields"]),
        (faults.neutralisation_that_goes_on, ["idempotent", "compose-to-neutral"]),
        (faults.neutralisation_that_depends_on_another, ["commute"]),
        (faults.placebo_that_moves_evidence, ["placebos"]),
        (faults.placebo_that_does_nothing, ["placebos"]),
        (faults.placebo_that_renames, ["placebos"]),
    ],
)
def test_a_faulty_construction_is_caught(
    ledger: SynLedger, task: str, fault: Callable[[SynLedger, str], SynLedger], names: list[str]
) -> None:
    faulty = fault(ledger, task)
    for name in names:
        caught(faulty, name, task)


def test_mixed_sets_must_differ_between_features(ledger: SynLedger, task: str) -> None:
    """Every feature takes the levels of the first: each is still favorable for 7 of 8."""
    faulty = rebuilt(ledger, faults.one_mixed_set(ledger))
    assert check(faulty, "balance-released").passed
    caught(faulty, "mixed-sets", task)


# Faults that only many tasks together show


def test_ids_that_order_evidence_first_are_caught(ledger: SynLedger, task: str) -> None:
    faulty = rebuilt(ledger, faults.ids_in_order_of_evidence)
    assert "order of ids goes with evidence" in caught(faulty, "identifiers", task)
    assert check(only(faulty, [task]), "answer-from-renderings").passed


def test_task_ids_in_construction_order_are_caught(ledger: SynLedger, task: str) -> None:
    faulty = rebuilt(ledger, faults.task_ids_in_order)
    assert "construction order" in caught(faulty, "identifiers", task)


def test_an_observable_that_goes_with_evidence_is_caught(ledger: SynLedger) -> None:
    faulty = rebuilt(ledger, faults.longer_metadata_for_evidence)
    neutral, released = (result.failures for result in faults.results(faulty, neutrality.check_observables))
    for failures in (neutral, released):
        assert any("preamble-lines goes with evidence" in failure for failure in failures)
    assert any("text-size" in failure for failure in neutral)


def test_association_is_a_z_score() -> None:
    flat = [([1.0] * 12, [True, True, *[False] * 10])] * 50
    first = [([float(i) for i in range(12)], [True, True, *[False] * 10])] * 50
    last = [([-float(i) for i in range(12)], [True, True, *[False] * 10])] * 50
    assert association(flat) == 0.0
    assert association(first) < -MOST_Z
    assert association(last) == -association(first)
    balanced = [([float(i) for i in range(12)], [i in (k, 11 - k) for i in range(12)]) for k in range(6)]
    assert association(balanced) == 0.0


# The tally


def test_a_check_that_looked_at_nothing_does_not_pass() -> None:
    assert not Tally().result("empty").passed


def test_a_tally_counts_all_and_shows_some() -> None:
    tally = Tally()
    for place in range(SHOWN + 30):
        tally.expect(place < 10, f"task-{place}", "is too large")
    result = tally.result("size")
    assert result.count == SHOWN + 30
    assert result.failures[0] == "task-10: is too large"
    assert len(result.failures) == SHOWN + 1
    assert result.failures[-1] == "… and 20 more"
    assert not result.passed
