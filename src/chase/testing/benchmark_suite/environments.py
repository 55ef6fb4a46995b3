"""Environments: tools within their limits, under the names of every variant, and nothing that is the host's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chase.benchmarks.task_sets import clusters_of
from chase.core.interfaces import Environment
from chase.core.values import ToolResult
from chase.testing.benchmark_suite.hooks import (
    ANY_ARGUMENTS,
    ANY_JSON,
    FUZZING,
    HUGE,
    LONGEST_REFUSAL,
    TEXTS,
    AnyBenchmark,
    BenchmarkHooks,
)
from chase.testing.object_graph import reachable


class EnvironmentTests(BenchmarkHooks):
    """One task under one variant."""

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
        """Whatever the tools are called: what they are called is all that may differ."""
        for variant in benchmark.variants():
            environment = self.new_environment(benchmark, variant=variant)
            limits = environment.limits
            if environment.interface == benchmark.interface:
                assert tuple(environment.tools) == tuple(benchmark.tools)
                assert limits == benchmark.limits
            assert len(environment.tools) == len(benchmark.tools)
            assert replace(limits, tool_groups={}) == replace(benchmark.limits, tool_groups={})
            assert sorted(limits.tool_groups.values()) == sorted(benchmark.limits.tool_groups.values())
            assert set(environment.calls_left()) == {*benchmark.limits.group_calls, "total"}

    def test_interfaces_name_tools_that_there_are(self, benchmark: AnyBenchmark) -> None:
        for variant in benchmark.variants():
            environment = self.new_environment(benchmark, variant=variant)
            arguments = {spec.name: spec.parameters["properties"] for spec in environment.tools}
            assert len(arguments) == len(environment.tools), f"two tools of one name under {variant}"
            assert arguments.keys() <= environment.limits.tool_groups.keys()
            assert set(environment.limits.tool_groups.values()) <= set(environment.limits.group_calls)
            search, opener, listing = (getattr(environment.interface, name) for name in ("search", "open", "listing"))
            if search is not None:
                assert {search.query, search.limit} - {None} <= arguments[search.tool].keys()
            if opener is not None:
                assert opener.document in arguments[opener.tool]
                assert opener.unit.isalpha()
            if listing is not None:
                assert environment.call(listing, {}).ok

    def test_a_tools_released_name_is_refused_where_it_has_another(self, benchmark: AnyBenchmark) -> None:
        task = benchmark.tasks()[0]
        for variant in benchmark.variants():
            environment = self.new_environment(benchmark, task, variant)
            names = {spec.name for spec in environment.tools}
            for tool, arguments in self.calls(benchmark, task):
                assert tool in names or not environment.call(tool, arguments).ok

    @FUZZING
    @given(data=st.data())
    def test_rubbish_calls_never_raise_and_are_counted(self, benchmark: AnyBenchmark, data: st.DataObject) -> None:
        environment = self.new_environment(benchmark)
        names = st.sampled_from([spec.name for spec in environment.tools])
        for made in range(1, data.draw(st.integers(1, 15)) + 1):
            tool = data.draw(names | TEXTS | HUGE)
            result = environment.call(tool, data.draw(self._rubbish(environment, tool)))
            self._check_result(result)
            assert environment.calls_left()["total"] == max(0, environment.limits.total_calls - made)

    def _rubbish(self, environment: Environment, tool: str) -> st.SearchStrategy[Any]:
        """Arguments of any kind, and the tool's own with values of any kind."""
        own = [name for spec in environment.tools if spec.name == tool for name in spec.parameters["properties"]]
        return ANY_ARGUMENTS | st.fixed_dictionaries(dict.fromkeys(own, ANY_JSON))

    def _check_result(self, result: ToolResult) -> None:
        assert isinstance(result.text, str)
        result.text.encode()  # a trace can be stored
        assert result.ok or len(result.text) <= LONGEST_REFUSAL

    @FUZZING
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

    def test_no_cluster_is_named_to_an_agent(self, benchmark: AnyBenchmark) -> None:
        clusters = clusters_of(benchmark)
        for task in [task for task in self.some_tasks(benchmark) if task in clusters]:
            view = benchmark.view(task, benchmark.variant("released"))
            shown = [view.task, view.question, *(name for file in view.files for name in (file.id, file.path))]
            held = [value for _, value in self._held(benchmark, task) if isinstance(value, str)]
            assert not [text for text in [*shown, *held] if clusters[task] in text], (
                f"{task}: {clusters[task]} is shown"
            )

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
