"""Task sets, variants and views."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from chase.benchmarks.task_sets import clusters_of
from chase.core.errors import UserError
from chase.protocol.transformation import OperatorList
from chase.testing.benchmark_suite.hooks import AnyBenchmark, BenchmarkHooks


class TaskSetTests(BenchmarkHooks):
    """What the benchmark holds, and what is shown of it."""

    def test_roles_partition_the_tasks(self, benchmark: AnyBenchmark) -> None:
        sets = {role: list(benchmark.tasks(role)) for role in benchmark.roles}
        assert all(sets.values()), "a role without tasks"
        assert sorted(task for tasks in sets.values() for task in tasks) == sorted(benchmark.tasks())
        assert len(set(benchmark.tasks())) == len(benchmark.tasks())
        assert all(benchmark.role_of(task) == role for role, tasks in sets.items() for task in tasks)

    def test_suggested_rollouts_name_the_roles(self, benchmark: AnyBenchmark) -> None:
        assert set(benchmark.defaults.rollouts) <= set(benchmark.roles)
        assert all(count > 0 for count in benchmark.defaults.rollouts.values())

    def test_sealed_roles_are_roles(self, benchmark: AnyBenchmark) -> None:
        assert benchmark.sealed < set(benchmark.roles), "a role that is none, or none that is open"

    def test_fewer_tasks_are_some_of_the_same(self, benchmark: AnyBenchmark) -> None:
        before = {role: list(benchmark.tasks(role)) for role in benchmark.roles}
        sizes = dict.fromkeys(list(benchmark.roles)[::2], 2)
        fewer = benchmark.fewer(sizes)
        assert fewer.content_hash == benchmark.content_hash
        assert (fewer.name, fewer.base) == (benchmark.name, benchmark.base)
        for role, tasks in before.items():
            kept = list(fewer.tasks(role))
            assert set(kept) <= set(tasks)
            assert len(kept) == min(len(tasks), sizes.get(role, len(tasks)))
            assert kept == list(benchmark.fewer({role: len(kept)}).tasks(role))
            assert all(fewer.role_of(task) == role for task in kept)
            assert list(benchmark.tasks(role)) == tasks, "the whole benchmark was cut, too"
        used = {task for role in benchmark.roles for task in fewer.tasks(role)}
        assert set(fewer.subject.check_tasks) <= used

    def test_clusters_are_of_tasks_and_no_cut_changes_them(self, benchmark: AnyBenchmark) -> None:
        found = dict(clusters_of(benchmark))
        assert found.keys() <= set(benchmark.tasks())
        assert found == dict(clusters_of(self.rebuild(benchmark)))
        assert found == dict(clusters_of(benchmark.fewer(dict.fromkeys(benchmark.roles, 1))))
        assert min(Counter(found.values()).values(), default=2) > 1, "a cluster of one task needs no name"

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

    # Construction

    @pytest.mark.slow
    def test_validation_passes(self, benchmark: AnyBenchmark) -> None:
        heard: list[str] = []
        results = benchmark.validate(heard.append)
        assert results
        assert heard
        assert {result.name: result.failures for result in results if not result.passed} == {}
