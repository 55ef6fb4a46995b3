"""Whatever is wrong with a benchmark of documents is said at once, with its line."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from chase.benchmarks.documents.examine import examine
from tests.benchmarks.documents.examples import folder


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder(), tmp_path / "mine"))


def told(mine: Path) -> list[str]:
    return [str(problem) for problem in examine(mine).errors]


def test_a_working_example_has_no_error(mine: Path) -> None:
    assert told(mine) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[scorer]", "[scorer", "benchmark.toml, line 6: it is no TOML"),
        ('kind = "number"', 'kind = "numbr"', "Did you mean 'number'?"),
        ("disc = 34", "disk = 34", "benchmark.toml, line 14: unknown key 'splits.disk'. Did you mean 'disc'?"),
        ("evo = 40", 'evo = "many"', "splits.evo='many'"),
        ("evo = 40", "evo = 41", "no whole groups add up to the 41 questions of evo"),
        ("evo = 40", "evo = 400", "there are 216. Ask for fewer"),
    ],
)
def test_a_malformed_description_is_told_with_its_line(mine: Path, old: str, new: str, said: str) -> None:
    file = mine / "benchmark.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    assert any(said in sentence for sentence in told(mine)), told(mine)


@pytest.mark.parametrize(("mark", "encoding"), [(",", "utf-8"), (";", "utf-8"), (";", "utf-8-sig"), ("\t", "utf-8")])
def test_questions_may_be_a_table_as_spreadsheets_write_it(mine: Path, mark: str, encoding: str) -> None:
    as_lines = examine(mine)
    rows = [json.loads(line) for line in (mine / "questions.jsonl").open()]
    with (mine / "questions.csv").open("w", encoding=encoding, newline="") as file:
        table = csv.writer(file, delimiter=mark)
        table.writerow(["id", "question", "answer", "evidence", "group"])
        for row in rows:
            table.writerow([row["id"], row["question"], row["answer"], "; ".join(row["evidence"]), row["group"]])
    file_ = mine / "benchmark.toml"
    file_.write_text(file_.read_text().replace("questions.jsonl", "questions.csv"))
    assert "questions.csv" in file_.read_text()
    as_table = examine(mine)
    assert as_table.errors == []
    assert [replace(q, line=0) for q in as_table.questions] == [replace(q, line=0) for q in as_lines.questions]


def test_a_file_that_cannot_be_used_is_told_once_and_not_for_each_question_about_it(mine: Path) -> None:
    first = json.loads((mine / "questions.jsonl").open().readline())["evidence"][0]
    (mine / "documents" / first).write_bytes(b"caf\xe9")
    (said,) = told(mine)
    assert said.startswith(f"documents/{first}, line 1: it is not UTF-8")


def test_a_folder_without_documents_is_told_once(mine: Path) -> None:
    shutil.rmtree(mine / "documents")
    (mine / "documents").mkdir()
    (said,) = told(mine)
    assert "it holds no documents" in said


def test_everything_that_is_wrong_with_questions_and_documents_is_told_at_once(mine: Path) -> None:
    questions = mine / "questions.jsonl"
    lines = questions.read_text().splitlines()
    lines[1] = '{"id": "x", "question": "Which?"}'
    lines[2] = lines[3]
    lines[4] = lines[4].replace("final/", "finel/")
    lines[5] = "{no JSON"
    lines[6] = lines[6].replace('"answer"', '"anser"')
    questions.write_text("\n".join(lines) + "\n")
    (mine / "documents" / "latin.txt").write_bytes(b"first\nsm\xf8rrebr\xf8d\n")
    (mine / "documents" / "empty.md").write_text(" \n")
    (mine / "documents" / "bad.json").write_text("{")
    (mine / "documents" / "link.txt").symlink_to("/etc/hostname")
    said = "\n".join(told(mine))
    for sentence in (
        "questions.jsonl, line 2: question 'x' has no answer",
        "questions.jsonl, line 4: id",
        "line 5: question",
        "is no document. Did you mean 'final/",
        "questions.jsonl, line 6: the line is not valid JSON",
        "line 7: unknown key 'anser'. Did you mean 'answer'?",
        "documents/latin.txt, line 2: it is not UTF-8",
        "documents/empty.md: it is empty",
        "documents/bad.json: it is not valid JSON",
        "documents/link.txt: it is a link",
    ):
        assert sentence in said, sentence
