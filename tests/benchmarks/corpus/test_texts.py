"""Documents on disk: read when they are asked for, known without reading, and a change is noticed."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chase.benchmarks.corpus import texts as corpus_module
from chase.benchmarks.corpus.texts import Corpus, decode, document_paths, file_facts, split_lines
from chase.benchmarks.officeqa.contents import document_id, identify
from chase.core.errors import IntegrityError, UserError

TEXTS = {"treasury_bulletin_1939_01": "Receipts\n\nTotal 1\n", "treasury_bulletin_1939_02": "Outlays", "empty": ""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "texts"
    made.mkdir()
    for stem, text in TEXTS.items():
        (made / f"{stem}.txt").write_text(text)
    return made


def _count_lines(content: bytes, path: Path) -> int:
    return len(split_lines(decode(content, path)))


def opened(folder: Path, told: list[str] | None = None) -> Corpus:
    tell = (told if told is not None else []).append
    return Corpus(file_facts(document_paths(folder), folder.parent / "known.json", tell, _count_lines), identify)


def test_documents_have_identifiers_that_tell_nothing_and_stay(folder: Path) -> None:
    corpus = opened(folder)
    assert corpus.ids == tuple(sorted(document_id(stem) for stem in TEXTS))
    assert {corpus.names[id_] for id_ in corpus.ids} == {f"{stem}.txt" for stem in TEXTS}
    assert not any(character in "aeiou0123456789_" for id_ in corpus.ids for character in id_)
    assert document_id("treasury_bulletin_1939_01") == "vhhhjjdjph"


def test_lines_and_their_counts(folder: Path) -> None:
    corpus = opened(folder)
    id_ = document_id("treasury_bulletin_1939_01")
    assert corpus.lines(id_) == ("Receipts", "", "Total 1")
    assert corpus.lines(document_id("empty")) == ()
    assert {corpus.names[id_]: count for id_, count in corpus.line_counts.items()} == {
        "treasury_bulletin_1939_01.txt": 3, "treasury_bulletin_1939_02.txt": 1, "empty.txt": 0,
    }  # fmt: skip


@given(lines=st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))))
def test_nothing_but_lf_crlf_and_cr_ends_a_line(lines: list[str]) -> None:
    for end in ("\n", "\r\n", "\r"):
        assert split_lines("".join(f"{line}{end}" for line in lines)) == tuple(lines)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.lists(st.sampled_from(["a", "é ", "\n", "\r", "\r\n", "\ufeff", "\u2028", "\x0c"])).map("".join),
    start=st.integers(1, 12),
    length=st.integers(0, 12),
)
def test_a_part_read_by_itself_is_that_part_of_the_whole(tmp_path: Path, text: str, start: int, length: int) -> None:
    (tmp_path / "empty.txt").write_bytes(text.encode())
    corpus, id_ = opened(tmp_path), document_id("empty")
    whole = corpus.lines(id_)
    assert corpus.lines(id_, start, start + length - 1) == whole[start - 1 : start + length - 1]
    assert corpus.lines(id_, start) == whole[start - 1 :]


def test_a_byte_order_mark_is_no_part_of_the_first_line(folder: Path) -> None:
    (folder / "empty.txt").write_bytes(b"\xef\xbb\xbfNet\r\nTotal")
    assert opened(folder).lines(document_id("empty")) == ("Net", "Total")


def test_the_content_hash_covers_every_name_and_every_byte(folder: Path) -> None:
    hashes = [opened(folder).content_hash]
    path = folder / "treasury_bulletin_1939_02.txt"
    path.write_text("Outlayz")
    hashes.append(opened(folder).content_hash)
    path.rename(folder / "treasury_bulletin_1939_03.txt")
    hashes.append(opened(folder).content_hash)
    assert len(set(hashes)) == 3


def test_opening_again_reads_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    first = opened(folder, told)
    assert told == [f"reading documents {n}/3" for n in (1, 2, 3)]

    def never(path: Path) -> bytes:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(corpus_module, "read_bytes", never)
    assert opened(folder).content_hash == first.content_hash


def test_only_a_changed_document_is_read_again(folder: Path) -> None:
    opened(folder)
    (folder / "empty.txt").write_text("no more")
    told: list[str] = []
    assert opened(folder, told).lines(document_id("empty")) == ("no more",)
    assert told == ["reading documents 1/3"]


def test_a_change_that_keeps_the_size_is_noticed_by_its_time(folder: Path) -> None:
    before = opened(folder).content_hash
    path = folder / "treasury_bulletin_1939_02.txt"
    state = path.stat()
    path.write_text("0utlays")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert opened(folder).content_hash != before


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"format": 0, "documents": {}}',
        b'{"format": 1, "documents": {"a": 1}}',
        b'{"format": 1, "documents": [1]}',
        b'{"format": 1, "documents": {"treasury_bulletin_1939_01.txt": ["1", 2, 3, null]}}',
    ],
)
def test_a_memory_that_cannot_be_read_is_made_anew(folder: Path, content: bytes) -> None:
    expected = opened(folder).content_hash
    (folder.parent / "known.json").write_bytes(content)
    assert opened(folder).content_hash == expected


def test_a_document_that_changes_or_goes_while_the_corpus_is_open_is_refused(folder: Path) -> None:
    corpus, id_ = opened(folder), document_id("treasury_bulletin_1939_02")
    corpus.lines(id_)
    path = folder / "treasury_bulletin_1939_02.txt"
    path.write_text("Outlays and more")
    with pytest.raises(IntegrityError, match=r"1939_02\.txt was changed while it was in use"):
        corpus.lines(id_)
    path.unlink()
    with pytest.raises(IntegrityError, match=r"1939_02\.txt is gone"):
        corpus.lines(id_)


def test_few_documents_are_kept_in_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "KEPT_DOCUMENTS", 2)
    corpus = opened(folder)
    for id_ in corpus.ids:
        corpus.lines(id_)
    assert corpus._whole.cache_info().currsize == 2


def test_a_document_that_is_not_utf_8_is_one_sentence(folder: Path) -> None:
    (folder / "empty.txt").write_bytes(b"caf\xe9")
    with pytest.raises(UserError, match=r"empty\.txt is not UTF-8 \(byte 3\)\. Get the file again"):
        opened(folder)


def test_a_folder_without_documents_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"texts is missing\."):
        opened(tmp_path / "texts")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / ".hidden.txt").write_text("x")
    with pytest.raises(UserError, match=r"texts holds no document\."):
        opened(tmp_path / "texts")


def test_what_is_remembered_is_of_the_bytes(folder: Path) -> None:
    opened(folder)
    assert sha256(b"Outlays").hexdigest() in (folder.parent / "known.json").read_text()
