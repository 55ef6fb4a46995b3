"""The contract of `chase.core.interfaces.Benchmark` as tests. A new benchmark gets them all by subclassing.

    class TestMyBenchmark(BenchmarkConformance):
        @pytest.fixture
        def benchmark(self): return open_my_benchmark("mine@7")  # cached: it is asked for by every test
        def answer(self, benchmark, task): ...
        def secrets(self, benchmark, task): ...
        def calls(self, benchmark, task): ...
        def sights(self, benchmark, task, variant): ...

It needs the `test` extra (pytest, Hypothesis).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chase.benchmarks.registry import open_benchmark
from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, Environment
from chase.core.values import Json, Shown, ToolResult
from chase.protocol.transformation import OperatorList
from chase.testing.object_graph import reachable

Call = tuple[str, Mapping[str, Json]]
AnyBenchmark = Benchmark[Any]

_fuzzing = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[
        HealthCheck.differing_executors,
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)
_texts = st.text(st.characters(codec=None), max_size=40)
_huge = st.sampled_from(["9" * 5000, "(" * 5000, "a b " * 50_000, "\x00", "\ud800", "../" * 400, "__import__('os')"])
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _texts | _huge,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_arguments = st.dictionaries(_texts | _huge, _json, max_size=3) | _json
LONGEST_REFUSAL = 2000
"""Characters of a message that refuses a call, whatever the call held."""


class BenchmarkConformance:
    """Subclass it, give the `benchmark` fixture and the four host-side hooks."""

    sample = 12
    """Tasks looked at where looking at all would take long."""
    fewest_observables = 15
    across_windows: frozenset[str] = frozenset({"window"})
    """Observables that tell windows of one document apart rather than documents."""
    neutralised = "neutral"
    """The variant without the planted features; 'released' where nothing is known to be planted."""

    @pytest.fixture
    def benchmark(self) -> AnyBenchmark:
        raise NotImplementedError("give a `benchmark` fixture")

    def answer(self, benchmark: AnyBenchmark, task: str) -> str:
        """The right answer of a task."""
        raise NotImplementedError

    def secrets(self, benchmark: AnyBenchmark, task: str) -> Iterable[object]:
        """Host-side objects, and labels in text, that no environment of the task may reach."""
        raise NotImplementedError

    def calls(self, benchmark: AnyBenchmark, task: str) -> Sequence[Call]:
        """Good calls within the limits, of every tool at least one."""
        raise NotImplementedError

    def sights(self, benchmark: AnyBenchmark, task: str, variant: str) -> Mapping[str, Sequence[Shown]]:
        """Each document's windows as the tools show them, with its places in listing and broad search."""
        raise NotImplementedError

    def rebuild(self, benchmark: AnyBenchmark) -> AnyBenchmark:
        """The same benchmark, made anew."""
        return open_benchmark(benchmark.name)

    def some_tasks(self, benchmark: AnyBenchmark) -> Sequence[str]:
        tasks = benchmark.tasks()
        return tasks[:: max(1, len(tasks) // self.sample)][: self.sample]

    # Task sets

    def test_roles_partition_the_tasks(self, benchmark: AnyBenchmark) -> None:
        sets = {role: list(benchmark.tasks(role)) for role in benchmark.roles}
        assert all(sets.values()), "a role without tasks"
        assert sorted(task for tasks in sets.values() for task in tasks) == sorted(benchmark.tasks())
        assert len(set(benchmark.tasks())) == len(benchmark.tasks())
        assert all(benchmark.role_of(task) == role for role, tasks in sets.items() for task in tasks)

    def test_suggested_rollouts_name_the_roles(self, benchmark: AnyBenchmark) -> None:
        assert set(benchmark.defaults.rollouts) <= set(benchmark.roles)
        assert all(count > 0 for count in benchmark.defaults.rollouts.values())

    # Variants and views

    def test_views_are_deterministic(self, benchmark: AnyBenchmark) -> None:
        again = self.rebuild(benchmark)
        assert again.content_hash == benchmark.content_hash
        for task in self.some_tasks(benchmark)[:4]:
            for variant in benchmark.variants():
                seen = benchmark.view(task, benchmark.variant(variant))
                assert seen == benchmark.view(task, benchmark.variant(variant))
                assert seen == again.view(task, again.variant(variant))

    def test_content_hash_is_stable(self, benchmark: AnyBenchmark) -> None:
        before = benchmark.content_hash
        task = benchmark.tasks()[0]
        benchmark.view(task, benchmark.variant("released"))
        benchmark.environment(task, benchmark.variant("released"))
        benchmark.score(task, "0")
        assert benchmark.content_hash == before
        assert len(before) == 64

    def test_identity_is_the_released_benchmark(self, benchmark: AnyBenchmark) -> None:
        identity: OperatorList[Any] = OperatorList()
        released = benchmark.variant("released")
        assert released.hash == identity.hash
        for task in self.some_tasks(benchmark):
            assert benchmark.view(task, identity) == benchmark.view(task, released)

    def test_variants_have_one_hash_each(self, benchmark: AnyBenchmark) -> None:
        hashes = [benchmark.variant(name).hash for name in benchmark.variants()]
        assert len(set(hashes)) == len(hashes)
        assert hashes == [benchmark.variant(name).hash for name in benchmark.variants()]

    def test_every_variant_shows_the_same_documents_and_question(self, benchmark: AnyBenchmark) -> None:
        for task in self.some_tasks(benchmark):
            released = benchmark.view(task, benchmark.variant("released"))
            for variant in benchmark.variants():
                seen = benchmark.view(task, benchmark.variant(variant))
                assert (seen.task, seen.question) == (task, released.question)
                assert sorted(file.id for file in seen.files) == sorted(file.id for file in released.files)
                assert len({file.path for file in seen.files}) == len(seen.files), f"a path twice under {variant}"

    def test_unknown_names_are_refused_with_the_valid_choices(self, benchmark: AnyBenchmark) -> None:
        released = benchmark.variant("released")
        for refused in (
            lambda: benchmark.role_of("nonsense"),
            lambda: benchmark.view("nonsense", released),
            lambda: benchmark.environment("nonsense", released),
            lambda: benchmark.score("nonsense", "1"),
        ):
            with pytest.raises(UserError, match="nonsense") as task_error:
                refused()
            assert any(task in str(task_error.value) for task in benchmark.tasks())
        with pytest.raises(UserError, match="nonsense") as role_error:
            benchmark.tasks("nonsense")
        assert all(role in str(role_error.value) for role in benchmark.roles)
        with pytest.raises(UserError, match="nonsense") as variant_error:
            benchmark.variant("nonsense")
        assert all(variant in str(variant_error.value) for variant in benchmark.variants()[:20])

    # Environments

    def new_environment(self, benchmark: AnyBenchmark, task: str | None = None) -> Environment:
        return benchmark.environment(task or benchmark.tasks()[0], benchmark.variant("released"))

    def test_good_calls_are_answered(self, benchmark: AnyBenchmark) -> None:
        for task in self.some_tasks(benchmark):
            environment = self.new_environment(benchmark, task)
            calls = self.calls(benchmark, task)
            assert {tool for tool, _ in calls} == {spec.name for spec in environment.tools}
            assert all(environment.call(tool, arguments).ok for tool, arguments in calls)

    def test_environments_follow_from_their_calls(self, benchmark: AnyBenchmark) -> None:
        for task in self.some_tasks(benchmark):
            first, second = self.new_environment(benchmark, task), self.new_environment(benchmark, task)
            for tool, arguments in self.calls(benchmark, task):
                assert first.call(tool, arguments) == second.call(tool, arguments)
                assert first.calls_left() == second.calls_left()

    def test_environments_have_the_benchmarks_tools_and_limits(self, benchmark: AnyBenchmark) -> None:
        for variant in benchmark.variants():
            environment = benchmark.environment(benchmark.tasks()[0], benchmark.variant(variant))
            assert tuple(environment.tools) == tuple(benchmark.tools)
            assert environment.limits == benchmark.limits
            assert set(environment.calls_left()) == {*benchmark.limits.group_calls, "total"}

    @_fuzzing
    @given(data=st.data())
    def test_rubbish_calls_never_raise_and_are_counted(self, benchmark: AnyBenchmark, data: st.DataObject) -> None:
        environment = self.new_environment(benchmark)
        names = st.sampled_from([spec.name for spec in environment.tools])
        for made in range(1, data.draw(st.integers(1, 15)) + 1):
            tool = data.draw(names | _texts | _huge)
            result = environment.call(tool, data.draw(self._rubbish(environment, tool)))
            self._check_result(result)
            assert environment.calls_left()["total"] == max(0, environment.limits.total_calls - made)

    def _rubbish(self, environment: Environment, tool: str) -> st.SearchStrategy[Any]:
        """Arguments of any kind, and the tool's own with values of any kind."""
        own = [name for spec in environment.tools if spec.name == tool for name in spec.parameters["properties"]]
        return _arguments | st.fixed_dictionaries(dict.fromkeys(own, _json))

    def _check_result(self, result: ToolResult) -> None:
        assert isinstance(result.text, str)
        result.text.encode()  # a trace can be stored
        assert result.ok or len(result.text) <= LONGEST_REFUSAL

    @_fuzzing
    @given(data=st.data())
    def test_budgets_bound_every_group_and_the_total(self, benchmark: AnyBenchmark, data: st.DataObject) -> None:
        environment = self.new_environment(benchmark)
        limits = environment.limits
        calls = [*self.calls(benchmark, benchmark.tasks()[0]), ("no-such-tool", {})]
        used = dict.fromkeys([*limits.group_calls, "total"], 0)
        for tool, arguments in data.draw(st.lists(st.sampled_from(calls), min_size=8, max_size=20)):
            group = limits.tool_groups.get(tool)
            spent = used["total"] >= limits.total_calls or (group and used[group] >= limits.group_calls[group])
            result = environment.call(tool, arguments)
            assert not (spent and result.ok), f"{tool} was answered over budget"
            for name in [*([group] if group else []), "total"]:
                used[name] += 1
            most = {**limits.group_calls, "total": limits.total_calls}
            assert environment.calls_left() == {name: max(0, most[name] - used[name]) for name in most}

    def test_environments_hold_no_answer_label_or_role(self, benchmark: AnyBenchmark) -> None:
        held = {task: list(self._held(benchmark, task)) for task in self.some_tasks(benchmark)}
        common = set.intersection(*({value for _, value in values} for values in held.values()))
        for task, values in held.items():
            labels = {*benchmark.roles, *(s for s in self.secrets(benchmark, task) if isinstance(s, str))}
            answer = self.answer(benchmark, task)
            for way, value in values:
                assert value not in labels, f"{task}: {way} is the label {value!r}"
                assert str(value) != answer or value in common, f"{task}: {way} is the answer"

    def _held(self, benchmark: AnyBenchmark, task: str) -> Iterator[tuple[str, str | int | float]]:
        """The texts and numbers reachable from an environment that was used and from what it answered.

        No host-side object may be on the way to them.
        """
        environment = self.new_environment(benchmark, task)
        results = [environment.call(tool, arguments) for tool, arguments in self.calls(benchmark, task)]
        hosts = {id(secret) for secret in (benchmark, *self.secrets(benchmark, task)) if not isinstance(secret, str)}
        for way, item in reachable((environment, results)):
            assert id(item) not in hosts, f"{task}: {way} is a host-side {type(item).__name__}"
            if isinstance(item, str | int | float) and not isinstance(item, bool):
                yield way, item

    # Question, score

    def test_slots_are_read_from_the_question_alone(self, benchmark: AnyBenchmark) -> None:
        for task in self.some_tasks(benchmark):
            question = benchmark.view(task, benchmark.variant("released")).question
            slots = benchmark.slots(question)
            assert all(value in question for values in slots.values() for value in values)
            assert any(slots.values())
            assert slots == benchmark.slots(question)

    @_fuzzing
    @given(question=_texts)
    def test_slots_take_any_text(self, benchmark: AnyBenchmark, question: str) -> None:
        slots = benchmark.slots(question)
        assert all(value in question for values in slots.values() for value in values)

    def test_the_right_answer_scores_one_and_none_zero(self, benchmark: AnyBenchmark) -> None:
        for task in benchmark.tasks():
            assert benchmark.score(task, self.answer(benchmark, task)) == 1.0
            assert benchmark.score(task, None) == 0.0
            assert benchmark.score(task, "") == 0.0

    @_fuzzing
    @given(output=_texts | _huge | st.integers().map(str))
    def test_scores_are_fractions(self, benchmark: AnyBenchmark, output: str) -> None:
        assert 0.0 <= benchmark.score(benchmark.tasks()[0], output) <= 1.0

    # Observables

    def test_observables_are_many_and_have_one_name_each(self, benchmark: AnyBenchmark) -> None:
        names = [observable.name for observable in benchmark.observables]
        assert len(set(names)) == len(names) >= self.fewest_observables
        assert all(observable.description for observable in benchmark.observables)

    @_fuzzing
    @given(path=_texts | _huge, text=st.none() | _texts | _huge)
    def test_observables_never_raise(self, benchmark: AnyBenchmark, path: str, text: str | None) -> None:
        for shown in (Shown(id="", path=path, text=text), Shown(id=path, path=path, text=text, window=1, hit=2)):
            for observable in benchmark.observables:
                value = observable(shown)
                assert value is None or math.isfinite(value)
                assert value == observable(shown)

    def test_observables_vary_within_most_tasks(self, benchmark: AnyBenchmark) -> None:
        tasks = self.some_tasks(benchmark)
        sights = [self.sights(benchmark, task, "released") for task in tasks]
        for observable in benchmark.observables:
            if observable.name in self.across_windows:
                varied = [len({observable(s) for s in windows}) > 1 for seen in sights for windows in seen.values()]
            else:
                varied = [len({observable(windows[0]) for windows in seen.values()}) > 1 for seen in sights]
            assert sum(varied) > len(varied) / 2, f"{observable.name} hardly varies"

    def test_most_observables_are_not_planted(self, benchmark: AnyBenchmark) -> None:
        """Planted is what the neutralised variant moves."""
        moved: set[str] = set()
        for task in self.some_tasks(benchmark):
            before, after = (self.sights(benchmark, task, v) for v in ("released", self.neutralised))
            for observable in benchmark.observables:
                if any(observable(windows[0]) != observable(after[id_][0]) for id_, windows in before.items()):
                    moved.add(observable.name)
        assert len(moved) < len(benchmark.observables) / 2, f"moved: {sorted(moved)}"

    # Construction

    @pytest.mark.slow
    def test_validation_passes(self, benchmark: AnyBenchmark) -> None:
        heard: list[str] = []
        results = benchmark.validate(heard.append)
        assert results
        assert heard
        assert {result.name: result.failures for result in results if not result.passed} == {}
