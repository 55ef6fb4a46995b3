"""`chase officeqa sample` and `layout` as a user meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Commands

SMALL = ("--documents", 6, "--questions", 4, "--document-kilobytes", 5, "--seed", 101)


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(monkeypatch, capsys)


def test_both_releases_go_into_one_folder_and_say_that_they_are_synthetic(chase: Commands, tmp_path: Path) -> None:
    said = chase("officeqa", "sample", *SMALL, "--out", tmp_path / "data")
    assert (said.code, "SYNTHETIC" in said.out, "synthetic" in said.err) == (0, True, True)
    payload = chase.json("officeqa", "sample", "--release", "pro-v2", *SMALL, "--out", tmp_path / "data")
    assert (payload["synthetic"], list(payload["releases"])) == (True, ["full", "pro-v2"])
    again = chase("officeqa", "sample", *SMALL, "--out", tmp_path / "data")
    assert (again.code, "already holds release 'full'" in " ".join(again.err.split())) == (2, True)


def test_a_layout_stands_beside_the_papers(chase: Commands, tmp_path: Path) -> None:
    chase("officeqa", "sample", *SMALL, "--out", tmp_path / "data")
    payload = chase.json("officeqa", "layout", "--data", tmp_path / "data")
    assert (payload["synthetic"], payload["counts"]["documents"]) == (True, 6)
    assert [row["count"] for row in payload["paper"]] == [143, 63747, 63747, 25253]
    assert "SYNTHETIC" in chase("officeqa", "layout", "--data", tmp_path / "data").out


def test_a_release_that_is_unknown_and_a_folder_without_data_are_one_sentence(chase: Commands, tmp_path: Path) -> None:
    wrong = chase("officeqa", "sample", "--release", "ful", "--out", tmp_path / "x")
    assert (wrong.code, "Did you mean 'full'?" in wrong.err) == (2, True)
    missing = chase("officeqa", "layout", "--data", tmp_path)
    assert (missing.code, "officeqa_full.csv is missing" in missing.sentence) == (3, True)
