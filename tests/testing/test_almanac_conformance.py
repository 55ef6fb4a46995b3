"""Almanac keeps the contract of a benchmark, made from its name or read from a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from chase.core.errors import SetupError, UserError
from chase.core.values import Sighting
from chase.testing.almanac.benchmark import Almanac, open_almanac
from chase.testing.almanac.contents import Document, Task
from chase.testing.almanac.data import DOCUMENTS, QUESTIONS, write_almanac
from chase.testing.almanac.entry import ENTRY
from chase.testing.benchmark_suite import BenchmarkConformance, Call
from chase.testing.object_graph import reachable
from tests.testing.almanacs import NAME, open_once, sights

pytestmark = pytest.mark.slow


class AlmanacConformance(BenchmarkConformance):
    neutralised = "released"

    def answer(self, benchmark: Any, task: str) -> str:
        return str(benchmark.task(task).answer)

    def secrets(self, benchmark: Any, task: str) -> Iterable[object]:
        return (benchmark.task(task), benchmark.documents, *benchmark.documents, benchmark.released)

    def calls(self, benchmark: Any, task: str) -> Sequence[Call]:
        document = benchmark.documents[0].id
        return (
            ("find", {"text": benchmark.task(task).question, "top": 12}),
            ("read", {"document": document}),
            ("read", {"document": document, "from": 9, "to": 14}),
            ("compute", {"left": 2, "right": 0.5, "kind": "add"}),
        )

    def sights(self, benchmark: Any, task: str, variant: str) -> Mapping[str, Sequence[Sighting]]:
        return sights(benchmark, task, variant)

    def test_no_host_side_value_is_reachable_from_an_environment(self, benchmark: Almanac) -> None:
        for _, item in reachable(self.new_environment(benchmark)):
            assert not isinstance(item, Almanac | Document | Task)


class TestAlmanac(AlmanacConformance):
    @pytest.fixture
    def benchmark(self) -> Almanac:
        return open_once(NAME)

    def rebuild(self, benchmark: Any) -> Almanac:
        return open_almanac(benchmark.name)


class TestAlmanacOfAnotherSeed(TestAlmanac):
    @pytest.fixture
    def benchmark(self) -> Almanac:
        return open_once("almanac@12")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("almanac")
    write_almanac(folder, 7)
    return folder


class TestAlmanacFromAFolder(AlmanacConformance):
    folder: Path

    @pytest.fixture
    def benchmark(self, written: Path) -> Almanac:
        self.folder = written
        return open_almanac("almanac", written)

    def rebuild(self, benchmark: Any) -> Almanac:
        return open_almanac("almanac", self.folder)

    def test_it_is_the_one_that_was_written(self, benchmark: Almanac) -> None:
        made = open_once(NAME)
        assert (benchmark.name, made.name) == ("almanac", NAME)
        assert benchmark.content_hash == made.content_hash


# Names and data


def test_seeds_give_different_benchmarks() -> None:
    hashes = {open_once(f"almanac@{seed}").content_hash for seed in (7, 12, 3)}
    assert len(hashes) == 3


@pytest.mark.parametrize("name", ["almanac@", "almanac@x", "almanac@7x2", "syn-ledger@7", "almanac@1234567890"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="no Almanac"):
        ENTRY.open(name)


def test_a_folder_that_is_needed_missing_or_in_the_way_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="--data"):
        ENTRY.open("almanac")
    with pytest.raises(SetupError, match="holds no Almanac"):
        ENTRY.open("almanac", tmp_path)
    with pytest.raises(UserError, match="made from its name alone"):
        ENTRY.open("almanac@7", tmp_path)


def test_a_folder_with_a_fault_is_refused_where_it_is(tmp_path: Path) -> None:
    write_almanac(tmp_path, 7)
    questions = tmp_path / QUESTIONS
    whole = questions.read_text()
    for line, said in (
        ("{", "49 is no question"),
        (whole.splitlines()[0].replace("evo", "exam"), "role='exam'"),
    ):
        questions.write_text(f"{whole}{line}\n")
        with pytest.raises(UserError, match=said):
            open_almanac("almanac", tmp_path)
    questions.write_text(whole)
    document = min((tmp_path / DOCUMENTS).iterdir())
    document.write_text("Nothing to report.\n")
    with pytest.raises(UserError, match=f"{document.name} is no report"):
        open_almanac("almanac", tmp_path)
