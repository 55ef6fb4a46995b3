"""Where a workspace is and how its run files are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from chase.core.errors import SetupError, UserError
from chase.store.store import Store
from chase.store.workspace import Workspace


def test_a_workspace_is_found_upward_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / ".chase").mkdir()
    assert Workspace.find(below).root == tmp_path
    monkeypatch.chdir(below)
    assert Workspace.find().root == tmp_path
    (tmp_path / "a" / ".chase").mkdir()
    assert Workspace.find(below).root == tmp_path / "a"


def test_without_one_the_starting_folder_is_it_and_nothing_is_made_until_a_write(tmp_path: Path) -> None:
    workspace = Workspace.find(tmp_path)
    assert workspace.root == tmp_path
    assert not workspace.state.exists()
    Store.open(workspace, write=True).close()
    assert workspace.database.is_file()
    assert workspace.database == tmp_path / ".chase" / "store.sqlite"
    assert workspace.runs == tmp_path / ".chase" / "runs"


def test_a_run_file_is_written_whole_and_replaced(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write_run_file("run-1", "final/prompt.md", "one")
    path = workspace.write_run_file("run-1", "final/prompt.md", "two")
    assert path == tmp_path / ".chase" / "runs" / "run-1" / "final" / "prompt.md"
    assert path.read_text() == "two"
    assert [child.name for child in path.parent.iterdir()] == ["prompt.md"]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "", "a/../../x"])
def test_a_run_file_cannot_leave_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="inside the run's folder"):
        Workspace(tmp_path).write_run_file("run-1", name, "x")


@pytest.mark.parametrize("run", ["", "..", "a/b"])
def test_a_run_id_must_name_a_folder(tmp_path: Path, run: str) -> None:
    with pytest.raises(UserError, match="cannot name a folder"):
        Workspace(tmp_path).run_folder(run)


def test_a_workspace_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SetupError, match="--workspace"):
        Store.open(Workspace(tmp_path / "file"), write=True)
