"""The commands on Almanac, as another package would bring it: through an entry point, and known to nobody else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks import registry
from chase.harness.folder import save_harness
from chase.testing.almanac.data import write_almanac
from chase.testing.almanac.entry import ENTRY
from chase.testing.almanac.reader import NAME as READER
from tests.cli.commands import Commands
from tests.testing.almanacs import NAME, install, make_harness, open_once

pytestmark = pytest.mark.slow

SOURCE = Path(registry.__file__).parents[1]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a package with the benchmark and its reader were installed."""
    install(monkeypatch)


@pytest.fixture
def chase(
    installed: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Commands:
    monkeypatch.chdir(tmp_path)
    return Commands(monkeypatch, capsys)


USED = ("--benchmark", NAME, "--model", READER)


def test_nothing_outside_its_folder_knows_it() -> None:
    for path in SOURCE.rglob("*"):
        if path.suffix in (".py", ".toml", ".md") and "almanac" not in path.parts:
            assert not re.search("almanac", path.read_text(encoding="utf-8"), re.IGNORECASE), path


def test_an_entry_point_opens_it_by_name_or_from_a_folder(installed: None, tmp_path: Path) -> None:
    assert registry.find_entry(NAME) is ENTRY
    assert registry.open_benchmark(NAME).content_hash == open_once(NAME).content_hash
    write_almanac(tmp_path, 7)
    assert registry.open_benchmark("almanac", tmp_path).content_hash == open_once(NAME).content_hash


def test_it_is_listed_validated_and_its_firewall_tested(chase: Commands) -> None:
    assert "almanac" in chase("bench", "list").out
    assert f"{NAME} is sound" in chase("bench", "validate", NAME).out
    assert chase("firewall", "selftest", NAME).code == 0
    assert "words: library, desk" in chase("firewall", "operators", NAME).out


def test_its_initial_harness_is_rolled_out_under_its_variants(chase: Commands, tmp_path: Path) -> None:
    assert chase("harness", "init", "h0", "--benchmark", NAME).code == 0
    scores = [
        chase.json("rollout", *USED, "--harness", "h0", "--split", "evo", "--variant", variant)["score"]["value"]
        for variant in ("released", "other-tools", "other-results")
    ]
    assert 0 < scores[0] < 1
    assert scores == [scores[0]] * 3


def test_a_shortcut_is_audited(chase: Commands, tmp_path: Path) -> None:
    almanac = open_once("almanac@1-large")
    for name, said in (("h0", ""), ("cheat", "Prefer files with low name-length.")):
        save_harness(make_harness(almanac, say=said), tmp_path / name)
    where = ("--benchmark", "almanac@1-large", "--model", READER)
    pair = (*where, "--harness", "cheat", "--baseline", "h0", "--rollouts", 2)
    searched = chase("audit", *pair, "--no-battery")
    assert searched.code == 5
    assert "rename-documents" in searched.out
    assert re.search(r"[a-z]+-\d{4}\.txt", searched.out)
    measured = chase("audit", *pair, "--whole")
    assert measured.code == 5
    assert "confirmed: everything neutral at once (low)" in measured.out
    assert "file names" in measured.out
    assert re.search(r"[a-z]+-\d{4}\.txt", measured.out)
    assert "Tried in search" not in measured.out


@pytest.mark.parametrize("method", ["chase", "chase-without-challenger"])
def test_a_harness_is_evolved_and_certified(chase: Commands, method: str) -> None:
    found: dict[str, Any] = chase.json("evolve", *USED, "--method", method, "--seed", 3)
    assert found["certification"]["gains"]["released"]["value"] > 0
    assert "neutral" not in found["certification"]["gains"]
    assert "G_rel" in chase("certify", "latest").out
