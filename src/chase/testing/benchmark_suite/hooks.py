"""What a subclass of the suite gives, and what its tests share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from chase.benchmarks.registry import open_benchmark
from chase.core.interfaces import Benchmark, Environment
from chase.core.values import Json, Sighting

Call = tuple[str, Mapping[str, Json]]
AnyBenchmark = Benchmark[Any]

FUZZING = settings(
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
TEXTS = st.text(st.characters(codec=None), max_size=40)
HUGE = st.sampled_from(["9" * 5000, "(" * 5000, "a b " * 50_000, "\x00", "\ud800", "../" * 400, "__import__('os')"])
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | HUGE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ANY_ARGUMENTS = st.dictionaries(TEXTS | HUGE, ANY_JSON, max_size=3) | ANY_JSON
LONGEST_REFUSAL = 2000
"""Characters of a message that refuses a call, whatever the call held."""


class BenchmarkHooks:
    """The fixture and the host-side hooks."""

    sample = 12
    """Tasks looked at where looking at all would take long."""
    fewest_observables = 15
    across_windows: frozenset[str] = frozenset({"window"})
    """Observables that tell windows of one document apart rather than documents."""
    every_document_sighted = True
    """Whether sightings are of all documents of a view, or of those that a broad search shows."""
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

    def sights(self, benchmark: AnyBenchmark, task: str, variant: str) -> Mapping[str, Sequence[Sighting]]:
        """Each document's windows as the tools show them, with its places in listing and broad search."""
        raise NotImplementedError

    def rebuild(self, benchmark: AnyBenchmark) -> AnyBenchmark:
        """The same benchmark, made anew."""
        return open_benchmark(benchmark.name)

    def some_tasks(self, benchmark: AnyBenchmark) -> Sequence[str]:
        tasks = benchmark.tasks()
        return tasks[:: max(1, len(tasks) // self.sample)][: self.sample]

    def new_environment(
        self, benchmark: AnyBenchmark, task: str | None = None, variant: str = "released"
    ) -> Environment:
        return benchmark.environment(task or benchmark.tasks()[0], benchmark.variant(variant))
