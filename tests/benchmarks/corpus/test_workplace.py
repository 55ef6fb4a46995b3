"""Prepared things: private, whole or not there, built by one process at a time, leftovers of killed ones removed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import time
from pathlib import Path

import pytest

from chase.benchmarks.corpus.workplace import built_once, private_folder, write_whole
from chase.core.errors import DiskError, SetupError


def is_whole(folder: Path) -> bool:
    return (folder / "done").exists()


def build_slowly(folder: Path) -> None:
    """Says in the folder above that it began, and is done when it is told to."""
    (folder / "half").touch()
    with (folder.parent / "begun").open("a") as file:
        file.write("x")
    while not (folder.parent / "go").exists():
        time.sleep(0.01)
    (folder / "done").touch()


def in_process(folder: Path) -> multiprocessing.Process:
    process = multiprocessing.get_context("fork").Process(target=built_once, args=(folder, is_whole, build_slowly))
    process.start()
    return process


def wait_for(file: Path) -> None:
    for _ in range(1000):
        if file.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"{file} did not appear")


def test_a_folder_is_private(tmp_path: Path) -> None:
    made = private_folder(tmp_path / "a" / "b")
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    made = private_folder(tmp_path / "a")
    made.chmod(mode)
    with pytest.raises(SetupError, match="can be written by others"):
        private_folder(made)


def test_starts_at_once_build_once(tmp_path: Path) -> None:
    processes = [in_process(tmp_path / "made") for _ in range(3)]
    wait_for(tmp_path / "begun")
    (tmp_path / "go").touch()
    for process in processes:
        process.join(20)
        assert process.exitcode == 0
    assert (tmp_path / "begun").read_text() == "x"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begun", "go", "made", "made.lock"]


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    process = in_process(tmp_path / "made")
    wait_for(tmp_path / "begun")
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(20)
    assert [path.suffix for path in tmp_path.glob("made.*.part")] == [".part"]
    (tmp_path / "go").touch()
    built_once(tmp_path / "made", is_whole, build_slowly)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begun", "go", "made", "made.lock"]


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    def full(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(DiskError, match="made cannot be written: No space left on device"):
        built_once(tmp_path / "made", is_whole, full)
    assert [path.name for path in tmp_path.iterdir()] == ["made.lock"]


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"old")
    with pytest.raises(TypeError):
        write_whole(tmp_path / "a", "no bytes")  # type: ignore[arg-type]
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"old")]


def test_half_a_file_of_a_killed_process_is_removed_once_it_is_old(tmp_path: Path) -> None:
    for name, age in (("a.1.part", 4000), ("a.2.part", 60), ("b.1.part", 4000)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    write_whole(tmp_path / "a", b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.2.part", "b.1.part"]
