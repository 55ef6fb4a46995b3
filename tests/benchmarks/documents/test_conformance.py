"""A benchmark of documents keeps the contract of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.corpus.collection import Collection
from chase.benchmarks.documents.benchmark import Documents, open_documents
from chase.benchmarks.documents.contents import Task
from chase.core.errors import SetupError, UserError
from chase.core.values import Sighting
from chase.protocol.selftest import selftest
from chase.testing.benchmark_suite import BenchmarkConformance, Call
from chase.testing.object_graph import reachable
from tests.benchmarks.documents.examples import example, folder


@pytest.mark.slow
class TestDocuments(BenchmarkConformance):
    neutralised = "released"
    every_document_sighted = False
    sample = 6

    @pytest.fixture
    def benchmark(self) -> Documents:
        return example()

    def rebuild(self, benchmark: Any) -> Documents:
        return open_documents(benchmark.name, folder())

    def answer(self, benchmark: Any, task: str) -> str:
        return str(benchmark.task(task).answer)

    def secrets(self, benchmark: Any, task: str) -> Iterable[object]:
        collection = benchmark.collection
        return (benchmark.task(task), benchmark.task(task).label, collection, collection.released)

    def calls(self, benchmark: Any, task: str) -> Sequence[Call]:
        document = benchmark.collection.corpus.ids[0]
        return (
            ("search", {"query": benchmark.task(task).question, "match": "any", "limit": 10}),
            ("read", {"document": document}),
            ("read", {"document": document, "start": 3, "end": 5}),
            ("list_documents", {"contains": "19"}),
            ("calculator", {"expression": "(2 + 0.5) * 3"}),
        )

    def sights(self, benchmark: Any, task: str, variant: str) -> Mapping[str, Sequence[Sighting]]:
        found = {}
        listing = self._listing(benchmark, task, variant)
        for shown in benchmark.sightings(task, benchmark.variant(variant)):
            environment = self.new_environment(benchmark, task, variant)
            opener = environment.interface.open
            first = environment.call(opener.tool, {opener.document: shown.id})
            place = listing.get(shown.id, shown.listing)
            found[shown.id] = [replace(shown, text=first.items[0].shown.text, window=0, listing=place)]
            if first.reads_on is not None:
                found[shown.id] += [item.shown for item in environment.call(opener.tool, first.reads_on).items]
        return found

    def _listing(self, benchmark: Any, task: str, variant: str) -> Mapping[str, int | None]:
        environment = self.new_environment(benchmark, task, variant)
        return {item.shown.id: item.shown.listing for item in environment.call(environment.interface.listing, {}).items}

    def test_no_host_side_value_is_reachable_from_an_environment(self, benchmark: Documents) -> None:
        for variant in ("released", "in-markdown"):
            environment = self.new_environment(benchmark, variant=variant)
            results = [environment.call(tool, given) for tool, given in self.calls(benchmark, benchmark.tasks()[0])]
            for way, item in reachable((environment, results)):
                assert not isinstance(item, Documents | Collection | Task), f"{way} is the host's"


@pytest.mark.slow
def test_the_firewalls_selftest_passes() -> None:
    outcomes = selftest(example().fewer({"evo": 2, "disc": 2}), lambda _: None)
    assert [outcome for outcome in outcomes if not outcome.passed] == []
    assert len(outcomes) > 50


def test_a_folder_is_needed_and_private(tmp_path: Path) -> None:
    assert folder().resolve() in example().private_paths
    with pytest.raises(SetupError, match="bench init"):
        open_documents("documents")
    with pytest.raises(UserError, match="neither seed nor size"):
        open_documents("documents@7", tmp_path)


def test_a_group_is_in_one_task_set_and_sizes_are_those_that_were_asked_for() -> None:
    benchmark = example()
    sizes = {role: len(benchmark.tasks(role)) for role in benchmark.roles}
    assert sizes == {"evo": 40, "disc": 34, "conf1": 30, "conf2": 30, "conf3": 30, "cert": 52}
    roles: dict[str | None, set[str]] = {}
    for id_ in benchmark.tasks():
        roles.setdefault(benchmark.task(id_).group, set()).add(benchmark.role_of(id_))
    assert all(len(held) == 1 for held in roles.values())
