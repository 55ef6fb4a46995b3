"""Rows of a study are kept, and those that other code made are not mixed in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from studies import running


def double(case: Mapping[str, Any]) -> list[running.Row]:
    if case["n"] < 0:
        raise ValueError("was to be done already")
    return [{"n": 2 * case["n"]}]


def test_finished_cases_are_not_done_again_by_the_same_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "RESULTS", tmp_path)
    assert running.rows_of("made-up", [{"n": 1}, {"n": 2}], double) == [{"n": 2}, {"n": 4}]
    kept = tmp_path / "made-up.rows.jsonl"
    kept.write_text(kept.read_text().replace('"rows": [{"n": 4}]', '"rows": [{"n": 5}]'))
    assert running.rows_of("made-up", [{"n": 2}, {"n": 1}], double) == [{"n": 5}, {"n": 2}]
    monkeypatch.setattr(running, "code_digest", lambda _: "other code")
    assert running.rows_of("made-up", [{"n": 2}], double) == [{"n": 4}]


def test_the_code_is_the_package_and_the_study_but_not_what_prints() -> None:
    assert running.code_digest(double) == running.code_digest(double)
    assert running.code_digest(double) != running.code_digest(pytest.fixture)
