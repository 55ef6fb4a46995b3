"""The pages of commands name every flag of theirs, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from chase.cli.main import app

DOCS = Path(__file__).parents[2] / "docs"


def flags(command: str) -> set[str]:
    """The long flags of a command, as Typer has them."""
    group = get_command(app)
    found = group.get_command(None, command)  # type: ignore[attr-defined]
    return {name for parameter in found.params for name in parameter.opts if name.startswith("--")} - {"--help"}


@pytest.mark.parametrize("command", ["evolve", "audit", "repair", "analyze", "plan", "scan"])
def test_a_commands_page_has_a_row_for_every_flag(command: str) -> None:
    rows = [line for line in (DOCS / f"{command}.md").read_text().splitlines() if line.startswith("| `--")]
    named = {flag for row in rows for flag in re.findall(r"--[a-z-]+", row.split(" | ")[0])}
    assert named == flags(command)
