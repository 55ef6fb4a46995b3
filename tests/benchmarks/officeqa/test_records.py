"""Questions from CSV: both releases as published, and one sentence for whatever is wrong."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.officeqa.components import components
from chase.benchmarks.officeqa.records import Question, read_questions
from chase.benchmarks.officeqa.releases import RELEASES, facts
from chase.benchmarks.officeqa.sources import files_of_records, files_of_urls, listed_files, stem
from chase.core.errors import ChaseError, SetupError, UserError

URL = "https://example.org/title/treasury-bulletin-407/{}?page=15"
FULL = {
    "uid": "UID0001",
    "question": "How much was it, in millions?",
    "answer": "1,234",
    "source_docs": URL.format("march-1941-6529"),
    "source_files": "treasury_bulletin_1941_01.txt",
    "difficulty": "easy",
}
SECOND = FULL | {"uid": "UID0002", "question": 'A second one, "quoted"\nand broken?', "difficulty": "hard"}
PRO = {
    "uid": "P1",
    "question": "How much?",
    "answer": "7",
    "source_docs": "corpus_file=cs-1872.json | pdf_page_number=3 | year=1872 | description=Receipts; by state, "
    "customs;corpus_file=combined__cs-1873 | pdf_page_number=4",
}


def table(*rows: dict[str, str]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def written(folder: Path, content: str | bytes) -> Path:
    file = folder / "questions.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def test_a_full_record_has_the_sources_of_its_files_and_urls(tmp_path: Path) -> None:
    first, second = read_questions(written(tmp_path, table(FULL, SECOND)), "full")
    assert first == Question(
        uid="UID0001",
        question="How much was it, in millions?",
        answer="1,234",
        sources=("treasury_bulletin_1941_01", "treasury_bulletin_1941_03"),
        difficulty="easy",
    )
    assert second.question == 'A second one, "quoted"\nand broken?'


def test_a_pro_v2_record_has_the_files_of_its_records_and_no_difficulty(tmp_path: Path) -> None:
    (read,) = read_questions(written(tmp_path, table(PRO)), "pro-v2")
    assert read.sources == ("combined__cs-1873", "cs-1872")
    assert read.difficulty is None


def test_answers_need_not_be_there_and_are_not_read(tmp_path: Path) -> None:
    bare = {column: value for column, value in FULL.items() if column != "answer"}
    assert read_questions(written(tmp_path, table(bare)), "full", answers=False)[0].answer == ""
    assert read_questions(written(tmp_path, table(FULL)), "full", answers=False)[0].answer == ""
    with pytest.raises(UserError, match="no column answer"):
        read_questions(written(tmp_path, table(bare)), "full")


def test_a_byte_order_mark_blank_rows_and_crlf_are_no_matter(tmp_path: Path) -> None:
    content = "\ufeff" + table(FULL, SECOND) + "\r\n,,,,,\r\n"
    assert len(read_questions(written(tmp_path, content), "full")) == 2


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (table(FULL).splitlines()[0], "holds no questions"),
        (table(FULL).encode("utf-16"), "is not UTF-8"),
        (table(FULL | {"question": "Señor?"}).encode("latin-1"), "is not UTF-8"),
        (table(FULL).replace("How", "\0"), "zero bytes"),
        (table(FULL)[:-20] + '"never closed', "columns and the header 6; the CSV is damaged"),
        (table(FULL) + '"never closed', "the CSV is damaged"),
        (table(FULL) + 'UID2,"a"b,1,2,3,easy', "the CSV is damaged"),
        (table(FULL) + "UID2,what", "the row has 2 columns and the header 6"),
        (table(FULL).replace("source_docs", "sources"), "no column source_docs; it has uid"),
        (table(FULL).replace("source_docs", "uid"), "no column source_docs"),
        (table(FULL, FULL | {"question": "Other?"}), "uid='UID0001' is there twice"),
        (table(FULL, FULL | {"uid": "UID0002"}), "question='How much was it, in millions\\?' is there twice"),
        (table(FULL | {"uid": " "}), "line 2: the uid is empty"),
        (table(FULL | {"question": ""}), "the question is empty"),
        (table(FULL | {"answer": ""}), "the answer is empty"),
        (table(FULL | {"difficulty": "medium"}), "difficulty='medium' is unknown. Valid: easy, hard"),
        (table(FULL, SECOND | {"difficulty": ""}), "difficulty is empty for uid=UID0002"),
        (table(FULL | {"source_docs": "https://example.org/about"}), "uid=UID0001.*names no file"),
        (table(FULL | {"source_docs": "", "source_files": " ; "}), "a source has no name"),
        (table(FULL | {"source_files": ".txt"}), "a source has no name"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence) as refused:
        read_questions(written(tmp_path, content), "full")
    assert str(tmp_path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_pro_v2_source_without_a_name_and_a_missing_file_are_told(tmp_path: Path) -> None:
    for source in ("pdf_page_number=4 | year=1872", "corpus_file= | year=1872", f"{PRO['source_docs']};year=1872"):
        with pytest.raises(UserError, match=r"uid=P1.*corpus_file=NAME"):
            read_questions(written(tmp_path, table(PRO | {"source_docs": source})), "pro-v2")
    with pytest.raises(SetupError, match="is missing"):
        read_questions(tmp_path / "none.csv", "full")
    with pytest.raises(SetupError, match="cannot be read"):
        read_questions(tmp_path, "full")


@pytest.mark.parametrize("separator", ["\n", "\r\n", ";", ",", " ; ", ", ", "\n\n"])
def test_lists_of_sources_are_separated_in_any_way(separator: str) -> None:
    assert listed_files(separator.join(("a_1.txt", "b/c.txt"))) == ("a_1", "c")
    urls = separator.join((URL.format("January-1999-1"), URL.format("december-2001-22")))
    assert files_of_urls(urls, "here") == ("treasury_bulletin_1999_01", "treasury_bulletin_2001_12")
    assert listed_files("['a.txt', 'b.txt']") == ("a", "b")


def test_names_keep_their_dots_and_descriptions_their_semicolons() -> None:
    assert stem("data/no.5_report.txt") == "no.5_report"
    assert files_of_records("corpus_file=a | description=x; y; z\ncorpus_file=b", "here") == ("a", "b")


def asked(uid: str, *sources: str) -> Question:
    return Question(uid=uid, question=uid, answer="1", sources=sources, difficulty=None)


def test_components_join_questions_through_others() -> None:
    questions = [asked("d", "s4"), asked("a", "s1"), asked("c", "s2", "s3"), asked("b", "s1", "s3"), asked("e", "s5")]
    found = [[question.uid for question in component] for component in components(questions)]
    assert found == [["a", "b", "c"], ["d"], ["e"]]
    assert components(questions[::-1]) == components(questions)


def test_published_figures_are_the_papers() -> None:
    full, pro = RELEASES["full"], RELEASES["pro-v2"]
    assert (full.csv, full.questions, full.documents, full.source_files, full.components) == (
        "officeqa_full.csv",
        246,
        697,
        296,
        100,
    )
    assert (pro.csv, pro.questions, pro.documents, pro.source_files) == ("officeqa_pro_v2.csv", 90, 1435, None)


def manifest(**full: Any) -> str:
    return json.dumps({"schema": "chase.officeqa-sample/1", "synthetic": True, "seed": 7, "releases": {"full": full}})


def test_a_sample_states_its_own_figures(tmp_path: Path) -> None:
    assert facts(tmp_path, "full") == RELEASES["full"]
    (tmp_path / "sample.json").write_text(manifest(questions=24, documents=25, source_files=30, components=12))
    own = facts(tmp_path, "full")
    assert (own.name, own.csv, own.questions, own.documents) == ("full", "officeqa_full.csv", 24, 25)
    assert (own.source_files, own.components) == (30, 12)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "cannot be read as JSON"),
        ("[]", "has no schema=chase.officeqa-sample/1"),
        (manifest(questions="many", documents=3), "questions='many' is no count"),
        (manifest(questions=24), "documents=None is no count"),
        ('{"schema": "chase.officeqa-sample/1"}', "describes no release 'full'"),
    ],
)
def test_a_sample_manifest_that_says_nothing_useful_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "sample.json").write_text(text)
    with pytest.raises(ChaseError, match=sentence):
        facts(tmp_path, "full")
