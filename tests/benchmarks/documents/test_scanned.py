"""`chase scan` on documents: a planted folder is found and taken away, though contents go with evidence too; where file
names alone are planted, they are named before what tools derive from them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import chase
from chase.benchmarks.documents.benchmark import open_documents
from chase.benchmarks.documents.splits import ROLES
from chase.cli.scan import _print
from chase.core.keyed import key_bits
from chase.protocol.kit import ProtocolKit
from tests.benchmarks.documents.examples import example


@pytest.mark.slow
def test_the_planted_folder_is_a_finding_with_a_removal_and_the_contents_are_one_without(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = chase.scan(benchmark=example().fewer(dict.fromkeys(ROLES, 5)), progress=False)
    of = {name: finding for finding in found.findings for name in finding["observables"]}
    folder = of["folder-initial"]
    assert set(folder["observables"]) == {"folder-initial", "folder-length"}
    assert folder["removal"]["symbols"].startswith("place-documents")
    assert folder["removal"]["file"] == f"{folder['name']}.json"
    assert found.transformations[folder["name"]]["operators"][0]["name"] == "place-documents"
    contents = of["title-length"]
    assert contents["removal"] is None
    assert "folder-initial" in contents["beside"]
    assert "title-length" in folder["beside"]
    _print(found, [Path("found") / "all.json"], False, " --data mine")
    said = capsys.readouterr().out
    assert f"  goes together with {contents['name']}, " in said
    assert "  taken away by: documents lie in other folders" in said
    assert "Next: chase bench export documents --data mine --variant found/all.json --out DIR" in said
    assert "chase audit --benchmark documents --data mine --transformations found/all.json" in said


EARLY, LATE = ("audit", "basin", "cargo", "digest", "entry"), ("quays", "record", "survey", "tables", "waters")
TOML = """title = "Mines"
documents = "documents"
questions = "questions.jsonl"
[scorer]
kind = "number"
[answer]
instruction = "Reply with the number alone."
[splits]
evo = 30
disc = 30
conf = 9
"""


def write_named(folder: Path) -> Path:
    """Ninety pairs of documents of the same words; of each, evidence has the name that is early in the alphabet."""
    (folder / "documents").mkdir(parents=True)
    questions = []
    for pair in range(90):
        mine = "".join(chr(97 + key_bits("mine", pair, letter) % 26) for letter in range(7))
        for side, words in enumerate((EARLY, LATE)):
            figure = 1000 + key_bits("tonnes", pair, side) % 9000
            path = f"{words[key_bits('word', pair, side) % 5]}-{mine}.md"
            often = 1 + key_bits("often", pair) % 300  # so that a search shows other pairs too, none longer
            remarks = "tonnes " * often + "office " * (300 - often)
            text = f"# Returns of the mine {mine}\n\n{remarks}\n\nRaised in the year at {mine}: {figure} tonnes.\n"
            (folder / "documents" / path).write_text(text)
            if not side:
                asked = f"How many tonnes were raised at {mine}?"
                questions.append({"id": str(pair), "question": asked, "answer": str(figure), "evidence": [path]})
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions))
    (folder / "benchmark.toml").write_text(TOML)
    return folder


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_named(tmp_path_factory.mktemp("named") / "data")


@pytest.mark.slow
def test_where_file_names_alone_are_planted_they_are_named_first_and_a_transformation_changes_them(
    named: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = open_documents("documents", named)
    found = chase.scan(benchmark=benchmark, progress=False)
    first, *others = found.findings
    assert first["name"] == first["observables"][0] == "name-initial"
    assert [row["origin"] for row in first["rows"]] == ["files", "files", "tools"]
    assert [finding["name"] for finding in others] == ["hit-position"]  # though it goes further: cause before symptom
    assert others[0]["rows"][0]["effect"] < first["rows"][0]["effect"] < 0.5
    found.write(tmp_path / "found")
    kit, task = ProtocolKit(benchmark), benchmark.tasks("evo")[0]
    changed = {}
    for file in sorted((tmp_path / "found").iterdir()):
        if file.name != "scan.json":
            transformation = kit.parse(file.read_text()).transformation
            assert kit.looks_different(transformation, task)
            before, after = (benchmark.sightings(task, t) for t in (kit.identity, transformation))
            changed[file.stem] = {a.path for a in after} != {b.path for b in before}
    assert changed["name-initial"]
    assert changed["name-initial-alone"]
    assert not changed["listing-position-alone"]
    assert not changed["hit-position"]
    _print(found, [], False, "")
    said = capsys.readouterr().out
    assert said.index("name-initial: evidence documents") < said.index("hit-position: evidence documents")
    assert "  shows in what tools derive from them: listing-position" in said
    assert "  name-initial, name-length alone by: " in said
