"""`chase officeqa sample` and `layout` as a user meets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Commands

SMALL = ("--documents", 12, "--questions", 24, "--document-kilobytes", 5, "--seed", 101)


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
    assert (payload["synthetic"], payload["counts"]["documents"]) == (True, 12)
    assert [row["count"] for row in payload["paper"]] == [143, 63747, 63747, 25253]
    assert "SYNTHETIC" in chase("officeqa", "layout", "--data", tmp_path / "data").out


def test_a_release_that_is_unknown_and_a_folder_without_data_are_one_sentence(chase: Commands, tmp_path: Path) -> None:
    wrong = chase("officeqa", "sample", "--release", "ful", "--out", tmp_path / "x")
    assert (wrong.code, "Did you mean 'full'?" in wrong.err) == (2, True)
    missing = chase("officeqa", "layout", "--data", tmp_path)
    assert (missing.code, "officeqa_full.csv is missing" in missing.sentence) == (3, True)


@pytest.mark.parametrize(
    ("documents", "questions", "told"),
    [
        (48, 23, "--questions=23 cannot be split into the paper's six roles. Ask for 24 to 246."),
        (697, 247, "--questions=247 cannot be split into the paper's six roles. Ask for 24 to 246."),
        (6, 24, "--questions=24 on --documents=6 cannot be split into the paper's six roles"),
        (3, 24, "--documents=3 is too few"),
    ],
)
def test_a_sample_that_could_not_be_split_is_refused_before_anything_is_made(
    chase: Commands, tmp_path: Path, documents: int, questions: int, told: str
) -> None:
    sizes = ("--documents", documents, "--questions", questions, "--seed", 101)
    refused = chase("officeqa", "sample", *sizes, "--out", tmp_path / "data")
    assert (refused.code, told in refused.sentence) == (2, True), refused.sentence
    assert "synthetic full sample" not in refused.err
    assert list(tmp_path.iterdir()) == []


def test_the_number_of_documents_that_a_refusal_names_is_enough(chase: Commands, tmp_path: Path) -> None:
    few = ("--questions", 24, "--document-kilobytes", 5, "--seed", 101, "--out", tmp_path / "data")
    refused = chase("officeqa", "sample", "--documents", 6, *few)
    assert "Ask for --documents=12." in refused.sentence
    assert chase("officeqa", "sample", "--documents", 12, *few).code == 0
    split = chase.json("officeqa", "splits", "--questions", tmp_path / "data" / "officeqa_full.csv")
    sizes = {role: about["questions"] for role, about in split["roles"].items()}
    assert sizes == {"evo": 5, "disc": 5, "conf1": 2, "conf2": 2, "conf3": 2, "cert": 8}


def test_a_sample_of_the_other_release_has_no_splits_and_may_be_small(chase: Commands, tmp_path: Path) -> None:
    asked = ("--release", "pro-v2", "--documents", 6, "--questions", 4, "--document-kilobytes", 5)
    assert chase("officeqa", "sample", *asked, "--out", tmp_path / "data").code == 0
