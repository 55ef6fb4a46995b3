"""The contract of `chase.core.interfaces.Observable` as tests. A new observable gets them all by subclassing.

    class TestMine(ObservableConformance):
        place = "my_package.observables:MINE"

Beside these it is tried on a few tasks of Syn-Ledger; replace `sightings` where it looks at fields that only another
benchmark shows. It needs the `test` extra (pytest, Hypothesis).
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chase.benchmarks.registry import open_benchmark
from chase.core.interfaces import Observable
from chase.core.values import Json, Sighting
from chase.protocol.extensions import observable_problems
from chase.testing.benchmark_suite.hooks import ANY_JSON, HUGE, TEXTS
from chase.testing.object_graph import reachable

ELSEWHERE = """
import json, sys
from importlib import import_module
from chase.core.values import Sighting
module, name = sys.argv[1].split(":")
observable = getattr(import_module(module), name)
print(json.dumps([observable(Sighting(**shown)) for shown in json.load(sys.stdin)]))
"""


class ObservableConformance:
    """Subclass it and say where the observable is: `place = "module:name"`."""

    place: str
    benchmark = "syn-ledger-small@7"
    """On whose documents it is tried."""

    @pytest.fixture
    def observable(self) -> Observable:
        module, _, name = self.place.partition(":")
        found: Observable = getattr(import_module(module), name)
        return found

    @pytest.fixture
    def sightings(self) -> Sequence[Sequence[Sighting]]:
        """The documents of some tasks, as they are shown."""
        opened = open_benchmark(self.benchmark)
        released = opened.variant("released")
        return [opened.sightings(task, released) for task in opened.tasks("evo")[:6]]

    def test_it_says_what_it_is(self, observable: Observable) -> None:
        assert list(observable_problems(observable, getattr(observable, "name", ""))) == []

    def test_it_gives_a_finite_number_or_none(
        self, observable: Observable, sightings: Sequence[Sequence[Sighting]]
    ) -> None:
        for shown in (shown for task in sightings for shown in task):
            _check(observable(shown))

    def test_it_tells_documents_of_some_task_apart(
        self, observable: Observable, sightings: Sequence[Sequence[Sighting]]
    ) -> None:
        assert any(len({observable(shown) for shown in task}) > 1 for task in sightings), "the same for all documents"

    def test_it_knows_nothing_of_what_it_was_shown_before(
        self, observable: Observable, sightings: Sequence[Sequence[Sighting]]
    ) -> None:
        """Whatever the order, however often, and for an equal sighting that is another object."""
        every = [shown for task in sightings for shown in task]
        first = [observable(shown) for shown in every]
        assert [observable(replace(shown)) for shown in reversed(every)][::-1] == first

    def test_it_gives_the_same_in_every_process(
        self, observable: Observable, sightings: Sequence[Sequence[Sighting]]
    ) -> None:
        """Hashes of texts, for one, differ between processes."""
        every = [shown for task in sightings for shown in task]
        here = [observable(shown) for shown in every]
        form = json.dumps([asdict(shown) for shown in every])
        for seed in ("1", "2"):
            environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
            done = subprocess.run(
                [sys.executable, "-c", ELSEWHERE, self.place], input=form, env=environment, text=True,
                capture_output=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout) == here, "another process gives other numbers"

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(path=TEXTS | HUGE, text=st.none() | TEXTS | HUGE, value=ANY_JSON)
    def test_it_never_raises(self, observable: Observable, path: str, text: str | None, value: Json) -> None:
        for shown in (
            Sighting(id="", path=""),
            Sighting(id=path, path=path, text=text),
            Sighting(id="x", path=path, text=text, window=1, hit=0, hit_of=1, fields={"text": value, path[:20]: value}),
        ):
            _check(observable(shown))

    def test_it_changes_nothing(self, observable: Observable, sightings: Sequence[Sequence[Sighting]]) -> None:
        shown = replace(sightings[0][0], fields={"text": "a", "lines": [1, 2]})
        before = json.dumps(asdict(shown))
        observable(shown)
        assert json.dumps(asdict(shown)) == before, "it changed what it was shown"

    def test_it_leads_to_no_benchmark(self, observable: Observable) -> None:
        """It is handed to agents as it is."""
        led = [way for way, item in reachable(observable) if hasattr(item, "content_hash") and hasattr(item, "sealed")]
        assert led == []


def _check(value: Any) -> None:
    assert value is None or (type(value) in (int, float) and math.isfinite(value)), f"{value!r} is no number"
