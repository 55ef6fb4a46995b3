"""What is below the command line neither prints nor reads the environment: a notebook decides what it sees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import chase

PACKAGE = Path(chase.__file__).parent
PRINTERS = {"typer", "rich", "click"}


def faults(source: str) -> Iterator[str]:
    """Where a module prints, or reads environment variables."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        if PRINTERS & {name.split(".")[0] for name in names}:
            yield f"line {node.lineno}: imports {names[0]}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield f"line {node.lineno}: prints"
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv"):
            yield f"line {node.lineno}: reads the environment"
        if (
            isinstance(node, ast.Attribute)
            and node.attr in ("stdout", "stderr")
            and ast.unparse(node).startswith("sys")
        ):
            yield f"line {node.lineno}: writes to the terminal"


@pytest.mark.parametrize("folder", ["runs", "methods"])
def test_it_neither_prints_nor_reads_the_environment(folder: str) -> None:
    modules = sorted((PACKAGE / folder).rglob("*.py"))
    assert len(modules) > 10
    assert [f"{path.name}, {fault}" for path in modules for fault in faults(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    "line",
    [
        "import typer",
        "from rich.table import Table",
        "print(1)",
        "import os\nos.environ['A']",
        "import sys\nsys.stderr",
    ],
)
def test_a_planted_fault_is_found(line: str) -> None:
    assert list(faults(line))
