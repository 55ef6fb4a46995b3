"""TAT-QA's shape, in a small file of our own making, becomes a benchmark that can be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.documents.examine import examine
from chase.benchmarks.documents.tat_qa import import_tat_qa
from chase.core.errors import ChaseError, SetupError

TABLE = [["", "2031", "2030"], ["Ferry fares", "1,204", "1,150"], ["Moorings | berths", "88"]]
PARAGRAPHS = [
    {"uid": "p2", "order": 2, "text": "Berths are let by the season\nor by the year."},
    {"uid": "p1", "order": 1, "text": "All amounts are in thousands of crowns."},
]
ASKED: list[dict[str, Any]] = [
    {"question": "What were ferry fares in 2031?", "answer": ["1,204"], "answer_type": "span", "scale": "thousand"},
    {"question": "How are berths let?", "answer": ["by the season", "by the year"], "answer_type": "multi-span"},
    {"question": "By how much did fares rise?", "answer": 4.7, "answer_type": "arithmetic", "scale": "percent"},
    {"question": "How many lines have amounts of 2030?", "answer": "1", "answer_type": "count"},
]
CONTEXTS = 6


def contexts() -> list[dict[str, Any]]:
    return [
        {
            "table": {"uid": f"t{number}", "table": TABLE},
            "paragraphs": PARAGRAPHS,
            "questions": [
                {"uid": f"q{number}-{place}", "order": place, "scale": "", "derivation": "", **asked}
                for place, asked in enumerate(ASKED)
            ],
        }
        for number in range(CONTEXTS)
    ]


@pytest.fixture
def released(tmp_path: Path) -> Path:
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(contexts()))
    return path


def imported(released: Path) -> Path:
    out = released.parent / "out"

    def made() -> Path:
        out.mkdir()
        return out

    assert import_tat_qa(released, made) == {"documents": CONTEXTS, "questions": CONTEXTS * len(ASKED)}
    return out


def test_what_is_imported_is_sound_and_a_context_is_a_group_with_one_document_as_evidence(released: Path) -> None:
    examined = examine(imported(released))
    assert examined.errors == []
    documents = {document.path: document.text for document in examined.documents}
    for question in examined.questions:
        (path,) = question.evidence
        number = documents[path].splitlines()[0].removeprefix("# Report ")
        assert len(number) == 5  # four digits may be a year
        assert question.question.startswith(f"In report {number}: ")
        assert question.group == f"t{question.id[1:].split('-')[0]}"
    assert len({question.evidence for question in examined.questions}) == CONTEXTS
    assert len(set(examined.roles.values())) == 6


def test_answers_of_every_type_are_written_with_their_scale(released: Path) -> None:
    rows = [json.loads(line) for line in (imported(released) / "questions.jsonl").open()]
    answers = {row["question"].partition(": ")[2]: row["answer"] for row in rows}
    assert list(answers.values()) == ["1,204 thousand", ["by the season", "by the year"], "4.7 percent", "1"]


def test_a_document_has_paragraphs_in_their_order_and_a_table_with_all_its_columns(released: Path) -> None:
    first = next((imported(released) / "documents").iterdir()).read_text().splitlines()
    assert first[1:] == [
        "",
        "All amounts are in thousands of crowns.",
        "",
        "Berths are let by the season or by the year.",
        "",
        "|  | 2031 | 2030 |",
        "| --- | --- | --- |",
        "| Ferry fares | 1,204 | 1,150 |",
        "| Moorings \\| berths | 88 |  |",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "no list of contexts"),
        (json.dumps([{**contexts()[0], "paragraphs": "none"}]), "context 0: paragraphs"),
        (json.dumps([contexts()[0], {"table": {"uid": "t", "table": []}}]), "context 1: table"),
    ],
)
def test_a_file_of_another_shape_is_told_and_nothing_is_written(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "dev.json"
    path.write_text(content)
    with pytest.raises(ChaseError, match=said):
        import_tat_qa(path, lambda: pytest.fail("a folder was made"))
    with pytest.raises(SetupError, match="is missing"):
        import_tat_qa(tmp_path / "other.json", lambda: pytest.fail("a folder was made"))
