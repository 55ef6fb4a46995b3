"""What an agent sees before and after, for pages: a run's benchmark is opened beside them, when somebody looks."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from chase.core.interfaces import Benchmark
from chase.report.document import Section, Text
from chase.report.facts import RunFacts
from chase.report.on_benchmark import BenchmarkFacts, benchmark_facts, example_section
from chase.runs.opening import open_benchmark
from chase.web.viewer import Edition

WAIT_SECONDS = 2.0
"""How long a page waits. One that was built before opens within that."""
OPENING = "The benchmark is being opened for this, which can take a minute: load this page again in a moment."
NOT_YET = BenchmarkFacts(examples={}, sizes={}, statistics=None, table=None)


class Examples:
    """Befores and afters. One benchmark is opened at a time, once for each run, and let go of again."""

    def __init__(self) -> None:
        self._found: dict[Edition, Future[BenchmarkFacts]] = {}
        self._opening = threading.Lock()

    def section(self, edition: Edition, facts: RunFacts) -> Section | None:
        """Each counterfactual with what an agent sees; None of a run that has none."""
        made = example_section(facts, NOT_YET)
        if made is None:
            return None
        try:
            return example_section(facts, self._looked_at(edition, facts).result(WAIT_SECONDS))
        except TimeoutError:
            return replace(made, blocks=[*made.blocks, Text(text=OPENING)])

    def _looked_at(self, edition: Edition, facts: RunFacts) -> Future[BenchmarkFacts]:
        future: Future[BenchmarkFacts] = Future()
        if self._found.setdefault(edition, future) is future:
            threading.Thread(target=self._look, args=(future, facts), daemon=True).start()
        return self._found[edition]

    def _look(self, future: Future[BenchmarkFacts], facts: RunFacts) -> None:
        def opened() -> Benchmark[Any]:
            return open_benchmark(facts.head.benchmark, facts.settings.get("data"))

        try:
            with self._opening:
                future.set_result(benchmark_facts(facts, opened, counted=False))
        except Exception as error:
            future.set_exception(error)
