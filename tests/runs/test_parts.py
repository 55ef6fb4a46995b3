"""The time of a run is that of all its parts, those that were killed included."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from chase.core.errors import IntegrityError
from chase.runs.folder import RunFolder
from chase.runs.parts import PARTS, Parts
from chase.store.workspace import Workspace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds since 1970, as the test sets them."""
    now = [1000.0]
    monkeypatch.setattr("chase.runs.parts.time.time", lambda: now[0])
    return now


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(Workspace(tmp_path), "run")


def spend(parts: Parts, clock: list[float], seconds: float, *, stored: float = 0.0, anew: bool = False) -> None:
    with parts.under_way(Mock(last_stored=Mock(return_value=stored)), anew=anew):
        clock[0] += seconds


def test_parts_add_up_and_what_lies_between_does_not_count(folder: RunFolder, clock: list[float]) -> None:
    parts = Parts(folder)
    spend(parts, clock, 5)
    clock[0] += 100
    spend(parts, clock, 7)
    assert parts.seconds() == [5, 7]


def test_a_part_that_was_killed_ended_with_the_last_rollout_it_stored(folder: RunFolder, clock: list[float]) -> None:
    folder.write(PARTS, json.dumps([[1000.0, None]]))
    clock[0] = 2000.0
    parts = Parts(folder)
    spend(parts, clock, 1, stored=1012.0)
    assert parts.seconds() == [12, 1]


def test_a_part_that_was_killed_before_it_stored_anything_counts_nothing(folder: RunFolder, clock: list[float]) -> None:
    folder.write(PARTS, json.dumps([[1000.0, None]]))
    parts = Parts(folder)
    spend(parts, clock, 1)
    assert parts.seconds() == [0, 1]


def test_a_part_that_fails_counts_and_a_run_made_anew_begins_at_nothing(folder: RunFolder, clock: list[float]) -> None:
    parts = Parts(folder)
    with pytest.raises(TypeError):
        spend(parts, clock, "three")  # type: ignore[arg-type]
    assert parts.seconds() == [0]
    spend(parts, clock, 2, anew=True)
    assert parts.seconds() == [2]


def test_times_that_cannot_be_read_are_told_with_what_to_do(folder: RunFolder) -> None:
    folder.write(PARTS, "[[1")
    with pytest.raises(IntegrityError, match="Remove it: it only holds times"):
        Parts(folder).seconds()
