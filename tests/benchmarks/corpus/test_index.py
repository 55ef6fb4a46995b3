"""The index of passages: what is a word, what is found, in which order, and that a query is never a language."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chase.benchmarks.corpus import index as index_module
from chase.benchmarks.corpus.index import Documents, Hit, PassageIndex, open_index, words
from chase.benchmarks.corpus.passages import Passage, cut
from chase.core.errors import DiskError

TEXTS = {
    "kb": ["Receipts of the Treasury", "Net outlays were 1,234.5 in 1939.", "Estimate of outlays"],
    "ca": ["Total receipts", "text:receipts AND NOT outlays", "outlays outlays receipts"],
    "zz": ["", "nothing here", "net interest 1234"],
}


def documents(texts: dict[str, list[str]], length: int = 1) -> Documents:
    def run() -> Iterator[tuple[str, Sequence[str], Sequence[Passage]]]:
        for id_, lines in texts.items():
            yield id_, lines, cut(len(lines), length=length)

    return run


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> PassageIndex:
    return open_index("small", documents(TEXTS), tmp_path_factory.mktemp("index"))


def found(index: PassageIndex, query: str, match: str = "all", limit: int = 10) -> list[tuple[str, int]]:
    hits, _ = index.search(query, match=match, limit=limit)  # type: ignore[arg-type]
    return [(hit.document, hit.passage) for hit in hits]


def holding(texts: dict[str, list[str]], query: str, every: bool) -> set[tuple[str, int]]:
    """By looking at all passages."""
    wanted = set(words(query))
    places = {(id_, n): set(words(line)) for id_, lines in texts.items() for n, line in enumerate(lines, 1)}
    if not wanted:
        return set()
    return {place for place, has in places.items() if (wanted <= has if every else wanted & has)}


# Words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Net OUTLAYS, Über", ["net", "outlays", "über"]),
        ("1,234.5", ["1234.5"]),
        ("1234.5", ["1234.5"]),
        ("$1,234,567 (or 3.5%)", ["1234567", "or", "3.5"]),
        ("-12 1939. 1940", ["12", "1939", "1940"]),
        ("2011,2012 and 1,23", ["2011", "2012", "and", "1", "23"]),
        ("Table FFO-7, U.S.", ["table", "ffo", "7", "u", "s"]),
        ("treasury_bulletin_1939_01.txt", ["treasury", "bulletin", "1939", "01", "txt"]),
        ("| 4 | .5 | ..... 6 |", ["4", "5", "6"]),
        ("", []),
    ],
)
def test_words_are_what_a_reader_would_type(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_what_is_longer_than_250_bytes_is_no_word() -> None:
    assert words(f"{'x' * 250} {'y' * 251} {'é' * 125} {'é' * 126}") == ["x" * 250, "é" * 125]


def test_a_number_is_found_with_and_without_its_separators(index: PassageIndex) -> None:
    assert found(index, "1,234.5") == found(index, "1234.5") == [("kb", 2)]
    assert found(index, "1234") == found(index, "1,234") == [("zz", 3)]


# What is found


def test_all_wants_every_word_and_any_wants_one(index: PassageIndex) -> None:
    assert set(found(index, "receipts outlays")) == {("ca", 2), ("ca", 3)}
    assert set(found(index, "estimate interest", "any")) == {("kb", 3), ("zz", 3)}
    assert found(index, "estimate interest") == []


def test_how_many_hold_every_word_is_counted_whatever_is_matched_and_shown(index: PassageIndex) -> None:
    for match in ("all", "any"):
        for limit in (-1, 0, 1, 10):
            assert index.search("receipts outlays", match=match, limit=limit)[1] == 2  # type: ignore[arg-type]


def test_a_hit_says_its_lines(tmp_path: Path) -> None:
    index = open_index("k", documents({"a": ["x"] * 50 + ["needle"] + ["x"] * 20}, length=40), tmp_path)
    assert index.search("needle", match="all", limit=5)[0] == (Hit("a", 2, 41, 71),)
    assert len(index) == 2


def test_only_content_is_found_and_no_identifier(index: PassageIndex) -> None:
    assert all(found(index, id_, "any") == [] for id_ in TEXTS)


def test_a_word_said_twice_counts_once(index: PassageIndex) -> None:
    assert found(index, "receipts receipts outlays", "any") == found(index, "receipts outlays", "any")


@pytest.mark.parametrize(
    ("query", "same_as"),
    [
        ("text:receipts", "text receipts"),
        ("receipts AND NOT outlays", "receipts and not outlays"),
        ('"receipts treasury"~2', "receipts treasury 2"),
        ("+receipts -treasury", "receipts treasury"),
        ("recei* /rec.*/", "recei rec"),
        ("receipts^5 [a TO z]", "receipts 5 a to z"),
    ],
)
@pytest.mark.parametrize("match", ["all", "any"])
def test_operators_are_words_or_nothing(index: PassageIndex, query: str, same_as: str, match: str) -> None:
    assert found(index, query, match) == found(index, same_as, match)
    assert set(found(index, query, match)) == holding(TEXTS, query, every=match == "all")


_PIECES = st.sampled_from(
    ["receipts", "outlays", "1,234.5", "AND", "OR", "NOT", "text:", '"', "(", ")", "*", "?", "~2", "^", "[a TO b]"]
)
_QUERIES = st.text() | st.lists(_PIECES | st.text(max_size=3), max_size=6).map(" ".join)


@settings(deadline=None, max_examples=150)
@given(query=_QUERIES, every=st.booleans(), limit=st.integers(1, 12))
@example(query="\ud800 receipts \0", every=True, limit=5)
@example(query="x" * 100_000, every=True, limit=5)
@example(query=" ".join(map(str, range(3000))) + " receipts", every=False, limit=5)
def test_any_text_is_a_query_of_words(index: PassageIndex, query: str, every: bool, limit: int) -> None:
    hits, count = index.search(query, match="all" if every else "any", limit=limit)
    expected = holding(TEXTS, query, every)
    assert {(hit.document, hit.passage) for hit in hits} <= expected
    assert len(hits) == min(limit, len(expected))
    assert count == len(holding(TEXTS, query, every=True))


@settings(deadline=None, max_examples=60)
@given(raw=st.binary(max_size=60))
def test_bytes_of_any_kind_are_a_query(index: PassageIndex, raw: bytes) -> None:
    query = raw.decode("utf-8", "surrogateescape")
    assert set(found(index, query, "any", 50)) == holding(TEXTS, query, every=False)


# Order


def random_texts(seed: int, lines: int = 60) -> dict[str, list[str]]:
    draw = random.Random(seed)
    vocabulary = ["tax", "debt", "bonds", "notes", "1,000"]
    return {id_: [" ".join(draw.choices(vocabulary, k=draw.randint(1, 4))) for _ in range(lines)] for id_ in "qwert"}


def test_the_order_is_the_same_on_each_building_whatever_order_the_documents_come_in(tmp_path: Path) -> None:
    texts = random_texts(1)
    turned = dict(reversed(texts.items()))
    first = open_index("k", documents(texts), tmp_path / "one")
    others = [open_index("k", documents(turned), tmp_path / "two"), open_index("k", documents(texts), tmp_path / "3")]
    for query in ("tax", "debt bonds", "tax notes 1000 debt"):
        for match in ("all", "any"):
            for other in others:
                assert found(first, query, match, 40) == found(other, query, match, 40)


def test_ties_stand_by_document_and_passage(tmp_path: Path) -> None:
    texts = {id_: ["a tie", "another matter", "a tie"] * 7 for id_ in ("m", "c", "x")}
    index = open_index("k", documents(texts), tmp_path)
    expected = [(id_, n) for id_ in ("c", "m", "x") for n in range(1, 22) if n % 3 != 2]
    for limit in (1, 5, 20, 42, 50):
        assert found(index, "tie", limit=limit) == expected[:limit]


def test_ties_stand_by_document_and_passage_in_an_index_of_several_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "HEAP_BYTES", 15_000_000)
    texts = {
        id_: [f"a tie {' '.join(f'{id_}{line}x{n}' for n in range(60))}" for line in range(400)]
        for id_ in ("m", "c", "x")
    }
    index = open_index("k", documents(texts), tmp_path)
    assert len(list(tmp_path.glob("*/*.term"))) > 1
    expected = [(id_, n) for id_ in ("c", "m", "x") for n in range(1, 401)]
    for limit in (1, 5, 500):
        assert found(index, "tie", limit=limit) == expected[:limit]


# Building


def test_an_index_is_built_once_for_a_key(tmp_path: Path) -> None:
    def never() -> Iterator[tuple[str, Sequence[str], Sequence[Passage]]]:
        raise AssertionError("built again")

    told: list[str] = []
    first = open_index("k", documents(TEXTS), tmp_path, told.append, total=3)
    assert told[:3] == [f"indexing documents {n}/3" for n in (1, 2, 3)]
    again = open_index("k", never, tmp_path)
    assert found(again, "outlays", "any") == found(first, "outlays", "any")
    with pytest.raises(AssertionError, match="built again"):
        open_index("another", never, tmp_path)


def test_a_building_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def breaks() -> Iterator[tuple[str, Sequence[str], Sequence[Passage]]]:
        yield from documents(TEXTS)()
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        open_index("k", breaks, tmp_path)
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]
    assert len(open_index("k", documents(TEXTS), tmp_path)) == 9


def test_an_index_with_a_damaged_file_is_built_again(tmp_path: Path) -> None:
    open_index("k", documents(TEXTS), tmp_path)
    (terms,) = tmp_path.glob("*/*.term")
    terms.write_bytes(terms.read_bytes()[:-1])
    assert found(open_index("k", documents(TEXTS), tmp_path), "estimate") == [("kb", 3)]


@pytest.mark.parametrize("kind", ["fast", "fieldnorm", "idx", "term", "meta.json", "contents.json"])
@pytest.mark.parametrize("seen", [True, False], ids=["changed later", "as long and as old as it was"])
def test_an_index_of_zeros_is_built_again(tmp_path: Path, kind: str, seen: bool) -> None:
    open_index("k", documents(TEXTS), tmp_path)
    (path,) = tmp_path.glob(f"*/*{kind}")
    state = path.stat()
    path.write_bytes(bytes(state.st_size))
    if not seen:
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert found(open_index("k", documents(TEXTS), tmp_path), "estimate") == [("kb", 3)]


def test_an_index_that_was_written_to_is_built_again(tmp_path: Path) -> None:
    open_index("k", documents(TEXTS), tmp_path)
    (postings,) = tmp_path.glob("*/*.idx")
    spoilt, state = bytearray(postings.read_bytes()), postings.stat()
    spoilt[0] ^= 255
    postings.write_bytes(spoilt)
    os.utime(postings, ns=(state.st_atime_ns, state.st_mtime_ns))
    told: list[str] = []
    open_index("k", documents(TEXTS), tmp_path, told.append)
    assert told


def test_a_full_disk_is_one_sentence_and_leaves_nothing_behind(tmp_path: Path) -> None:
    texts = {"a": [" ".join(f"w{line}x{n}" for n in range(60)) for line in range(300)]}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(DiskError, match=r"an index cannot be written: .*File too large"):
            open_index("k", documents(texts), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


def test_tantivy_is_imported_when_an_index_is_opened_and_not_before() -> None:
    program = "import sys, chase.benchmarks.officeqa.prepare; sys.exit('tantivy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
