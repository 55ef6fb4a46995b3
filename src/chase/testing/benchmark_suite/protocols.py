"""The protocol: what operators may change, what the firewall examines, what can be seen of each document."""

from __future__ import annotations

from typing import Any

from chase.core.interfaces import Transformation
from chase.protocol.proposal import Proposal, parse_for
from chase.protocol.transformation import OperatorList
from chase.testing.benchmark_suite.hooks import AnyBenchmark, BenchmarkHooks


class ProtocolTests(BenchmarkHooks):
    """Variants on the host's side."""

    def test_the_neutral_variant_is_one_of_the_variants(self, benchmark: AnyBenchmark) -> None:
        assert benchmark.neutral is None or benchmark.neutral in benchmark.variants()

    def test_operators_are_finite_choices_and_change_declared_fields(self, benchmark: AnyBenchmark) -> None:
        assert benchmark.allowlist
        for name, kind in benchmark.allowlist.items():
            assert kind.name == name
            assert kind.summary
            forms = kind.forms()
            assert forms
            said = [operator.in_words for operator in forms]
            assert len(set(said)) == len(said), "each operator in words of its own"
            assert all(words and words.isprintable() and name not in words.split() for words in said)
            for operator in forms:
                assert operator.fields
                assert operator.fields <= benchmark.protocol_fields
                form = {"name": name, "arguments": dict(operator.arguments)}
                proposal = parse_for(benchmark, {"benchmark": benchmark.base, "operators": [form]})
                assert proposal.declared == operator.fields

    def test_every_document_is_sighted_once_under_every_variant(self, benchmark: AnyBenchmark) -> None:
        for task in self.some_tasks(benchmark)[:3]:
            for variant in benchmark.variants():
                transformation = benchmark.variant(variant)
                seen = [(shown.id, shown.path) for shown in benchmark.sightings(task, transformation)]
                files = benchmark.view(task, transformation).files
                shown = {(file.id, file.path) for file in files}
                assert set(seen) == shown if self.every_document_sighted else set(seen) < shown
                assert len(set(seen)) == len(seen) > 0

    def test_sightings_are_what_the_tools_show(self, benchmark: AnyBenchmark) -> None:
        for task in self.some_tasks(benchmark)[:3]:
            seen = self.sights(benchmark, task, "released")
            found = {shown.id: shown for shown in benchmark.sightings(task, benchmark.variant("released"))}
            assert found == {document: windows[0] for document, windows in seen.items()}

    def test_every_variant_gives_the_same_access(self, benchmark: AnyBenchmark) -> None:
        """As the firewall sees it: tools under canonical names, limits, documents."""
        subject = benchmark.subject
        for unit in (*subject.shared, *subject.check_tasks[:2]):
            for variant in benchmark.variants():
                changed = _lifted(benchmark, benchmark.variant(variant)).apply(subject.state(unit))
                assert subject.present(changed).access == subject.released(unit).access, f"{unit} under {variant}"

    def test_the_firewall_sees_no_sealed_task(self, benchmark: AnyBenchmark) -> None:
        subject = benchmark.subject
        assert subject is benchmark.subject
        assert subject.check_tasks
        assert not {benchmark.role_of(task) for task in subject.check_tasks} & benchmark.sealed
        assert not set(subject.shared) & set(benchmark.tasks())
        assert all(subject.answer(unit) is None for unit in subject.shared)

    def test_the_firewall_presents_what_is_released(self, benchmark: AnyBenchmark) -> None:
        subject = benchmark.subject
        for unit in (*subject.shared, *subject.check_tasks):
            released = subject.released(unit)
            assert released == subject.present(subject.state(unit))
            assert released.answer == subject.answer(unit)
            assert all(held is not None for held in released.contents.values())
            fields = {name for held in released.protocol.values() for name in held}
            assert fields <= benchmark.protocol_fields


def _lifted(benchmark: AnyBenchmark, transformation: Transformation[Any]) -> OperatorList[Any]:
    """A variant on the states that the firewall examines."""
    assert isinstance(transformation, OperatorList)
    declared = transformation.declared
    proposal = Proposal(benchmark=benchmark.base, transformation=transformation, declared=declared)
    return proposal.lifted(benchmark.subject).transformation
