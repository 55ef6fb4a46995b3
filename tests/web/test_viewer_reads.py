"""The viewer reads and never writes, takes no lock, and sees what a run at work has committed."""

from __future__ import annotations

import re
import shutil
from hashlib import sha256
from pathlib import Path

import pytest

from chase.runs.folder import RunFolder
from chase.store.lock import writer_pid
from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.store.store_samples import sample_rollout
from tests.web.viewing import viewing

PAGES = ("/", "/rollouts", "/rollouts?kind=changed", "/rollouts?q=42")


def contents(folder: Path) -> dict[str, str]:
    """Every file but SQLite's shared memory, which is no content."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith(("-shm", "-wal")))
    return {str(path): sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_look_at_every_page_changes_no_file_and_takes_no_lock(tmp_path: Path) -> None:
    with Store.open(Workspace(tmp_path), write=True) as store:
        store.create_run("run-1", {"command": "evolve"})
        store.record_sync(sample_rollout(1, trace={"events": []}))
        digest = store.rollouts()[0][0].digest
    before = contents(tmp_path)
    with viewing(tmp_path) as at_work:
        for path in (*PAGES, "/runs/run-1", "/runs/run-1/live", f"/rollouts/{digest}", f"/runs/run-1/four/{digest}"):
            at_work.page(path)
        assert writer_pid(Workspace(tmp_path)) is None
        with Store.open(Workspace(tmp_path), write=True):
            at_work.page("/")
    assert contents(tmp_path) == before


def test_what_a_writer_commits_is_on_the_next_page(tmp_path: Path) -> None:
    with Store.open(Workspace(tmp_path), write=True) as store, viewing(tmp_path) as at_work:
        assert "task-7" not in at_work.page("/rollouts")
        store.record_sync(sample_rollout(7, trace={"events": []}))
        assert "task-7" in at_work.page("/rollouts")
        store.create_run("evolve-new", {"command": "evolve"})
        assert "evolve-new" in at_work.page("/")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/runs/nothing", "no run &#39;nothing&#39;"),
        ("/rollouts/abc", "no rollout begins with"),
        ("/rollouts?kind=odd", "kind=odd is none of"),
        ("/rollouts?variant=odd", "unknown variant &#39;odd&#39;"),
        ("/elsewhere", "There is no page /elsewhere"),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(tmp_path: Path, path: str, said: str) -> None:
    with Store.open(Workspace(tmp_path), write=True) as store:
        store.create_run("run-1", {"command": "evolve"})
    with viewing(tmp_path) as at_work:
        answer = at_work.ask(path, headers=at_work.cookie)
    assert answer.status == 404
    assert said in answer.text
    assert "Traceback" not in answer.text


ODD = ("[]", '{"rounds": 3, "archive": "x", "final": 7, "members": [1]}', '{"verdict": "supported"}', "[" * 9000)


def test_a_run_whose_records_are_odd_is_said_in_a_sentence_and_hides_no_other(tmp_path: Path) -> None:
    commands = ("evolve", "audit", "compare", "repair", "rollout")
    odd = {f"{command}-{n}": text for command in commands for n, text in enumerate(ODD)}
    with Store.open(Workspace(tmp_path), write=True) as store:
        store.create_run("good", {"command": "evolve"})
        for id in odd:
            store.create_run(id, {"command": id.split("-")[0], "tasks": 3})
            store.set_run_status(id, "finished")
    for id, text in odd.items():
        folder = RunFolder(Workspace(tmp_path), id)
        for name in ("result.json", "events.jsonl", "archive.json", "config.toml"):
            folder.write(name, text)
        folder.write("result.sha256", f"{sha256(text.encode()).hexdigest()}  result.json\n")
    with viewing(tmp_path) as at_work:
        first = at_work.page("/")
        assert first.count("its result cannot be read") == len(odd)
        assert "/runs/good" in first
        for id in odd:
            page = at_work.page(f"/runs/{id}")
            assert "This run ended, but its result cannot be read" in page
            for path in sorted(set(re.findall(rf'href="(/runs/{id}/[a-z]+)"', page))):
                at_work.page(path)
            said = at_work.page(f"/runs/{id}/provenance")
            assert "cannot be read" in said or "not as this version writes it" in said


def test_a_run_whose_folder_was_deleted_is_still_listed(tmp_path: Path) -> None:
    with Store.open(Workspace(tmp_path), write=True) as store:
        store.create_run("gone", {"command": "evolve"})
        store.set_run_status("gone", "finished")
    RunFolder(Workspace(tmp_path), "gone").write_result("chase.evolve/1", {"final": None})
    with viewing(tmp_path) as at_work:
        at_work.page("/runs/gone")
        shutil.rmtree(RunFolder(Workspace(tmp_path), "gone").path)
        assert "its result cannot be read" in at_work.page("/")
        assert "is gone. Restore it from a copy" in at_work.page("/runs/gone/provenance")


def test_a_run_that_nobody_is_at_work_on_is_listed_as_stopped(tmp_path: Path) -> None:
    with Store.open(Workspace(tmp_path), write=True) as store, viewing(tmp_path) as at_work:
        store.create_run("killed", {"command": "evolve"})
        assert ">running<" in at_work.page("/")
    with viewing(tmp_path) as at_work:
        assert ">stopped<" in at_work.page("/")
        assert "(it is stopped)" in at_work.page("/runs/killed")


def test_a_result_that_is_written_anew_is_on_the_next_page(tmp_path: Path) -> None:
    with Store.open(Workspace(tmp_path), write=True) as store:
        store.create_run("rollout-1", {"command": "another"})
        store.set_run_status("rollout-1", "finished")
    folder = RunFolder(Workspace(tmp_path), "rollout-1")
    with viewing(tmp_path) as at_work:
        for score, shown in ((0.25, "25.0 %"), (0.75, "75.0 %")):
            folder.write_result("chase.rollout/1", {"score": {"value": score}})
            assert shown in at_work.page("/")
            assert shown in at_work.page("/runs/rollout-1")
