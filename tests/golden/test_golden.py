"""Syn-Ledger's numbers are what they were, whatever the structure around them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.golden.record import GOLDEN, record


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(record(tmp_path_factory.mktemp("golden"))))
    return found


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return kept


@pytest.mark.slow
@pytest.mark.xdist_group("golden")
@pytest.mark.parametrize("part", ["rollout", "evolve", "audit"])
def test_the_numbers_are_the_golden_ones(made: dict[str, Any], golden: dict[str, Any], part: str) -> None:
    assert made[part] == golden[part]


def test_the_golden_file_holds_something_of_everything(golden: dict[str, Any]) -> None:
    assert all(len(set(scores.values())) > 1 for scores in golden["rollout"].values())
    assert golden["evolve"]["chase"]["archive"]
    assert {name for run in golden["evolve"].values() for name in run["final"]} > {"harness.toml", "prompt.md"}
    assert golden["audit"]["found"]
    assert len(golden["evolve"]["chase"]["estimates"]) > 20
