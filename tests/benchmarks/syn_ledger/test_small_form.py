"""The small form of Syn-Ledger: the same construction, so the same contract, checks and firewall hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger, SynLedgerSpec, open_syn_ledger
from chase.benchmarks.syn_ledger.contents import read_question
from chase.core.values import Sighting
from chase.protocol.selftest import selftest
from chase.testing.benchmark_suite import Call
from tests.benchmarks.syn_ledger.test_conformance import LedgerConformance
from tests.conftest import open_once

NAME = "syn-ledger-small@101"


@pytest.fixture(scope="session")
def small() -> SynLedger:
    return open_once(NAME)


@pytest.mark.parametrize("name", ["syn-ledger-small", NAME, "syn-ledger-small@7x20/evo64"])
def test_its_name_says_seed_and_size_as_the_others_do(name: str) -> None:
    spec = SynLedgerSpec.parse(name)
    assert spec.name == name
    assert spec.form == "small"
    assert SynLedgerSpec.parse(name.replace("-small", "")).form == ""


def test_it_asks_for_two_amounts_in_six_short_documents(small: SynLedger) -> None:
    for made in small.generated.values():
        task = made.task
        assert len(task.documents) == 6
        assert len(task.family.roles) == 2
        assert read_question(task.question) == task.query
        assert "approved" not in task.question
        shown = {(record.status, record.version, record.basis) for d in task.documents for record in d.records}
        assert shown == {("", "", "")}
        assert {(record.entity, record.period) for d in task.documents for record in d.records} == {
            (task.query.entity, "")
        }
        asked = {role.category for role in task.family.roles}
        assert {d.id for d in task.documents if any(r.category in asked for r in d.records)} == set(task.evidence)
        required = [d.records[place].amount for d in task.documents if d.id in task.evidence for place in d.block]
        assert all(2 <= amount < 200 for amount in required)


def test_absent_fields_are_not_shown(small: SynLedger) -> None:
    shown = "".join(file.text for file in small.render(small.tasks()[0], small.variant("released")))
    assert re.search(r"category", shown, re.IGNORECASE)
    assert not re.search(r"period|status|version|basis", shown, re.IGNORECASE)


def test_a_search_does_not_find_the_evidence_by_its_category(small: SynLedger) -> None:
    """All records are of the question's entity, by which every file is found, and by nothing else."""
    for task in small.tasks("evo")[:8]:
        query = small.task(task).query
        for words, matching in ((query.entity, 6), (query.family.roles[0].category, 0)):
            found = small.environment(task, small.variant("released")).call("search", {"query": words, "limit": 6})
            assert sum("matches" in item.line for item in found.items) == matching


@pytest.mark.slow
def test_the_firewall_catches_and_passes_what_it_must(small: SynLedger) -> None:
    few = small.fewer({"evo": 4, "disc": 4})
    assert [outcome for outcome in selftest(few, lambda _: None) if not outcome.passed] == []


@pytest.mark.slow
class TestConformance(LedgerConformance):
    @pytest.fixture
    def benchmark(self, small: SynLedger) -> SynLedger:
        return small

    def rebuild(self, benchmark: Any) -> SynLedger:
        return open_syn_ledger(benchmark.name, cache=None)

    def calls(self, benchmark: Any, task: str) -> Sequence[Call]:
        file = benchmark.view(task, benchmark.variant("released")).files[0].path
        search = "search", {"query": benchmark.task(task).query.entity, "limit": 6}
        read = "open_file", {"file": file}
        return search, read, read, ("calculator", {"first": {}, "second": {}, "expression": "2 + 3"})

    def sights(self, benchmark: Any, task: str, variant: str) -> Mapping[str, Sequence[Sighting]]:
        """It has no listing, so it is the ledger's own sight."""
        transformation = benchmark.variant(variant)
        windows = {file.id: file.windows for file in benchmark.render(task, transformation)}
        return {
            shown.id: [replace(shown, window=place, text=text) for place, text in enumerate(windows[shown.id])]
            for shown in benchmark.sightings(task, transformation)
        }

    def test_validation_looks_at_what_the_tools_show(self, benchmark: SynLedger) -> None:
        for task in self.some_tasks(benchmark):
            for document, windows in self.sights(benchmark, task, "released").items():
                environment = self.new_environment(benchmark, task)
                opened = [environment.call("open_file", {"file": document}).items[0].shown for _ in windows]
                assert [(shown.path, shown.text) for shown in opened] == [(w.path, w.text) for w in windows]
