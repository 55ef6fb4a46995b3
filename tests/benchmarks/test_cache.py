"""The cache of built benchmarks gives back what was stored, whole and unchanged, or nothing."""

from __future__ import annotations

import os
import pwd
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.benchmarks import cache as module
from chase.benchmarks.cache import FORMAT, PART, SUFFIX, Built, BuiltCache, digest_code, hash_pieces

KEY = {"benchmark": "some", "seed": 7, "versions": {"generator": 1}}
PIECES = ['{"tasks":[', '{"id":"a"}', ',{"id":"b","question":"wie groß?"}', "]}"]
NOTES = {"tasks": ["a", "b"]}


@pytest.fixture
def cache(tmp_path: Path) -> BuiltCache:
    return BuiltCache(folder=tmp_path / "below" / "cache")


def only_file(cache: BuiltCache) -> Path:
    assert cache.folder is not None
    (file,) = cache.folder.iterdir()
    return file


def pieces(built: Built | None) -> list[str]:
    assert built is not None
    return [built.piece(place) for place in range(len(built))]


def test_what_was_stored_comes_back(cache: BuiltCache) -> None:
    assert cache.load(KEY) is None
    cache.store(KEY, PIECES, NOTES)
    built = cache.load(KEY)
    assert built is not None
    assert pieces(built) == PIECES
    assert built.piece(-1) == PIECES[-1]
    assert built.notes == NOTES
    assert built.content_hash == sha256("".join(PIECES).encode()).hexdigest() == hash_pieces(PIECES)


@given(stored=st.lists(st.text()), notes=st.dictionaries(st.text(), st.integers()))
def test_any_texts_come_back(tmp_path_factory: pytest.TempPathFactory, stored: list[str], notes: Any) -> None:
    cache = BuiltCache(folder=tmp_path_factory.getbasetemp() / "any")
    cache.store(KEY, stored, notes)
    built = cache.load(KEY)
    assert built is not None
    assert (pieces(built), built.notes) == (stored, notes)


def test_the_file_is_named_by_the_key_and_any_part_of_it_makes_another(cache: BuiltCache) -> None:
    keys = [KEY, {**KEY, "seed": 8}, {**KEY, "versions": {"generator": 2}}, {**KEY, "more": None}]
    for place, key in enumerate(keys):
        assert cache.load(key) is None
        cache.store(key, [str(place)], None)
    assert [pieces(cache.load(key)) for key in keys] == [["0"], ["1"], ["2"], ["3"]]


# Damage


def test_no_changed_byte_passes(cache: BuiltCache) -> None:
    cache.store(KEY, PIECES, NOTES)
    file = only_file(cache)
    sound = file.read_bytes()
    for place in range(len(sound)):
        file.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        assert cache.load(KEY) is None, f"byte {place}"
    file.write_bytes(sound)
    assert cache.load(KEY) is not None


def test_no_shorter_or_longer_file_passes(cache: BuiltCache) -> None:
    cache.store(KEY, PIECES, NOTES)
    file = only_file(cache)
    sound = file.read_bytes()
    for size in range(len(sound)):
        file.write_bytes(sound[:size])
        assert cache.load(KEY) is None, f"{size} bytes"
    file.write_bytes(sound + b"\0")
    assert cache.load(KEY) is None


def test_a_damaged_entry_is_replaced_by_the_next_one_stored(cache: BuiltCache) -> None:
    cache.store(KEY, PIECES, NOTES)
    only_file(cache).write_bytes(b"junk")
    cache.store(KEY, PIECES, NOTES)
    assert pieces(cache.load(KEY)) == PIECES


def test_an_entry_under_the_name_of_another_does_not_pass(cache: BuiltCache) -> None:
    other = {**KEY, "seed": 8}
    cache.store(other, PIECES, NOTES)
    file = only_file(cache)
    cache.store(KEY, PIECES, NOTES)
    (own,) = {*file.parent.iterdir()} - {file}
    file.replace(own)
    assert cache.load(KEY) is None


def with_right_digest(entry: bytes) -> bytes:
    """The entry as somebody would write it who knows the format."""
    rest = entry[len(FORMAT) + 32 :]
    return FORMAT + sha256(rest).digest() + rest


def test_an_entry_must_have_the_content_hash_that_it_states(cache: BuiltCache, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, "hash_pieces", lambda _: "0" * 64)
        cache.store(KEY, PIECES, NOTES)
        assert cache.load(KEY) is not None  # sound but for the hash
    assert cache.load(KEY) is None


def test_an_entry_of_another_shape_does_not_pass_whatever_its_digest(cache: BuiltCache) -> None:
    cache.store(KEY, PIECES, NOTES)
    file = only_file(cache)
    sound = file.read_bytes()
    assert with_right_digest(sound) == sound
    start = len(FORMAT) + 32
    for cut in (sound[:-3], sound[: start + 8], sound[:start], sound + b"more"):
        file.write_bytes(with_right_digest(cut))
        assert cache.load(KEY) is None
    for place in range(start, len(sound)):
        file.write_bytes(with_right_digest(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :]))
        built = cache.load(KEY)
        # What is left are bits of the notes, which the content hash does not cover.
        assert built is None or pieces(built) == PIECES


