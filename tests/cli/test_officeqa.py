"""`chase officeqa`: scores and splits as a user meets them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.benchmarks.officeqa.questions import in_components, shapes_of
from tests.cli.commands import Commands, checked

VECTORS = Path(__file__).parents[1] / "data" / "officeqa_fuzzy_match_vectors.jsonl"
PAIRS = [("1,234", "1234"), ("7 million", "7 billion"), ("9", None)]
RELEASED = "def fuzzy_match_answer(ground_truth, predicted, tolerance):\n    return {}, 'reason'\n"


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(monkeypatch, capsys)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.jsonl"
    lines = [json.dumps({"ground_truth": truth, "predicted": predicted, "more": 1}) for truth, predicted in PAIRS]
    file.write_text("\n".join(lines) + "\n\n")
    return file


def questions_file(folder: Path, *, labels: bool = True, groups: int = 100) -> Path:
    """A CSV of 246 questions without answers."""
    file = folder / "questions.csv"
    with file.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["uid", "question", "source_docs", "source_files", "difficulty"])
        for question in in_components(shapes_of(246, groups, 1), labels=labels):
            rows.writerow([question.uid, question.question, "", "\n".join(question.sources), question.difficulty])
    return file


def test_pairs_are_scored_in_their_order(chase: Commands, pairs: Path) -> None:
    payload = chase.json("officeqa", "score", "--pairs", pairs)
    assert (payload["schema"], payload["n"], payload["correct"]) == ("chase.officeqa.score/1", 3, 1)
    assert [(pair["ground_truth"], pair["predicted"]) for pair in payload["pairs"]] == PAIRS
    assert [pair["correct"] for pair in payload["pairs"]] == [True, False, False]
    assert chase("officeqa", "score", "--pairs", pairs).out == "1 of 3 correct\n"


def test_the_released_verdicts_are_printed_for_their_file(chase: Commands) -> None:
    payload = chase.json("officeqa", "score", "--pairs", VECTORS)
    vectors = [json.loads(line) for line in VECTORS.read_text(encoding="utf-8").splitlines()]
    assert payload["pairs"] == vectors


def test_a_released_script_that_agrees_and_one_that_differs(chase: Commands, pairs: Path, tmp_path: Path) -> None:
    script = tmp_path / "reward.py"
    script.write_text(RELEASED.format("predicted == '1234'"))
    agreed = chase.json("officeqa", "score", "--pairs", pairs, "--official", script)
    assert agreed["official"] == {"n": 3, "agree": 3, "raised": 0, "differences": []}
    script.write_text(RELEASED.format("7 if predicted[0] == '7' else 0"))
    ended = chase("officeqa", "score", "--pairs", pairs, "--official", script, "--json")
    official = checked(ended.out)["official"]
    assert (ended.code, official["agree"], official["raised"]) == (6, 1, 1)
    assert [(found["pair"], found["ours"], found["official"]) for found in official["differences"]] == [
        (1, True, False),
        (2, False, True),
    ]
    assert "differ in 2 of 3 pairs" in ended.sentence
    told = chase("officeqa", "score", "--pairs", pairs, "--official", script).out.splitlines()
    assert told[1:] == [
        "the released function agrees on 1 of 3 (it raised an error on 1, which counts as wrong)",
        "pair 1: ours correct; '1,234' against '1234'",
        "pair 2: ours wrong; '7 million' against '7 billion'",
    ]


@pytest.mark.parametrize(
    ("content", "code", "sentence"),
    [
        (None, 3, "is missing"),
        (b"", 2, "holds no pairs"),
        (b"\xff", 2, "is not UTF-8"),
        (b"{", 2, "line 1: this is no JSON object"),
        (b'{"ground_truth": 1, "predicted": "1"}', 2, "ground_truth is missing or no text"),
        (b'{"ground_truth": "1", "predicted": "1"}\n{"ground_truth": "1"}', 2, "line 2: predicted is missing"),
    ],
)
def test_a_file_that_holds_no_pairs_is_one_sentence(
    chase: Commands, tmp_path: Path, content: bytes | None, code: int, sentence: str
) -> None:
    file = tmp_path / "pairs.jsonl"
    if content is not None:
        file.write_bytes(content)
    ended = chase("officeqa", "score", "--pairs", file)
    assert (ended.code, ended.out) == (code, "")
    assert sentence in ended.sentence


def test_questions_without_answers_are_split_as_in_the_paper(chase: Commands, tmp_path: Path) -> None:
    file = questions_file(tmp_path)
    payload = chase.json("officeqa", "splits", "--questions", file)
    assert (payload["questions"], payload["components"], payload["difficulty"]) == (246, 100, True)
    roles = payload["roles"]
    assert {role: about["questions"] for role, about in roles.items()} == {
        "evo": 49,
        "disc": 49,
        "conf1": 24,
        "conf2": 24,
        "conf3": 24,
        "cert": 76,
    }
    assert all((roles[role]["easy"], roles[role]["linked"]) == (11, 11) for role in ("conf1", "conf2", "conf3"))
    assert [roles["evo"]["linked"], roles["disc"]["linked"], roles["cert"]["linked"]] == [0, 49, 0]
    assert len({uid for about in roles.values() for uid in about["uids"]}) == 246
    told = chase("officeqa", "splits", "--questions", file).out
    assert "246 questions" in told
    assert "conf2   24 questions" in told
    assert "11 easy, 13 hard, 11 from components in disc" in told


def test_questions_without_labels_are_split_and_it_is_said(chase: Commands, tmp_path: Path) -> None:
    file = questions_file(tmp_path, labels=False)
    assert chase.json("officeqa", "splits", "--questions", file)["difficulty"] is False
    told = chase("officeqa", "splits", "--questions", file).out
    assert "There are no difficulty labels: easy and hard questions are not balanced." in told
    assert " easy, " not in told


def test_questions_that_cannot_be_split_and_an_unknown_release_are_one_sentence(
    chase: Commands, tmp_path: Path
) -> None:
    file = questions_file(tmp_path, groups=246)
    ended = chase("officeqa", "splits", "--questions", file)
    assert (ended.code, ended.out) == (2, "")
    assert "11 questions in each confirmation set whose components are also in disc" in ended.sentence
    ended = chase("officeqa", "splits", "--questions", file, "--release", "fool")
    assert (ended.code, ended.sentence) == (
        2,
        "chase: unknown release 'fool'. Did you mean 'full'? Valid: full, pro-v2.",
    )
