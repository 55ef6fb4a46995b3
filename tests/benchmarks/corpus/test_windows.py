"""A text of a tool's result has bounded length, and what is cut can be read on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from chase.benchmarks.corpus.environment import CorpusEnvironment
from chase.benchmarks.corpus.windows import LONGEST_TEXT, window
from chase.benchmarks.officeqa.benchmark import OfficeQA, open_officeqa
from chase.benchmarks.officeqa.releases import FOLDERS
from chase.protocol.kit import ProtocolKit
from chase.protocol.transformation import OperatorList

ENDLESS = 10_000_000


def test_lines_that_fit_are_shown_as_they_are() -> None:
    lines = ("x" * (LONGEST_TEXT - 2), "", "")
    shown = window(lines, 5, 100)
    assert (shown.text, shown.last, shown.note) == ("\n".join(lines), 7, "")


def test_whole_lines_are_shown_as_far_as_they_fit() -> None:
    lines = ("a" * 10, "b" * (LONGEST_TEXT - 11), "c")
    shown = window(lines, 5, 7)
    assert (shown.text, shown.last) == ("\n".join(lines[:2]), 6)
    assert shown.note == "A text has at most 40000 characters, so it is cut after line 6. Read on from line 7."


def test_of_an_endless_line_the_beginning_is_shown() -> None:
    shown = window(("y" * ENDLESS, "c"), 5, 6)
    assert (shown.text, shown.last, shown.hidden) == ("y" * LONGEST_TEXT, 5, ENDLESS - LONGEST_TEXT)
    assert shown.note.endswith("so 9960000 more of line 5 are not shown. Read on from line 6.")
    last = window(("y" * ENDLESS,), 6, 6)
    assert last.note.endswith("so 9960000 more of line 6 are not shown.")


@pytest.fixture(scope="module")
def long_lines(officeqa_data: Path, tmp_path_factory: pytest.TempPathFactory) -> OfficeQA:
    """The sample with one endless line in a document, and one that is too long in the second line of each."""
    data = tmp_path_factory.mktemp("long") / "data"
    shutil.copytree(officeqa_data, data)
    for place, file in enumerate(sorted((data / FOLDERS["full"]).iterdir())):
        first, *rest = file.read_text().split("\n")
        endless = "zebra" + "y" * (ENDLESS if place == 0 else LONGEST_TEXT)
        file.write_text("\n".join([f"quagga {first}", endless, *rest]))
    return open_officeqa("officeqa", data)


def _environment(benchmark: OfficeQA) -> CorpusEnvironment:
    found = benchmark.environment(benchmark.tasks("evo")[0], OperatorList())
    assert isinstance(found, CorpusEnvironment)
    return found


def test_an_endless_line_does_not_fill_a_result_and_can_be_read_past(long_lines: OfficeQA) -> None:
    tools = _environment(long_lines)
    found = tools.call("search", {"query": "quagga", "limit": 10})
    assert len(found.items) == 10
    assert len(found.text) < 10 * LONGEST_TEXT
    assert (
        "Result 1: A text has at most 40000 characters, so it is cut after line 1. Read on from line 2." in found.head
    )
    name = min(long_lines.full.corpus.names.values())
    read, starts = [], [1]
    while starts[-1] and len(starts) < 6:
        result = tools.call("read", {"document": name, "start": starts[-1]})
        assert len(result.text) < LONGEST_TEXT + 1_000
        (item,) = json.loads(result.text)["results"]
        read += item["text"].split("\n")
        starts.append(result.reads_on["start"] if result.reads_on else 0)
    assert starts[:3] == [1, 2, 3]
    document = next(id_ for id_, called in long_lines.full.corpus.names.items() if called == name)
    whole = long_lines.full.corpus.lines(document, 1, len(read))
    assert [line for line in read if "zebra" not in line] == [line for line in whole if "zebra" not in line]
    assert read[1] == whole[1][:LONGEST_TEXT]


def test_neutral_changes_stay_neutral_on_a_corpus_with_such_lines(long_lines: OfficeQA) -> None:
    kit = ProtocolKit(long_lines.fewer({"evo": 2, "disc": 2}))
    for operator in ({"name": "wrap-text"}, {"name": "move-units", "arguments": {"to": "other side"}}):
        proposal = kit.parse({"benchmark": "officeqa", "operators": [operator]})
        assert kit.run_checks(proposal).failed == (), operator
