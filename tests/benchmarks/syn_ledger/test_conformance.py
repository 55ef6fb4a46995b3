"""Syn-Ledger keeps the contract of a benchmark, whatever is planted in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.contents import Document, Task
from chase.benchmarks.syn_ledger.generator import GeneratedTask
from chase.benchmarks.syn_ledger.validation.neutrality import first_sight
from chase.core.values import Shown
from chase.testing.benchmark_suite import BenchmarkConformance, Call
from chase.testing.object_graph import reachable
from tests.benchmarks.syn_ledger.agent import sights


class LedgerConformance(BenchmarkConformance):
    def answer(self, benchmark: Any, task: str) -> str:
        return str(benchmark.task(task).answer)

    def secrets(self, benchmark: Any, task: str) -> Iterable[object]:
        made = benchmark.generated[task]
        return (made, made.task, made.task.query, made.task.family, *made.task.documents, "evidence", "other-period")

    def calls(self, benchmark: Any, task: str) -> Sequence[Call]:
        file = benchmark.view(task, benchmark.variant("released")).files[0].path
        return (
            ("list_files", {}),
            ("search", {"query": benchmark.task(task).query.entity, "limit": 12}),
            ("open_file", {"file": file}),
            ("open_file", {"file": file}),
            ("calculator", {"expression": "2+3"}),
        )

    def sights(self, benchmark: Any, task: str, variant: str) -> Mapping[str, Sequence[Shown]]:
        return sights(benchmark, task, variant)

    def test_no_host_side_value_is_reachable_from_an_environment(self, benchmark: SynLedger) -> None:
        for task in self.some_tasks(benchmark):
            for _, item in reachable(self.new_environment(benchmark, task)):
                assert not isinstance(item, SynLedger | GeneratedTask | Task | Document)

    def test_validation_looks_at_what_the_tools_show(self, benchmark: SynLedger) -> None:
        for task in self.some_tasks(benchmark):
            for variant in ("released", "neutral"):
                shown = {document: windows[0] for document, windows in sights(benchmark, task, variant).items()}
                assert first_sight(benchmark, task, variant) == shown


class TestSynLedger(LedgerConformance):
    @pytest.fixture
    def benchmark(self, ledger: SynLedger) -> SynLedger:
        return ledger


class TestSynLedgerWithOtherFeatures(LedgerConformance):
    @pytest.fixture
    def benchmark(self, other_ledger: SynLedger) -> SynLedger:
        return other_ledger
