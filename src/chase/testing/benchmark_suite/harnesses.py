"""What a harness for the benchmark works with: placeholders, answer form, bounds, `H_0`; and the scorer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.core.errors import UserError
from chase.core.values import Json
from chase.engine.policy import expand
from chase.harness.folder import initial_harness
from chase.harness.limits import check_for_benchmark, opening_calls
from chase.harness.spec import Harness
from chase.methods.gate import Known, Scan, leaks
from chase.testing.benchmark_suite.hooks import FUZZING, HUGE, TEXTS, AnyBenchmark, BenchmarkHooks


class HarnessTests(BenchmarkHooks):
    """The benchmark's terms."""

    def test_slots_are_read_from_the_question_alone(self, benchmark: AnyBenchmark) -> None:
        for task in self.some_tasks(benchmark):
            question = benchmark.view(task, benchmark.variant("released")).question
            slots = benchmark.slots(question)
            assert all(value in question for values in slots.values() for value in values)
            assert any(slots.values())
            assert slots == benchmark.slots(question)

    @FUZZING
    @given(question=TEXTS)
    def test_slots_take_any_text(self, benchmark: AnyBenchmark, question: str) -> None:
        slots = benchmark.slots(question)
        assert all(value in question for values in slots.values() for value in values)

    def test_the_right_answer_scores_one_and_none_zero(self, benchmark: AnyBenchmark) -> None:
        for task in benchmark.tasks():
            assert benchmark.score(task, self.answer(benchmark, task)) == 1.0
            assert benchmark.score(task, None) == 0.0
            assert benchmark.score(task, "") == 0.0

    @FUZZING
    @given(output=TEXTS | HUGE | st.integers().map(str))
    def test_scores_are_fractions(self, benchmark: AnyBenchmark, output: str) -> None:
        assert 0.0 <= benchmark.score(benchmark.tasks()[0], output) <= 1.0

    # Terms

    def test_answers_have_the_answer_form(self, benchmark: AnyBenchmark) -> None:
        form = benchmark.answer_form
        assert all((form.name, form.instruction, form.repair))
        pattern = re.compile(form.pattern, re.DOTALL)
        assert pattern.fullmatch("") is None
        for task in benchmark.tasks():
            assert pattern.fullmatch(self.answer(benchmark, task)), f"{task}: its answer does not fit its form"

    def test_placeholders_are_what_questions_give(self, benchmark: AnyBenchmark) -> None:
        given_by: set[str] = set()
        for name, placeholder in benchmark.placeholders.items():
            assert re.fullmatch("[a-z_]+", name)
            assert placeholder.description
        for task in self.some_tasks(benchmark):
            slots = benchmark.slots(benchmark.view(task, benchmark.variant("released")).question)
            assert set(slots) == set(benchmark.placeholders)
            for name, values in slots.items():
                queries = expand(f"{{{name}}}", slots, benchmark.placeholders)
                assert queries == list(values[: None if benchmark.placeholders[name].each else 1])
                given_by |= {name} if values else set()
        assert given_by == set(benchmark.placeholders), "a placeholder that no question fills"

    def test_the_initial_harness_fits(self, benchmark: AnyBenchmark) -> None:
        check_for_benchmark(initial_harness(benchmark), benchmark)

    # What the generalization gate is told

    def test_the_gate_knows_every_task_as_it_is(self, benchmark: AnyBenchmark) -> None:
        facts = benchmark.gate
        assert facts is benchmark.gate
        assert {t.id: t.role for t in facts.tasks} == {task: benchmark.role_of(task) for task in benchmark.tasks()}
        known = {task.id: task for task in facts.tasks}
        for task in self.some_tasks(benchmark):
            assert known[task].question == benchmark.view(task, benchmark.variant("released")).question
            assert benchmark.score(task, known[task].answer) == 1.0
        assert set(benchmark.roles) <= set(facts.labels), "roles that a harness could name"

    def test_the_initial_harness_passes_the_gate(self, benchmark: AnyBenchmark) -> None:
        assert leaks(Scan(initial_harness(benchmark)), Known.of(benchmark.gate, ("evo",))) == []

    def test_the_contract_gives_no_task_away(self, benchmark: AnyBenchmark) -> None:
        known = Known.of(benchmark.gate, ("evo",))
        for phrases in (known.identifiers, known.sources, known.questions, known.withheld_strings, known.long_names):
            assert phrases.within(benchmark.gate.realisation) == []

    def test_a_harness_may_go_to_its_bounds_and_no_further(self, benchmark: AnyBenchmark) -> None:
        bounds, opens = benchmark.bounds, opening_calls(benchmark)
        template = f"{{{next(iter(benchmark.placeholders))}}}"
        most: Mapping[str, tuple[str, int]] = {
            "opened_files": ("tools", bounds.opened),
            "open_first": ("tools", min(opens, bounds.opened)),
            "reserved_reads": ("tools", min(opens, bounds.reserved_reads)),
            "templates": ("retrieval", bounds.templates),
            "results": ("retrieval", bounds.results),
            "relax_below": ("retrieval", bounds.results),
        }
        for field, (table, bound) in most.items():
            for value in (bound, bound + 1):
                given_value: Json = [template] * value if field == "templates" else value
                harness = _with(benchmark, table, field, given_value)
                if value > bound:
                    with pytest.raises(UserError, match="at most"):
                        check_for_benchmark(harness, benchmark)
                elif field != "results":  # a search tool may show fewer than the bound
                    check_for_benchmark(harness, benchmark)


def _with(benchmark: AnyBenchmark, table: str, field: str, value: Json) -> Harness:
    """`H_0` with one field set."""
    harness = initial_harness(benchmark)
    data = harness.structure.model_dump(by_alias=True)
    data[table][field] = value
    return replace(harness, structure=type(harness.structure).model_validate(data))
