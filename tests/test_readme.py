"""The README's commands run as written, and their output begins as it is pasted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def pasted() -> list[tuple[str, list[str]]]:
    """(command, output lines) of every console block, in order."""
    commands: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            else:
                commands[-1][1].append(line)
    return commands


@pytest.mark.slow
def test_every_command_of_the_readme_runs_and_prints_what_is_pasted(tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    commands = pasted()
    assert len(commands) >= 7
    for command, output in commands:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        if output and "mktemp" not in command and "| head" not in command:
            # Times, sizes of a table and the order of equal things may differ; the first line says what it is.
            assert done.stdout.splitlines()[0].split()[:2] == output[0].split()[:2], command


def test_every_page_that_the_readme_links_to_is_there() -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README)
    assert len(links) >= 8
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_command_and_flag_that_the_readme_names_exists() -> None:
    named = {
        tuple(found) for found in re.findall(r"chase (bench|harness|store|trace|firewall|archive) ([a-z]+)", README)
    }
    assert named
    for group, command in named:
        done = subprocess.run(
            [sys.executable, "-m", "chase", group, command, "--help"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"chase {group} {command}: {done.stderr}"