# Writing


def test_a_writer_that_stops_halfway_leaves_the_entry_as_it_was(
    cache: BuiltCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store(KEY, ["old"], None)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            cache.store(KEY, ["new"], None)
    assert pieces(cache.load(KEY)) == ["old"]
    only_file(cache)


def test_many_writers_of_one_entry_leave_it_whole_at_every_moment(cache: BuiltCache) -> None:
    long = [str(place) * 5000 for place in range(40)]
    cache.store(KEY, long, None)
    wrong: list[object] = []

    def write() -> None:
        for _ in range(15):
            cache.store(KEY, long, None)
            if pieces(cache.load(KEY)) != long:
                wrong.append("read something else")

    writers = [threading.Thread(target=write) for _ in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert wrong == []
    only_file(cache)


def test_a_folder_that_cannot_be_made_or_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    below_a_file = BuiltCache(folder=tmp_path / "file" / "cache")
    below_a_file.store(KEY, PIECES, NOTES)
    assert below_a_file.load(KEY) is None

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    cache = BuiltCache(folder=tmp_path / "cache")
    cache.store(KEY, PIECES, NOTES)
    assert cache.load(KEY) is None
    assert list((tmp_path / "cache").iterdir()) == []


def test_the_oldest_files_make_room_and_others_are_left_alone(tmp_path: Path) -> None:
    cache = BuiltCache(folder=tmp_path)
    (tmp_path / "notes.txt").write_text("not ours" * 1000)
    keys = [{"seed": seed} for seed in range(4)]
    for age, key in enumerate(keys[:3]):
        before = set(tmp_path.iterdir())
        cache.store(key, PIECES, NOTES)
        (file,) = set(tmp_path.iterdir()) - before
        os.utime(file, (1000 + age, 1000 + age))
    size = file.stat().st_size
    left = tmp_path / f"left-by-a-killed-process{PART}"
    left.touch()
    os.utime(left, (1, 1))
    BuiltCache(folder=tmp_path, most_bytes=3 * size - 1).store(keys[3], PIECES, NOTES)
    assert [cache.load(key) is not None for key in keys] == [False, False, True, True]
    assert {path.suffix for path in tmp_path.iterdir()} == {SUFFIX, ".txt"}


# Where


def test_the_default_folder_is_in_the_home_of_the_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    module.HOME_CACHE.store(KEY, PIECES, NOTES)
    assert [path.parent for path in tmp_path.rglob(f"*{SUFFIX}")] == [tmp_path / ".cache" / "chase" / "benchmarks"]
    assert module.HOME_CACHE.load(KEY) is not None
    monkeypatch.setenv("HOME", str(tmp_path / "another"))
    assert module.HOME_CACHE.load(KEY) is None


def test_no_test_writes_to_the_home_of_a_developer(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert Path.home().is_relative_to(tmp_path_factory.getbasetemp())
    assert Path.home() != Path(pwd.getpwuid(os.getuid()).pw_dir)


def test_no_home_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    module.HOME_CACHE.store(KEY, PIECES, NOTES)
    assert module.HOME_CACHE.load(KEY) is None


# The code


@pytest.fixture
def code(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "one.py", tmp_path / "two.py"]
    for file in files:
        file.write_text("x = 1\n")
        os.utime(file, (1000, 1000))
    return files


def test_the_digest_of_code_follows_texts_and_names_and_not_the_order(code: list[Path]) -> None:
    before = digest_code(code)
    assert before is not None
    assert digest_code(code[::-1]) == before
    assert digest_code(code[:1]) != before
    code[1].write_text("x = 2\n")
    os.utime(code[1], (1000, 1000))
    changed = digest_code(code)
    assert changed not in (None, before)
    code[1].rename(code[1].with_name("three.py"))
    assert digest_code([code[0], code[1].with_name("three.py")]) not in (None, before, changed)


def test_code_that_cannot_be_read_or_is_newer_than_the_process_has_no_digest(code: list[Path]) -> None:
    assert digest_code([*code, code[0].with_name("missing.py")]) is None
    code[0].write_text("x = 1\n")  # the same text, but it was not this process that read it
    assert digest_code(code) is None


def test_a_file_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    cache = BuiltCache(folder=tmp_path / "kept")
    key = {"name": "a benchmark"}
    cache.store(key, ["one", "two"], {})
    assert cache.load(key) is not None
    (file,) = (tmp_path / "kept").iterdir()
    for place, mode, sound in ((file, 0o666, 0o600), (tmp_path / "kept", 0o777, 0o700)):
        place.chmod(mode)
        assert cache.load(key) is None
        place.chmod(sound)
        assert cache.load(key) is not None


def test_what_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    cache = BuiltCache(folder=tmp_path / "kept")
    key = {"name": "a benchmark"}
    cache.store(key, ["one"], {})
    (file,) = (tmp_path / "kept").iterdir()
    file.unlink()
    os.mkfifo(file, 0o600)
    assert cache.load(key) is None
