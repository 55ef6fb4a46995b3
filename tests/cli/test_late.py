"""Commands are imported when they are asked for, and their help is the same either way."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer

from chase.cli.late import COMMANDS
from chase.cli.main import app


@pytest.mark.parametrize("name", COMMANDS)
def test_what_the_list_says_of_a_command_is_the_beginning_of_its_help(name: str) -> None:
    command = typer.main.get_group(app).commands[name]
    assert command.name == name
    assert " ".join(str(command.help).split("\n\n")[0].split()) == COMMANDS[name]


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_saying_the_version_or_the_help_imports_no_command(flag: str) -> None:
    program = "import sys; sys.argv = ['chase', sys.argv[1]]\nfrom chase.cli.main import main\ntry: main()\n"
    program += "except SystemExit: print('modules', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, flag], capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[-1].split()
    assert modules[0] == "modules"
    assert not {f"chase.cli.{name}" for name in COMMANDS} & set(modules)
    assert not {"pydantic", "pydantic_ai", "sqlite3"} & set(modules)
