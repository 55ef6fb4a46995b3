"""The registry: built-in benchmarks and installed ones by one way, and one clear sentence for what cannot be opened."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from chase.benchmarks.registry import (
    BUILT_IN,
    DEFAULT,
    BenchmarkEntry,
    base_name,
    benchmark_names,
    find_entry,
    open_benchmark,
)
from chase.cli.bench import app
from chase.core.errors import SetupError, UserError

Install = Callable[..., None]

GOOD = """
from pathlib import Path
from types import SimpleNamespace

from chase.benchmarks.registry import BenchmarkEntry
from chase.core.errors import UserError


def open_pages(name, data=None, **more):
    if data is None:
        raise UserError("pages needs --data.")
    return SimpleNamespace(name=name, base="pages", pages=sorted(path.name for path in Path(data).iterdir()))


ENTRY = BenchmarkEntry(name="pages", summary="pages of a folder", pattern="pages[@SEED]", open=open_pages)
OTHER = BenchmarkEntry(name="other", summary="another", pattern="other", open=open_pages)
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package in a folder on the path, as an installer leaves it: its module, and a dist-info folder."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def installed(package: str, source: str, **points: str) -> None:
        """`points` are its entry points: name → attribute of the module."""
        (folder / f"{package}.py").write_text(source)
        info = folder / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = "\n".join(f"{name.replace('_', '-')} = {package}:{attribute}" for name, attribute in points.items())
        (info / "entry_points.txt").write_text(f"[chase.benchmarks]\n{lines}\n")
        monkeypatch.delitem(sys.modules, package, raising=False)

    return installed


def test_the_built_in_ones_come_first_and_one_of_them_is_the_default(install: Install) -> None:
    install("chase_pages_first", GOOD, pages="ENTRY")
    assert benchmark_names()[: len(BUILT_IN)] == list(BUILT_IN)
    assert "pages" in benchmark_names()
    assert DEFAULT == "syn-ledger"
    entry = find_entry("syn-ledger@7x40")
    assert (entry.name, bool(entry.summary), bool(entry.pattern)) == ("syn-ledger", True, True)


@pytest.mark.parametrize(
    "name", ["syn-ledger", "syn-ledger@7", "syn-ledger@7x40", "syn-ledger:a+b", "syn-ledger/evo64"]
)
def test_a_base_name_is_what_stands_before_seed_size_and_features(name: str) -> None:
    assert base_name(name) == "syn-ledger"


def test_an_installed_benchmark_is_found_and_opened_with_its_data(install: Install, tmp_path: Path) -> None:
    install("chase_pages", GOOD, pages="ENTRY")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "one.md").touch()
    entry = find_entry("pages@3")
    assert isinstance(entry, BenchmarkEntry)
    assert entry.summary == "pages of a folder"
    opened = open_benchmark("pages@3", tmp_path / "data")
    assert (opened.name, opened.base, opened.pages) == ("pages@3", "pages", ["one.md"])  # type: ignore[attr-defined]
    with pytest.raises(UserError, match="pages needs --data"):
        open_benchmark("pages")


def test_an_unknown_name_is_answered_with_all_that_there_are(install: Install) -> None:
    install("chase_pages_known", GOOD, pages="ENTRY")
    with pytest.raises(
        UserError, match=r"unknown benchmark 'page'\. Did you mean 'pages'\? Valid: syn-ledger,.* pages"
    ):
        find_entry("page@7")


BROKEN = {
    "missing_dependency": (
        "import no_such_package_anywhere\n",
        "ENTRY",
        "ModuleNotFoundError: No module named 'no_such",
    ),
    "raises": ("raise RuntimeError('not today\\nnor tomorrow')\n", "ENTRY", "RuntimeError: not today nor tomorrow"),
    "missing_attribute": ("", "ENTRY", "AttributeError"),
    "not_python": ("def (", "ENTRY", "SyntaxError"),
}
WRONG = {
    "no_entry": (GOOD, "open_pages"),
    "other_name": (GOOD, "OTHER"),
    "a_dict": ("ENTRY = {'name': 'pages'}\n", "ENTRY"),
    "nothing": ("ENTRY = None\n", "ENTRY"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_one_that_cannot_be_imported_is_one_sentence_and_spoils_no_other(install: Install, fault: str) -> None:
    source, attribute, reason = BROKEN[fault]
    install(f"chase_{fault}", source, broken=attribute)
    install(f"chase_beside_{fault}", GOOD, pages="ENTRY")
    assert {"broken", "pages", "syn-ledger"} <= set(benchmark_names())
    assert find_entry("pages").name == "pages"
    assert find_entry("syn-ledger").name == "syn-ledger"
    with pytest.raises(SetupError) as caught:
        open_benchmark("broken@7")
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.startswith(f"benchmark 'broken' cannot be loaded from chase_{fault}:ENTRY: ")
    assert reason in sentence
    assert sentence.endswith("Mend or uninstall the package that brings it.")


@pytest.mark.parametrize("fault", WRONG)
def test_one_that_is_no_entry_of_its_name_is_one_sentence_and_spoils_no_other(install: Install, fault: str) -> None:
    source, attribute = WRONG[fault]
    install(f"chase_{fault}", source, wrong=attribute)
    install(f"chase_beside_{fault}", GOOD, pages="ENTRY")
    with pytest.raises(
        SetupError, match=r"benchmark 'wrong': its entry point must lead to a BenchmarkEntry of this name\.$"
    ):
        find_entry("wrong")
    assert find_entry("pages").name == "pages"


def test_the_list_of_benchmarks_has_the_others_and_says_what_is_wrong(install: Install) -> None:
    install("chase_listed", GOOD, pages="ENTRY", no_entry="open_pages")
    install("chase_unlisted", "raise RuntimeError('not today')\n", broken="ENTRY")
    shown = CliRunner().invoke(app, ["list", "--json"])
    assert shown.exit_code == 0
    assert {"syn-ledger", "pages"} <= {entry["name"] for entry in json.loads(shown.stdout)["benchmarks"]}
    assert not {"broken", "no-entry"} & {entry["name"] for entry in json.loads(shown.stdout)["benchmarks"]}
    told = [line for line in shown.stderr.splitlines() if line]
    assert len(told) == 2
    assert all(any(f"benchmark '{name}'" in line for line in told) for name in ("broken", "no-entry"))


def test_no_installed_benchmark_takes_a_built_in_ones_place(install: Install) -> None:
    install("chase_impostor", GOOD.replace('"pages"', '"syn-ledger"'), **{"syn-ledger": "ENTRY"})
    assert benchmark_names().count("syn-ledger") == 1
    assert find_entry("syn-ledger").summary != "pages of a folder"


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    probe = (
        "import sys, chase.benchmarks.registry as registry; registry.benchmark_names(); "
        "print([name for name in sys.modules if name.startswith('chase.benchmarks.')])"
    )
    ended = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=120)
    assert ended.stdout == "['chase.benchmarks.registry']\n"
