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

from chase.testing.benchmark_suite.environments import EnvironmentTests
from chase.testing.benchmark_suite.harnesses import HarnessTests
from chase.testing.benchmark_suite.hooks import BenchmarkHooks, Call
from chase.testing.benchmark_suite.observables import ObservableTests
from chase.testing.benchmark_suite.protocols import ProtocolTests
from chase.testing.benchmark_suite.results import ResultTests
from chase.testing.benchmark_suite.task_sets import TaskSetTests

__all__ = ["BenchmarkConformance", "BenchmarkHooks", "Call"]


class BenchmarkConformance(TaskSetTests, ProtocolTests, EnvironmentTests, ResultTests, HarnessTests, ObservableTests):
    """Subclass it, give the `benchmark` fixture and the four host-side hooks."""
