"""docs/extending.md: the package that the page shows is installed as written, found by every command, and keeps its
contracts by the suites that the page shows."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import pytest

import chase as library
from chase.benchmarks.registry import find_entry, open_benchmark
from chase.core.errors import SetupError, UserError
from chase.methods.registry import find_method
from chase.protocol.extensions import installed_observables
from chase.runs.agent_plug_ins import PlugInAgent, find_agent, installed

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SOURCE = "\n\n".join(block for block in BLOCKS if "Conformance" not in block)
SUITES = "\n\n".join(["from my_plug_ins import *", *(block for block in BLOCKS if "Conformance" in block)])
(TOML,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
POINTS: dict[str, dict[str, str]] = tomllib.loads(TOML)["project"]["entry-points"]
Install = Callable[..., None]


def write_package(folder: Path, name: str, source: str, points: dict[str, dict[str, str]]) -> None:
    """As an installer leaves it: a module, and a dist-info folder with entry points."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"[{group}]\n" + "\n".join(f"{k} = {v}" for k, v in named.items()) for group, named in points.items()]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    folder = tmp_path / "site"
    monkeypatch.syspath_prepend(str(folder))

    def installed(name: str, source: str, points: dict[str, dict[str, str]]) -> None:
        write_package(folder, name, source, points)
        monkeypatch.delitem(sys.modules, name, raising=False)
        invalidate_caches()

    return installed


@pytest.fixture
def page(install: Install) -> Any:
    install("my_plug_ins", SOURCE, POINTS)
    return import_module("my_plug_ins")


def test_the_page_shows_one_of_each_with_its_suite() -> None:
    assert set(POINTS) == {f"chase.{of}s" for of in ("observable", "operator", "proposer", "challenger", "method")} | {
        "chase.benchmarks"
    }
    assert len(re.findall(r"class Test\w+\(\w+Conformance\)", SUITES)) == 6


def test_all_of_them_are_found_by_their_entry_points(page: Any) -> None:
    assert [o.name for o in installed_observables()] == ["commas"]
    assert "capital-titles" in open_benchmark("syn-ledger@7").allowlist
    assert (installed("proposer"), installed("challenger")) == (["note"], ["each-operator"])
    assert isinstance(find_agent("proposer", "note"), PlugInAgent)
    assert find_agent("challenger", "each-operator").name == "each-operator/1"
    assert find_method("one-shot").name == "one-shot"
    assert find_entry("patient-ledger@7").name == "patient-ledger"
    opened = open_benchmark("patient-ledger@7")
    assert (opened.name, opened.base) == ("patient-ledger@7", "patient-ledger")
    assert "capital-titles" not in opened.allowlist  # it is for another benchmark


@pytest.mark.slow
def test_they_keep_their_contracts_by_the_suites_of_the_page(tmp_path: Path) -> None:
    """In a process of its own, as the author of the package would run them."""
    site = tmp_path / "site"
    write_package(site, "my_plug_ins", SOURCE, POINTS)
    (tmp_path / "test_mine.py").write_text(SUITES)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-W", "ignore", "-p", "no:cacheprovider",
         "-c", "/dev/null", "--rootdir", ".", "test_mine.py"],
        cwd=tmp_path, env={"PYTHONPATH": str(site), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, text=True,
        capture_output=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    assert re.search(r"\d+ passed", done.stdout)


@pytest.mark.slow
def test_a_run_asks_the_installed_agents_under_the_installed_method(
    page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = {"split_sizes": "evo=4,disc=2,conf=2,cert=2", "rollouts": {"evo": 1, "disc": 1, "conf": 1, "cert": 1}}
    evolved = library.evolve(
        benchmark="syn-ledger@7", model="sim:reader", method="one-shot", proposer="note", no_certify=True, **small
    )
    assert evolved.payload["config"]["proposer"] == "note/1"
    (mine := tmp_path / "mine").mkdir()
    for name, text in page.render_files(library.initial_harness("syn-ledger@7")).items():
        (mine / name).write_text(text)
    (mine / "memory.md").write_text("Check every record twice.\n")
    audited = library.audit(
        benchmark="syn-ledger@7", model="sim:reader", harness="mine", challenger="each-operator", rounds=1,
        proposals=2, rollouts=1, split_sizes=small["split_sizes"], no_battery=True, anyway=True,
    )  # fmt: skip
    assert len(audited.payload["tried"]) == 2


def test_an_installed_observable_is_scanned(page: Any) -> None:
    few = open_benchmark("syn-ledger@7").fewer({"disc": 2, "conf1": 2, "conf2": 2, "conf3": 2})
    found = library.scan(benchmark=few, no_removal=True, variant="neutral")
    assert found.payload["observables"]["commas"] == "commas in the first window"


REVISES = "    async def revise(self, c, r): ..."
BROKEN: dict[str, tuple[str, str, str]] = {
    "not importable": ("proposer", "import no_such_module_anywhere", "No module named 'no_such"),
    "no name": ("proposer", f"class A:\n    async def propose(self, c): ...\n{REVISES}", "its name is no word"),
    "not async": (
        "challenger",
        f"class A:\n    name = 'a'\n    def challenge(self, c): ...\n{REVISES}",
        "it has no async challenge",
    ),
    "cannot be made": ("proposer", "class A:\n    def __init__(self, x): ...", "cannot be made: TypeError"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_an_agent_that_does_not_keep_the_contract_is_one_sentence(install: Install, fault: str) -> None:
    agent, source, said = BROKEN[fault]
    name = "mine"
    package = f"broken_{fault.replace(' ', '_')}"
    install(package, source, {f"chase.{agent}s": {name: f"{package}:A"}})
    with pytest.raises(SetupError) as caught:
        find_agent(agent, name)  # type: ignore[arg-type]
    assert said in str(caught.value)
    assert name in str(caught.value)


def test_one_name_in_two_packages_is_refused_with_both(install: Install) -> None:
    for package in ("first_of_two", "second_of_two"):
        install(package, SOURCE, {"chase.proposers": {"note": f"{package}:NoteProposer"}})
    with pytest.raises(UserError, match="first_of_two and second_of_two"):
        installed("proposer")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("X = 3", "must lead to an OperatorEntry"),
        (
            SOURCE.replace('name="capital-titles"', 'name="reverse"') + "\nX = CAPITAL_TITLES",
            "has an operator of this name",
        ),
    ],
)
def test_an_operator_that_cannot_be_used_is_one_sentence(install: Install, source: str, said: str) -> None:
    name = "reverse" if "reverse" in source else "capital-titles"
    package = f"operator_{name.replace('-', '_')}"
    install(package, source, {"chase.operators": {name: f"{package}:X"}})
    with pytest.raises(SetupError, match=said):
        open_benchmark("syn-ledger@7")


def test_an_agent_that_fails_is_told_as_its_own(install: Install) -> None:
    source = f"class A:\n    name = 'a'\n    async def propose(self, c):\n        raise KeyError('x')\n{REVISES}"
    install("failing_agent", source, {"chase.proposers": {"a": "failing_agent:A"}})
    agent: Any = find_agent("proposer", "a")
    with pytest.raises(SetupError, match=r"proposer 'a' of failing_agent failed: KeyError: 'x'\. Mend it"):
        asyncio.run(agent.propose(None))
    with pytest.raises(UserError, match="answered no list, but NoneType"):
        asyncio.run(agent.revise(None, ()))
