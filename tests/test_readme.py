"""README and tutorial: their commands run as written and print what is pasted, their picture is of real figures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from docs.make_verdict import FIGURES, PICTURE, draw, figures
from typer.main import get_command

from chase.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/tutorial.md")
TEXTS = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}
KEPT = json.loads(FIGURES.read_text(encoding="utf-8"))
FIRST_LINE_ONLY = ("chase trace list", "mktemp")
"""Rollouts end in any order, and a folder's name is drawn."""


@dataclass
class Pasted:
    """A command of a page, what it is said to print, and the exit code that `echo $?` is said to show."""

    command: str
    output: list[str] = field(default_factory=list)
    code: int = 0


def pasted(text: str) -> list[Pasted]:
    """The commands of every console block, in order."""
    commands: list[Pasted] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        lines = iter(block.splitlines())
        for line in lines:
            if line == "$ echo $?":
                commands[-1].code = int(next(lines))
            elif line.startswith("$ "):
                commands.append(Pasted(line[2:]))
            else:
                commands[-1].output.append(line)
    return commands


def plain(lines: Sequence[str]) -> list[str]:
    """Without what differs from run to run or with a version: times, hashes, spaces at the end."""
    timed = (re.sub(r"\b\d+\.\d s\b", "N s", line.rstrip()) for line in lines)
    return [re.sub(r"\b(?=[a-f]*\d)[0-9a-f]{10,}\b", "HASH", line) for line in timed]


def chunks(lines: Sequence[str]) -> list[list[str]]:
    """What stands between lines that are an ellipsis alone."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line == "…":
            found.append([])
        else:
            found[-1].append(line)
    return found


def prints(output: Sequence[str], printed: Sequence[str]) -> bool:
    """Whether the printed lines are the pasted ones, an ellipsis standing for any number of lines."""
    wanted, left = chunks(plain(output)), plain(printed)
    for number, chunk in enumerate(wanted):
        last = number == len(wanted) - 1
        places = [len(left) - len(chunk)] if last and number else range(len(left) - len(chunk) + 1)
        starts = [place for place in places if place >= 0 and left[place : place + len(chunk)] == chunk]
        if not starts or (number == 0 and starts[0] != 0):
            return False
        left = left[starts[0] + len(chunk) :]
    return not left


def rounded(value: Any) -> Any:
    """Figures to nine digits, so that the last bit of a float decides nothing."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return round(value, 9) if isinstance(value, float) else value


def run_all(page: str, folder: Path) -> None:
    (folder / ".venv").symlink_to(Path(sys.prefix))
    for said in pasted(TEXTS[page]):
        done = subprocess.run(
            said.command, shell=True, cwd=folder, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == said.code, f"{said.command}\n{done.stderr}"
        printed = done.stdout.splitlines()
        if any(words in said.command for words in FIRST_LINE_ONLY):
            assert printed[0].split()[:2] == said.output[0].split()[:2], said.command
        else:
            same = prints(said.output, printed)
            assert same, f"paste what\n{said.command}\nprints into {page}:\n{done.stdout}"


@pytest.mark.slow
def test_the_readmes_commands_print_what_is_pasted_and_give_the_pictures_figures(tmp_path: Path) -> None:
    assert len(pasted(TEXTS["README.md"])) >= 2
    run_all("README.md", tmp_path)
    (audit,) = (tmp_path / ".chase" / "runs").glob("audit-*/result.json")
    assert rounded(figures(json.loads(audit.read_text()))) == rounded(KEPT)


@pytest.mark.slow
def test_the_tutorials_commands_print_what_is_pasted(tmp_path: Path) -> None:
    assert len(pasted(TEXTS["docs/tutorial.md"])) >= 10
    run_all("docs/tutorial.md", tmp_path)


def test_output_that_is_not_what_is_pasted_is_told() -> None:
    printed = ["Run audit-106dbe5339d9, 18.9 s", "a", "b", "c", "b", "c"]
    assert prints(["Run audit-32d8b76fa7fd, 2.1 s", "…", "b", "c"], printed)
    assert prints(["Run audit-32d8b76fa7fd, 2.1 s", "…", "b", "…"], printed)
    for wrong in (
        ["a", "…"],
        ["…", "b", "c", "…", "a"],
        ["…", "b", "…", "b", "…", "b", "…"],
        ["…", "b"],
        printed[:-1],
        [*printed, "d"],
        ["Run audit-106dbe5339d9, 18.9 s", "…", "a", "c", "…"],
    ):
        assert not prints(wrong, printed), wrong


def test_every_audit_with_a_bad_end_shows_its_exit_code() -> None:
    assert [said.code for said in pasted(TEXTS["README.md"])] == [0, 0, 5]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_that_is_linked_to_is_there(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", TEXTS[page])
    assert len(links) >= 8
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_flag_that_is_named_exists(page: str) -> None:
    group: Any = get_command(app)
    shown = "\n".join(re.findall(r"`[^`]+`|^\$ .*$", TEXTS[page], re.MULTILINE))
    named = re.findall(r"\bchase ([a-z]+)((?: [^`\n|>]*)?)", shown)
    assert len(named) >= 2
    for word, rest in named:
        command = group.get_command(None, word)
        assert command is not None, f"{page}: chase {word}"
        if hasattr(command, "commands"):
            command = command.commands.get(rest.split()[0])
            assert command is not None, f"{page}: chase {word}{rest}"
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known, f"{page}: chase {word}{rest}"


def test_every_folder_is_on_the_page_of_the_architecture() -> None:
    folders = {path.parent.name for path in (ROOT / "src" / "chase").glob("*/__init__.py")}
    listed = re.findall(r"^\| `([a-z]+)/` \| \w", (ROOT / "docs" / "architecture.md").read_text(), re.MULTILINE)
    assert folders - set(listed) == set(), "add a row with one sentence to docs/architecture.md"


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for text in TEXTS.values() for name in re.findall(r"`make ([a-z-]+)`", text)}
    assert named
    assert named <= targets


def test_the_picture_is_drawn_from_the_kept_figures_and_says_what_read() -> None:
    drawn = draw(KEPT)
    assert drawn == PICTURE.read_text(encoding="utf-8"), "run `python docs/make_verdict.py` and commit the picture"
    title, description = ElementTree.fromstring(drawn)[:2]
    assert "not supported" in (title.text or "")
    assert "simulated reader, not a language model" in (description.text or "")
    assert f"Simulated reader ({KEPT['model']}), not a language model" in drawn


def test_an_audit_that_tested_nothing_and_one_of_a_language_model_can_be_drawn() -> None:
    drawn = draw({**KEPT, "verdict": "supported", "tested": [], "simulated": False, "model": "openai:<gpt>"})
    assert ElementTree.fromstring(drawn)[0].text == "An audit's verdict: the gain is supported"
    assert "openai:&lt;gpt&gt;" in drawn
    assert "imulated" not in drawn
