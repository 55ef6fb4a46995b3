"""A desk that is elsewhere while a command works comes back, whatever the command made of it and whenever we die."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from chase.agents.neutral_place import neutral_place
from chase.core.errors import SetupError


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run's folder with a desk and a read-only history."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    folder = tmp_path / "run"
    (folder / "desk-1").mkdir(parents=True)
    (folder / "desk-1" / "INSTRUCTIONS.md").write_text("Work.")
    (folder / "history").mkdir()
    (folder / "history" / "scores.jsonl").write_text("{}\n")
    os.utime(folder / "history" / "scores.jsonl", (1000, 1000))
    (folder / "history" / "scores.jsonl").chmod(0o444)
    (folder / "history").chmod(0o555)
    return folder


def elsewhere(run: Path) -> list[Path]:
    return list((run.parent / "elsewhere").iterdir())


def test_desk_and_history_are_elsewhere_for_the_time_of_the_work(run: Path) -> None:
    with neutral_place(run / "desk-1", run / "history") as (desk, history):
        for path in (desk, history):
            assert path.resolve().is_relative_to(run.parent / "elsewhere")
            assert "run" not in path.relative_to(run.parent).parts
        assert history.joinpath("scores.jsonl").stat().st_mtime == 1000
        assert stat.S_IMODE(desk.parent.stat().st_mode) == 0o700
        desk.joinpath("answer").write_text("42")
    assert not (run / "desk-1").is_symlink()
    assert sorted(path.name for path in (run / "desk-1").iterdir()) == ["INSTRUCTIONS.md", "answer"]
    assert (run / "history" / "scores.jsonl").read_text() == "{}\n"
    assert elsewhere(run) == []


def test_it_comes_back_where_the_work_fails(run: Path) -> None:
    with pytest.raises(RuntimeError), neutral_place(run / "desk-1", run / "history"):
        raise RuntimeError
    assert (run / "desk-1" / "INSTRUCTIONS.md").read_text() == "Work."
    assert elsewhere(run) == []


def test_what_a_killed_process_left_is_found_again(run: Path) -> None:
    killed = neutral_place(run / "desk-1", run / "history")
    left, _ = killed.__enter__()
    left.joinpath("half").write_text("done")
    with neutral_place(run / "desk-1", run / "history") as (desk, _):
        assert desk != left
        assert desk.joinpath("half").read_text() == "done"
        assert len(elsewhere(run)) == 1
    assert (run / "desk-1" / "half").read_text() == "done"
    assert elsewhere(run) == []


def test_it_comes_back_from_another_file_system_whatever_is_in_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, target: Path) -> Path:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Path, "rename", refuse)
    with neutral_place(run / "desk-1", run / "history") as (desk, _):
        os.mkfifo(desk / "pipe")
        (desk / "link").symlink_to("/etc/passwd")
        (desk / "locked").mkdir(mode=0o000)
        desk.chmod(0o000)
    back = run / "desk-1"
    assert stat.S_ISFIFO((back / "pipe").lstat().st_mode)
    assert (back / "link").is_symlink()
    assert (back / "locked").is_dir()
    assert elsewhere(run) == []


def test_a_full_disk_is_said_and_leaves_the_desk_where_it_was(run: Path) -> None:
    with pytest.raises(SetupError, match="cannot be copied"), neutral_place(run / "desk-1", run / "nowhere"):
        pass
    assert (run / "desk-1" / "INSTRUCTIONS.md").exists()
    assert elsewhere(run) == []
