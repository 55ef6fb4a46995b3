"""The paper's layout table: what is counted, and the paper's own figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from chase.benchmarks.officeqa.layout import PAPER, count_folder, count_layout, mentions_scale
from chase.core.errors import SetupError, UserError

TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |"
HEADER = "uid,question,answer,source_docs,source_files,difficulty\n"


@pytest.mark.parametrize("text", ["in Millions of dollars", "a thousand", "TRILLIONS!", "3-billion"])
def test_a_question_mentions_a_scale_as_a_whole_word(text: str) -> None:
    assert mentions_scale(text)


@pytest.mark.parametrize("text", ["millionaire", "hundreds of dollars", "mill", "in dollars", "thousandth"])
def test_other_questions_mention_none(text: str) -> None:
    assert not mentions_scale(text)


def test_adjacency_ignores_blank_lines_only() -> None:
    near = f"(In millions)\n\n\n{TABLE}\n\nNote: x"
    apart = f"(In millions)\nwords\n{TABLE}\nwords\nSource: x\n(Percent)"
    counted = count_layout([("near", near), ("apart", apart)], ["in millions", "how many"])
    assert (counted.documents, counted.tables, counted.unit_statements) == (2, 2, 3)
    assert (counted.units_before_table, counted.tables_before_note) == (1, 1)
    assert (counted.documents_with_unit_before_table, counted.documents_with_note_after_table) == (1, 1)
    assert (counted.questions_with_scale, counted.questions) == (1, 2)


def test_neighbouring_tables_are_told_apart_and_one_column_is_no_table() -> None:
    counted = count_layout([("two", f"Percent\n{TABLE}\n\n{TABLE}\nNote: x\n| a |\n| --- |\n| 1 |")], [])
    assert (counted.tables, counted.units_before_table, counted.tables_before_note) == (2, 1, 1)


def test_the_papers_figures_and_rates() -> None:
    rows = [(row.count, row.of, round(100 * (row.rate or 0), 1)) for row in PAPER.criteria]
    assert rows == [
        (143, 246, 58.1), (63_747, 66_951, 95.2), (63_747, 94_303, 67.6), (25_253, 94_303, 26.8),
    ]  # fmt: skip
    assert [row.documents for row in PAPER.criteria] == [None, 697, 697, 697]


def folder(path: Path, text: bytes | None) -> Path:
    (path / "officeqa_full.csv").write_text(f"{HEADER}U1,what,1,,treasury_bulletin_1978_03.txt,easy\n")
    texts = path / "treasury_bulletins_parsed" / "transformed"
    texts.mkdir(parents=True)
    if text is not None:
        (texts / "treasury_bulletin_1978_03.txt").write_bytes(text)
    return path


def test_a_corpus_without_documents_and_one_in_another_encoding_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with pytest.raises(SetupError, match=r"holds no \.txt files"):
        count_folder(folder(tmp_path / "a", None), print)
    with pytest.raises(UserError, match=r"1978_03\.txt is not UTF-8 \(byte 2\)"):
        count_folder(folder(tmp_path / "b", b"ab\xff"), print)


def test_nothing_to_count_has_no_rate() -> None:
    assert [row.rate for row in count_layout([], []).criteria] == [None] * 4
