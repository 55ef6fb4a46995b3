"""Observables: many, pure, of use within a task, and ignorant of the host."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from chase.core.values import Json, Sighting
from chase.testing.benchmark_suite.hooks import ANY_JSON, FUZZING, HUGE, TEXTS, AnyBenchmark, BenchmarkHooks
from chase.testing.object_graph import reachable


class ObservableTests(BenchmarkHooks):
    """What can be observed of a document."""

    def test_observables_are_many_and_have_one_name_each(self, benchmark: AnyBenchmark) -> None:
        names = [observable.name for observable in benchmark.observables]
        assert len(set(names)) == len(names) >= self.fewest_observables
        assert all(observable.description for observable in benchmark.observables)

    def test_observables_reach_no_host_object(self, benchmark: AnyBenchmark) -> None:
        """They are handed to agents as they are."""
        secrets = [s for task in self.some_tasks(benchmark) for s in self.secrets(benchmark, task)]
        hosts = {id(host) for host in (benchmark, benchmark.subject, *secrets) if not isinstance(host, str)}
        for observable in benchmark.observables:
            for way, item in reachable(observable):
                assert id(item) not in hosts, f"{observable.name}: {way} is a host-side {type(item).__name__}"
                assert not isinstance(item, type(benchmark)), f"{observable.name}: {way} is a benchmark"

    @FUZZING
    @given(path=TEXTS | HUGE, text=st.none() | TEXTS | HUGE, value=ANY_JSON)
    def test_observables_never_raise(self, benchmark: AnyBenchmark, path: str, text: str | None, value: Json) -> None:
        seen = self.sights(benchmark, benchmark.tasks()[0], "released")
        names = next(iter(seen.values()))[0].fields
        fields = dict.fromkeys(names, value)
        for shown in (
            Sighting(id="", path=path, text=text),
            Sighting(id=path, path=path, text=text, window=1, hit=2, fields=fields),
        ):
            for observable in benchmark.observables:
                found = observable(shown)
                assert found is None or math.isfinite(found)
                assert found == observable(shown)

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
