"""A benchmark of one's own on the command line, and the page that leads there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.documents.test_tat_qa import contexts
from tests.cli.commands import Commands, checked

PAGE = (Path(__file__).parents[2] / "docs" / "bring-your-own-benchmark.md").read_text(encoding="utf-8")
BLOCKS = [block.splitlines() for block in re.findall(r"```\n(chase .*?)```", PAGE, re.DOTALL)]
FEWER = "--split-sizes evo=6,disc=6,conf=6,cert=6 --rounds 1"
"""What is added to the page's audit, so that it runs on fewer tasks."""


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


def test_init_writes_what_check_finds_sound_and_never_into_a_folder_that_holds_something(chase: Commands) -> None:
    made = chase.json("bench", "init", "mine")
    found = chase.json("bench", "check", "mine")
    assert found["passed"]
    assert (found["documents"], found["questions"]) == (made["documents"], made["questions"])
    assert sum(found["splits"].values()) == made["questions"]
    again = chase("bench", "init", "mine")
    assert again.code == 2
    assert "mine" in again.sentence


def test_check_tells_everything_with_its_line_and_ends_with_6(chase: Commands, tmp_path: Path) -> None:
    chase("bench", "init", "mine")
    questions = tmp_path / "mine" / "questions.jsonl"
    lines = questions.read_text().splitlines()
    questions.write_text("\n".join([lines[0], lines[0], "{", *lines[3:]]))
    finished = chase("bench", "check", "mine")
    assert finished.code == 6
    assert "questions.jsonl, line 2" in finished.out
    assert "questions.jsonl, line 3" in finished.out
    told = chase("bench", "check", "mine", "--json")
    assert told.code == 6
    payload = checked(told.out)
    assert not payload["passed"]
    assert [problem["line"] for problem in payload["problems"] if problem["severity"] == "error"] == [2, 3]


def test_check_says_what_an_audit_of_it_can_show_and_better_sizes(chase: Commands) -> None:
    chase("bench", "init", "mine")
    shown = chase.json("bench", "check", "mine")["detectable"]
    first, second, third = chase("bench", "check", "mine").out.splitlines()
    assert first.startswith("mine is sound: 218 documents, 216 questions (evo ")
    assert second == f"An audit's {shown['in_words']}."
    assert 0.1 < shown["gain"] < shown["destruction"]
    assert shown["clusters"] < shown["tasks"] == 90
    sizes = re.match(r"With evo = (\d+), disc = (\d+), conf = (\d+) under \[splits\] (\d+) confirmation tasks", third)
    assert sizes is not None
    better = float(re.findall(r"a gain of (\d+\.\d) points", third)[0])
    assert better < 100 * shown["gain"]
    assert int(sizes[4]) == 3 * int(sizes[3])


def test_a_benchmark_that_can_show_no_gain_is_not_called_sound(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text(json.dumps(contexts()))
    chase("bench", "import", "tat-qa", "--data", "dev.json", "--out", "out")
    finished = chase("bench", "check", "out")
    assert finished.code == 0
    assert "sound" not in finished.out
    assert finished.out.startswith("out has no errors, but too few tasks to show a gain: 6 documents, 24 questions (")
    assert "An audit's 12 confirmation tasks in 3 clusters can show no gain, however large" in finished.out
    assert chase.json("bench", "check", "out")["detectable"]["gain"] is None


def test_import_makes_what_check_finds_sound_and_says_what_can_be_imported(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text(json.dumps(contexts()))
    made = chase.json("bench", "import", "tat-qa", "--data", "dev.json", "--out", "out")
    assert (made["documents"], made["questions"]) == (6, 24)
    assert chase.json("bench", "check", "out")["passed"]
    wrong = chase("bench", "import", "tatqa", "--data", "dev.json", "--out", "other")
    assert wrong.code == 2
    assert "tat-qa" in wrong.sentence
    missing = chase("bench", "import", "tat-qa", "--data", "none.json", "--out", "other")
    assert missing.code == 3
    assert not (tmp_path / "other").exists()


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    line = command.split("  #")[0]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return subprocess.run(
        line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.slow
def test_the_pages_commands_lead_from_nothing_to_an_audit(tmp_path: Path) -> None:
    assert sum("chase audit" in command for command in BLOCKS[0]) == 2
    for command in BLOCKS[0]:
        if "chase audit" in command:
            continue
        done = run(command, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if "# a working example" in command:
            documents, questions = re.findall(r"\d+", command.partition("#")[2])
            assert f"{documents} documents and {questions} questions" in done.stdout
    audit = next(command for command in BLOCKS[0] if "chase audit" in command)
    done = run(f"{audit} {FEWER}", tmp_path)
    assert done.returncode in (0, 5), done.stderr
    assert "Verdict: " in done.stdout
    assert "plain program" in done.stdout


def test_the_pages_import_is_a_command_that_works(chase: Commands, tmp_path: Path) -> None:
    (tmp_path / "tatqa_dataset_dev.json").write_text(json.dumps(contexts()))
    for command in BLOCKS[1]:
        finished = chase(*command.split()[1:])
        assert finished.code == 0, f"{command}\n{finished.err}"
