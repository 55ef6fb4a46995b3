"""Dependencies point one way, extras stay extras, and importing does nothing."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "chase"
LINT = Path(sys.executable).with_name("lint-imports")
EXTRAS = {"mcp", "openai", "anthropic", "google", "pyarrow", "ray", "sklearn", "inspect_ai", "hypothesis", "pytest"}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """The import rule, run on the package below a folder."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(LINT), "--no-cache", "--config", str(folder / "pyproject.toml")]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package with the project's own rule."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "chase", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_dependencies_point_down() -> None:
    ended = lint(ROOT)
    assert ended.returncode == 0, ended.stdout
    assert "0 broken" in ended.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("core/upward.py", "from chase.cli import main"),
        ("core/upward.py", "import chase.benchmarks.registry"),
        ("store/upward.py", "from chase.models import chat"),
        ("benchmarks/syn_ledger/upward.py", "def late():\n    from chase.cli import bench"),
        ("cli/upward.py", "from chase.testing import benchmark_suite"),
        ("engine/knowing.py", "from chase.benchmarks.syn_ledger.tools import LIMITS"),
        ("benchmarks/knowing.py", "def late():\n    from chase.benchmarks import syn_ledger"),
        ("cli/knowing.py", "import chase.benchmarks.syn_ledger.entry"),
        ("engine/knowing.py", "from chase.benchmarks.officeqa import scoring"),
    ],
)
def test_an_import_upward_or_of_one_benchmark_is_caught(copy: Path, module: str, line: str) -> None:
    (copy / "src" / "chase" / module).write_text(f"{line}\n")
    ended = lint(copy)
    assert ended.returncode != 0
    assert "BROKEN" in ended.stdout
    assert Path(module).stem in ended.stdout


def test_an_unchanged_copy_passes(copy: Path) -> None:
    ended = lint(copy)
    assert ended.returncode == 0, ended.stdout


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def test_no_part_of_the_package_imports_its_test_suites() -> None:
    outside = [path for path in PACKAGE.rglob("*.py") if "testing" not in path.relative_to(PACKAGE).parts]
    assert len(outside) > 40
    assert [str(path) for path in outside if any(name.startswith("chase.testing") for name in imports_of(path))] == []


LEDGER = "chase.benchmarks.syn_ledger"


def knows_syn_ledger(path: Path) -> bool:
    """Whether a file imports it, or names its package in a text from which it could be imported."""
    texts = [
        node.value for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Constant)
    ]
    named = any(isinstance(text, str) and LEDGER in text for text in texts)
    return named or any(f"{name}.".startswith(f"{LEDGER}.") for name in imports_of(path))


def test_only_the_registry_the_demonstration_and_tests_know_syn_ledger() -> None:
    knowing = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if knows_syn_ledger(path)}
    outside = {name for name in knowing if not name.startswith(("benchmarks/syn_ledger/", "testing/"))}
    assert "benchmarks/registry.py" in outside
    allowed = re.compile(r"benchmarks/registry\.py|(?:cli|runs)/demo\w*\.py")
    assert {name for name in outside if not allowed.fullmatch(name)} == set()
    assert not any(name.startswith(LEDGER) for name in imports_of(PACKAGE / "benchmarks" / "registry.py"))


@pytest.mark.parametrize(
    ("source", "knows"),
    [
        ("from chase.benchmarks.syn_ledger import scoring", True),
        ("from chase.benchmarks import syn_ledger", True),
        ("import chase.benchmarks.syn_ledger.entry", True),
        ("def late():\n    return import_module('chase.benchmarks.syn_ledger.entry')", True),
        ("from chase.benchmarks.registry import open_benchmark", False),
        ("NAME = 'syn-ledger'", False),
        ("import chase.benchmarks.syn_ledger_other", False),
    ],
)
def test_what_knows_syn_ledger_is_told(source: str, knows: bool, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(source)
    assert knows_syn_ledger(tmp_path / "module.py") is knows


def test_every_folder_of_the_package_is_under_the_rule() -> None:
    rule = (ROOT / "pyproject.toml").read_text()
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert [name for name in folders if f'chase.{name}"' not in rule and f"chase.{name})" not in rule] == []


PROBE = """
import json, sys, threading
import {module}
print(json.dumps([sorted({{name.split(".")[0] for name in sys.modules}}), threading.active_count()]))
"""


def test_the_command_line_imports_no_extra(tmp_path: Path) -> None:
    ended = probe("chase.cli.main", tmp_path)
    modules, threads = json.loads(ended.stdout)
    assert not EXTRAS & set(modules)
    assert threads == 1


def probe(module: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Imports a module in a process of its own, in an empty folder that is also its home."""
    environment = {**os.environ, "HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", PROBE.format(module=module)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )


def test_importing_everything_writes_and_says_nothing(tmp_path: Path) -> None:
    names = [
        ".".join(("chase", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "__main__.py"
    ]
    ended = probe(", ".join(names), tmp_path)
    assert ended.stderr == ""
    assert len(ended.stdout.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
