"""Preparation: what is there is checked before a document is read, and what is whole is kept."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chase.benchmarks.corpus import texts as corpus
from chase.benchmarks.officeqa import conversion, frozen
from chase.benchmarks.officeqa.prepare import examine, prepare
from chase.core.errors import ChaseError, IntegrityError, SetupError, UserError
from tests.benchmarks.officeqa.data_folder import JSONS, TRANSFORMED, make_data, restate


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return make_data(tmp_path / "data")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_both_releases_are_made_ready(data: Path, place: Path) -> None:
    before = tree(data)
    ready = prepare(data, place=place)
    full, pro = ready.releases["full"], ready.releases["pro-v2"]
    assert [question.uid for question in full.questions] == ["UID1", "UID2", "UID3"]
    assert len(full.corpus.ids) == 3
    assert len(full.index()) == 3 * 3
    hits, count = full.index().search("outlays 1200.5", match="all", limit=10)
    assert {full.corpus.names[hit.document] for hit in hits} == {"treasury_bulletin_1939_02.txt"}
    assert count == len(hits) == 3
    assert sorted(pro.corpus.names.values()) == ["statement-1872.txt", "statement-1873.txt"]
    assert pro.index().search("statement 1872", match="all", limit=5)[1] == 1
    assert tree(data) == before


def test_either_release_may_be_missing(data: Path, place: Path) -> None:
    for path in (data / "officeqa_pro_v2.csv", *(data / JSONS).iterdir()):
        path.unlink()
    (data / JSONS).rmdir()
    assert list(prepare(data, place=place).releases) == ["full"]


def test_what_is_ready_is_not_made_again(data: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = prepare(data, place=place)

    def never(path: Path) -> bytes:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr(corpus, "read_bytes", never)
    monkeypatch.setattr(frozen, "read_bytes", never)
    told: list[str] = []
    again = prepare(data, place=place, tell=told.append)
    assert told == []
    for release, made in first.releases.items():
        assert again.releases[release].corpus.content_hash == made.corpus.content_hash


def test_progress_says_how_many_of_how_many(data: Path, place: Path) -> None:
    told: list[str] = []
    prepare(data, place=place, tell=told.append)
    assert "full: reading documents 2/3" in told
    assert "full: indexing documents 3/3" in told
    assert "pro-v2: converting documents 1/2" in told


def test_a_changed_document_gives_another_corpus_and_another_index(data: Path, place: Path) -> None:
    before = prepare(data, place=place).releases["full"]
    (data / TRANSFORMED / "treasury_bulletin_1939_03.txt").write_text("Something else\n")
    after = prepare(data, place=place).releases["full"]
    assert before.corpus.content_hash != after.corpus.content_hash
    assert after.index().search("something", match="all", limit=1)[1] == 1


# What is wrong is one sentence


Damage = Callable[[Path], object]


def _spoil(name: str, content: bytes) -> Damage:
    return lambda data: (data / name).write_bytes(content)


def _remove(name: str) -> Damage:
    return lambda data: (data / name).unlink()


def _empty(data: Path) -> None:
    for path in (data / TRANSFORMED).iterdir():
        path.unlink()


def _say_nothing(data: Path) -> None:
    for path in (data / JSONS).iterdir():
        path.write_text('{"document": {"elements": []}}')


def _repeat(data: Path) -> None:
    text = (data / "officeqa_full.csv").read_text()
    (data / "officeqa_full.csv").write_text(text.replace("UID2", "UID1"))


BULLETIN = f"{TRANSFORMED}/treasury_bulletin_1939_0"


@pytest.mark.parametrize(
    ("damage", "kind", "says"),
    [
        (_remove("officeqa_full.csv"), SetupError, "officeqa_full.csv is missing"),
        (_spoil("officeqa_full.csv", b"uid,question\n1,2\n"), UserError, "has no column answer"),
        (_repeat, UserError, "uid='UID1' is there twice"),
        (_empty, UserError, "transformed holds no document"),
        (_spoil(f"{BULLETIN}3.txt", b"\xff\xfe"), UserError, "1939_03.txt is not UTF-8 (byte 0)"),
        (
            _remove(f"{BULLETIN}2.txt"),
            IntegrityError,
            "full: 2 documents instead of 3; full: 1 source is not among the documents: treasury_bulletin_1939_02.txt "
            "(a source of UID2)",
        ),
        (_spoil(f"{BULLETIN}4.txt", b"x"), IntegrityError, "full: 4 documents instead of 3"),
        (
            _spoil(f"{TRANSFORMED}/notes.md", b"x"),
            IntegrityError,
            "transformed is no document (treasury_bulletin_YYYY_MM.txt): take it away. Get what differs again",
        ),
        (_spoil(f"{TRANSFORMED}/notes.txt", b"x"), IntegrityError, "4 documents instead of 3; full: notes.txt in "),
        (lambda data: (data / JSONS / "more").mkdir(), IntegrityError, "pro-v2: more in "),
        (
            _spoil(f"{BULLETIN}3.txt", b""),
            IntegrityError,
            "1 document is empty (0 bytes): treasury_b",
        ),
        (_spoil(f"{BULLETIN}3.txt", b" \r\n\n"), UserError, "1939_03.txt holds no text. Get the file again"),
        (_spoil(f"{JSONS}/statement-1872.json", b""), IntegrityError, "pro-v2: 1 document is empty (0 bytes)"),
        (_say_nothing, UserError, "parsed_corpus/jsons holds any text"),
        (lambda data: restate(data, "full", {"questions": 246}), IntegrityError, "full: 3 questions instead of 246"),
        (lambda data: restate(data, "full", {"components": 9}), IntegrityError, "2 source components instead of 9"),
        (lambda data: restate(data, "full", {"source_files": 9}), IntegrityError, "2 source files instead of 9"),
        (_spoil(f"{JSONS}/statement-1872.json", b"{"), UserError, "statement-1872.json is not JSON"),
        (_spoil(f"{JSONS}/statement-1872.json", b"[1]"), UserError, "statement-1872.json has no document.elements"),
        (_spoil(f"{JSONS}/statement-1872.json", b'{"document": {}}'), UserError, "1872.json has no document.elements"),
        (_spoil(f"{JSONS}/statement-1872.json", b'"\xe9"'), UserError, "statement-1872.json is not UTF-8"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_nothing_is_left_half_built(
    data: Path, place: Path, damage: Damage, kind: type[ChaseError], says: str
) -> None:
    damage(data)
    with pytest.raises(kind) as refused:
        prepare(data, place=place)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert type(refused.value) is kind
    assert not list(place.rglob("*.part"))


def test_a_folder_that_holds_nothing_says_what_belongs_in_it(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is no folder"):
        examine(tmp_path / "none")
    with pytest.raises(SetupError, match=r"neither officeqa_full\.csv nor officeqa_pro_v2\.csv"):
        examine(tmp_path)


def test_many_missing_sources_are_counted_and_a_few_are_named(data: Path) -> None:
    rows = "".join(f"U{n},Question {n}?,1,,treasury_bulletin_1950_{n:02}.txt,easy\n" for n in range(1, 10))
    (data / "officeqa_full.csv").write_text(f"uid,question,answer,source_docs,source_files,difficulty\n{rows}")
    (told,) = (what for what in examine(data)["full"].differences if "among" in what)
    assert told.startswith("9 sources are not among the documents: treasury_bulletin_1950_01.txt (a source of U1)")
    assert told.endswith("treasury_bulletin_1950_05 and 4 more")


def test_without_a_manifest_the_data_must_be_the_published_ones(data: Path, place: Path) -> None:
    (data / "sample.json").unlink()
    with pytest.raises(IntegrityError) as refused:
        prepare(data, place=place)
    expected = (
        "full: 3 questions instead of 246", "full: 3 documents instead of 697", "full: 2 source files instead of 296",
        "full: 2 source components instead of 100",
        "pro-v2: 1 questions instead of 90", "pro-v2: 2 documents instead of 1435",
    )  # fmt: skip
    for what in expected:
        assert what in str(refused.value)


# Conversion


def test_a_conversion_goes_on_where_it_ended(data: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    second = data / JSONS / "statement-1873.json"
    sound = second.read_bytes()
    second.write_bytes(b"{")
    with pytest.raises(UserError):
        prepare(data, place=place)
    second.write_bytes(sound)
    converted: list[str] = []

    def counting(parsed: dict[str, object]) -> str:
        converted.append(json.dumps(parsed))
        return conversion.to_text(parsed)

    monkeypatch.setattr(frozen, "to_text", counting)
    prepare(data, place=place)
    assert len(converted) == 1
    assert "1873" in converted[0]


def test_many_documents_are_converted_on_every_core_to_the_same_texts(
    data: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = prepare(data, place=place).releases["pro-v2"].corpus.content_hash
    monkeypatch.setattr(frozen, "MANY", 1)
    assert prepare(data, place=place.parent / "other").releases["pro-v2"].corpus.content_hash == expected
    (data / JSONS / "statement-1872.json").write_text("{")
    with pytest.raises(UserError, match=r"statement-1872\.json is not JSON"):
        prepare(data, place=place)


def test_a_script_without_a_main_guard_converts_too(data: Path, place: Path) -> None:
    script = place.parent / "script.py"
    script.write_text(
        "from pathlib import Path\nfrom chase.benchmarks.officeqa import frozen, prepare\nfrozen.MANY = 1\n"
        f"prepare.prepare(Path({str(data)!r}), place=Path({str(place)!r}))\n"
    )
    subprocess.run([sys.executable, str(script)], check=True, capture_output=True, timeout=60)
    assert len(list((place / f"converted-{conversion.VERSION}").glob("*.txt"))) == 2


def test_half_a_text_of_a_killed_conversion_is_removed(data: Path, place: Path) -> None:
    texts = place / f"converted-{conversion.VERSION}"
    texts.mkdir(parents=True, mode=0o700)
    (texts / "abc.txt.1.part").write_text("hal")
    prepare(data, place=place)
    assert not list(texts.glob("*.part"))


def test_a_converted_text_that_was_changed_is_refused(data: Path, place: Path) -> None:
    prepare(data, place=place)
    text = next((place / f"converted-{conversion.VERSION}").glob("*.txt"))
    for content in (b"another statement", b"\xff", b""):
        text.write_bytes(content)
        with pytest.raises(IntegrityError, match=r"not as it was converted\. Remove .*converted-1 and start again"):
            prepare(data, place=place)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"content_hash": 1}', b'{"another": 1}'])
def test_a_damaged_record_of_the_converted_texts_is_one_sentence(data: Path, place: Path, content: bytes) -> None:
    prepare(data, place=place)
    (record,) = (place / "converted-1").glob("*.frozen")
    record.write_bytes(content)
    with pytest.raises(IntegrityError, match=r"Remove .*converted-1 and start again") as refused:
        prepare(data, place=place)
    assert "\n" not in str(refused.value)


def test_documents_of_the_same_content_stay_two(data: Path, place: Path) -> None:
    first, second = sorted((data / JSONS).iterdir())
    second.write_bytes(first.read_bytes())
    assert len(prepare(data, place=place).releases["pro-v2"].corpus.ids) == 2


# Killed, and at once


def _killed_at(data: Path, place: Path, step: str) -> None:
    def tell(told: str) -> None:
        if told == step:
            os.kill(os.getpid(), signal.SIGKILL)

    prepare(data, place=place, tell=tell)


@pytest.mark.parametrize(
    "step", ["full: reading documents 2/3", "full: writing the index", "pro-v2: converting documents 1/2"]
)
def test_after_a_kill_the_next_start_ends_as_if_nothing_had_been(data: Path, place: Path, step: str) -> None:
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_killed_at, args=(data, place, step))
    process.start()
    process.join(30)
    assert process.exitcode == -signal.SIGKILL
    ready = prepare(data, place=place)
    clean = prepare(data, place=place.parent / "clean")
    assert not list(place.rglob("*.part"))
    for release, made in clean.releases.items():
        assert ready.releases[release].corpus.content_hash == made.corpus.content_hash
        hits = [
            one.index().search("outlays statement", match="any", limit=9) for one in (ready.releases[release], made)
        ]
        assert hits[0] == hits[1]


def test_starts_at_once_all_end_well(data: Path, place: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=prepare, args=(data,), kwargs={"place": place}) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert not list(place.rglob("*.part"))
    assert len(list((place / "indexes").glob("*/contents.json"))) == 2
