"""Syn-Ledger keeps the contract of a benchmark, whatever is planted in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.contents import Document, Task
from chase.benchmarks.syn_ledger.generator import GeneratedTask
from chase.benchmarks.syn_ledger.validation.neutrality import first_sight
from chase.core.interfaces import HasTaskLabels
from chase.core.values import Sighting
from chase.engine.prompting import fits
from chase.harness.folder import initial_harness
from chase.harness.limits import check_for_benchmark
from chase.testing.benchmark_suite import BenchmarkConformance, Call
from chase.testing.object_graph import reachable
from tests.benchmarks.syn_ledger.agent import sights

pytestmark = pytest.mark.slow


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

    def sights(self, benchmark: Any, task: str, variant: str) -> Mapping[str, Sequence[Sighting]]:
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

    def test_the_interface_names_tools_and_arguments_that_there_are(self, benchmark: SynLedger) -> None:
        environment = self.new_environment(benchmark)
        assert environment.interface == benchmark.interface
        assert tuple(environment.tools) == tuple(benchmark.tools)
        search, opener, listing = benchmark.interface.search, benchmark.interface.open, benchmark.interface.listing
        assert search is not None
        assert opener is not None
        properties = {tool.name: tool.parameters["properties"] for tool in benchmark.tools}
        required = {tool.name: tool.parameters["required"] for tool in benchmark.tools}
        assert {search.query, search.limit} <= set(properties[search.tool])
        assert required[search.tool] == [search.query]
        assert required[opener.tool] == [opener.document]
        assert listing is None or required[listing] == []

    def test_an_opening_says_how_to_read_on_until_there_is_nothing_more(self, benchmark: SynLedger) -> None:
        for task in self.some_tasks(benchmark)[:4]:
            document = benchmark.task(task).documents[0].id
            environment = self.new_environment(benchmark, task)
            first = environment.call("open_file", {"file": document})
            assert first.reads_on is not None
            second = environment.call("open_file", first.reads_on)
            assert [result.items[0].shown.window for result in (first, second)] == [0, 1]
            assert second.reads_on is None

    def test_a_refusal_is_not_counted(self, benchmark: SynLedger) -> None:
        environment = self.new_environment(benchmark)
        before = dict(environment.calls_left())
        refusal = environment.refusal("Not now.")
        assert (refusal.ok, refusal.text, refusal.items) == (False, "Not now.", ())
        assert environment.calls_left() == before

    def test_the_initial_harness_fits(self, benchmark: SynLedger) -> None:
        harness = initial_harness(benchmark)
        check_for_benchmark(harness, benchmark)
        assert harness.structure.benchmark == benchmark.base

    def test_slots_are_the_placeholders_and_the_right_answer_has_the_form(self, benchmark: SynLedger) -> None:
        for task in self.some_tasks(benchmark):
            assert set(benchmark.slots(benchmark.task(task).question)) == set(benchmark.placeholders)
            assert fits(self.answer(benchmark, task), benchmark.answer_form)
        assert all(re.fullmatch("[a-z_]+", name) for name in benchmark.placeholders)

    def test_the_roles_are_the_papers_and_certification_is_sealed(self, benchmark: SynLedger) -> None:
        assert tuple(benchmark.roles) == ("evo", "disc", "conf1", "conf2", "conf3", "cert")
        assert benchmark.sealed == {"cert"}

    def test_a_task_has_a_plain_id_and_its_family_for_a_label(self, benchmark: SynLedger) -> None:
        assert isinstance(benchmark, HasTaskLabels)
        assert all(re.fullmatch("[a-z]+", task) for task in benchmark.tasks())
        labels = [benchmark.task_labels(task) for task in benchmark.tasks()]
        assert all(set(label) == {"family"} for label in labels)
        families = {label["family"] for label in labels}
        assert families <= {family.name for family in benchmark.spec.contents.families}
        assert len(families) > 1

    def test_fewer_tasks_are_some_of_the_same_and_so_is_what_is_checked(self, benchmark: SynLedger) -> None:
        few = benchmark.fewer({"evo": 2, "disc": 1})
        assert {role: len(few.tasks(role)) for role in ("evo", "disc")} == {"evo": 2, "disc": 1}
        assert all(set(few.tasks(role)) <= set(benchmark.tasks(role)) for role in few.roles)
        assert few.tasks("cert") == benchmark.tasks("cert")
        assert (few.content_hash, few.name) == (benchmark.content_hash, benchmark.name)
        assert sorted(few.subject.check_tasks) == sorted([*few.tasks("evo"), *few.tasks("disc")])
        assert benchmark.subject is benchmark.subject
        assert len(benchmark.subject.check_tasks) == len(benchmark.tasks("evo")) + len(benchmark.tasks("disc"))

    def test_the_subject_shows_what_the_benchmark_shows(self, benchmark: SynLedger) -> None:
        subject = benchmark.fewer({"evo": 2, "disc": 1}).subject
        assert subject.shared == ()
        for task in subject.check_tasks:
            presented = subject.released(task)
            assert presented.question == benchmark.task(task).question
            assert presented.answer == subject.answer(task) == benchmark.task(task).answer
            assert set(presented.contents) == {document.id for document in benchmark.task(task).documents}
            assert subject.released(task) is presented
            assert not subject.newly_shown(task, presented, presented)
            told = replace(presented, tokens=presented.tokens | {subject.answer(task)})
            assert subject.newly_shown(task, presented, told)
            assert not subject.newly_shown(task, told, told)

    def test_sightings_are_first_windows_with_their_places(self, benchmark: SynLedger) -> None:
        task, released = self.some_tasks(benchmark)[0], benchmark.variant("released")
        found = benchmark.sightings(task, released)
        assert {shown.id for shown in found} == {file.id for file in benchmark.view(task, released).files}
        for places in ([shown.listing for shown in found], [shown.hit for shown in found]):
            assert sorted(place for place in places if place is not None) == list(range(len(found)))
        for shown in found:
            assert shown.window == 0
            pieces = benchmark.pieces(shown)
            assert pieces
            assert all(piece in (shown.text or "") for piece in pieces)


class TestSynLedger(LedgerConformance):
    @pytest.fixture
    def benchmark(self, ledger: SynLedger) -> SynLedger:
        return ledger

    def test_every_family_has_tasks_and_there_are_five(self, benchmark: SynLedger) -> None:
        assert {benchmark.task_labels(task)["family"] for task in benchmark.tasks()} == {
            "period-difference",
            "combined-total",
            "net-balance",
            "integer-share",
            "reconciliation-gap",
        }


class TestSynLedgerWithOtherFeatures(LedgerConformance):
    @pytest.fixture
    def benchmark(self, other_ledger: SynLedger) -> SynLedger:
        return other_ledger


def test_fewer_tasks_of_a_cut_benchmark_are_at_most_those_that_it_has(ledger: SynLedger) -> None:
    cut = ledger.fewer({"evo": 6, "disc": 4})
    assert cut.fewer({}).tasks("evo") == cut.tasks("evo")
    again = cut.fewer({"evo": 9, "conf1": 2})
    assert (len(again.tasks("evo")), len(again.tasks("disc")), len(again.tasks("conf1"))) == (6, 4, 2)
