"""OfficeQA keeps the contract of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.corpus.collection import Collection
from chase.benchmarks.officeqa.benchmark import OfficeQA, open_officeqa
from chase.benchmarks.officeqa.contents import Task
from chase.benchmarks.officeqa.records import Question
from chase.core.errors import SetupError, UserError
from chase.core.values import Sighting
from chase.testing.benchmark_suite import BenchmarkConformance, Call
from chase.testing.object_graph import reachable
from tests.benchmarks.officeqa.offices import office, sample

pytestmark = pytest.mark.slow


class TestOfficeQA(BenchmarkConformance):
    neutralised = "released"
    every_document_sighted = False
    sample = 6

    @pytest.fixture
    def benchmark(self) -> OfficeQA:
        return office()

    def rebuild(self, benchmark: Any) -> OfficeQA:
        return open_officeqa(benchmark.name, sample())

    def answer(self, benchmark: Any, task: str) -> str:
        return str(benchmark.task(task).answer)

    def secrets(self, benchmark: Any, task: str) -> Iterable[object]:
        collection = benchmark.collection(task)
        return (benchmark.task(task), benchmark.task(task).uid, collection, collection.released)

    def calls(self, benchmark: Any, task: str) -> Sequence[Call]:
        document = benchmark.collection(task).corpus.ids[0]
        return (
            ("search", {"query": benchmark.task(task).question, "match": "any", "limit": 10}),
            ("read", {"document": document}),
            ("read", {"document": document, "start": 9, "end": 14}),
            ("list_documents", {"contains": "19"}),
            ("calculator", {"expression": "(2 + 0.5) * 3"}),
        )

    def sights(self, benchmark: Any, task: str, variant: str) -> Mapping[str, Sequence[Sighting]]:
        """Each sighting with what a rollout's tools show: the first and the second window, and the listing."""
        found = {}
        listing = self._listing(benchmark, task, variant)
        for shown in benchmark.sightings(task, benchmark.variant(variant)):
            environment = self.new_environment(benchmark, task, variant)
            opener = environment.interface.open
            first = environment.call(opener.tool, {opener.document: shown.id})
            seen = replace(shown, text=first.items[0].shown.text, window=0, listing=listing[shown.id])
            found[shown.id] = [seen]
            if first.reads_on is not None:
                found[shown.id] += [item.shown for item in environment.call(opener.tool, first.reads_on).items]
        return found

    def _listing(self, benchmark: Any, task: str, variant: str) -> Mapping[str, int | None]:
        environment = self.new_environment(benchmark, task, variant)
        return {item.shown.id: item.shown.listing for item in environment.call(environment.interface.listing, {}).items}

    def test_no_host_side_value_is_reachable_from_an_environment(self, benchmark: OfficeQA) -> None:
        for task in (benchmark.tasks("evo")[0], benchmark.tasks("prov2")[0]):
            environment = self.new_environment(benchmark, task)
            results = [environment.call(tool, arguments) for tool, arguments in self.calls(benchmark, task)]
            for way, item in reachable((environment, results)):
                assert not isinstance(item, OfficeQA | Collection | Task | Question), f"{way} is the host's"

    def test_pro_v2_is_a_sealed_role_over_its_own_documents(self, benchmark: OfficeQA) -> None:
        assert benchmark.sealed == {"cert", "prov2"}
        assert benchmark.defaults.rollouts["prov2"] == 3
        task, other = benchmark.tasks("prov2")[0], benchmark.tasks("cert")[0]
        files = [{file.id for file in benchmark.view(t, benchmark.variant("released")).files} for t in (task, other)]
        assert not files[0] & files[1]
        assert set(benchmark.task(task).sources) <= files[0]


# Names and data


def test_the_defaults_are_the_papers() -> None:
    defaults = office().defaults
    assert (defaults.rounds, defaults.eta, defaults.epsilon) == (3, "0.075", "0.05")
    assert defaults.rollouts == {"evo": 2, "disc": 2, "conf1": 5, "conf2": 5, "conf3": 5, "cert": 3, "prov2": 3}


def test_data_are_private_and_needed(tmp_path: Path) -> None:
    assert sample() in office().private_paths
    assert any(path.name == "officeqa" for path in office().private_paths)
    with pytest.raises(SetupError, match="--data"):
        open_officeqa("officeqa")
    with pytest.raises(UserError, match="neither seed nor size"):
        open_officeqa("officeqa@7", tmp_path)
