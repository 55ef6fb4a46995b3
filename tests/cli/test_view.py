"""`chase view`: its link, its end, and one sentence for what is wrong."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.cli.commands import Commands


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(monkeypatch, capsys)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    with Store.open(Workspace(tmp_path), write=True) as store:
        store.create_run("evolve-1", {"command": "evolve"})
    return tmp_path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_link_that_is_printed_works_until_a_signal_which_ends_it_quietly(
    workspace: Path, number: signal.Signals
) -> None:
    command = [sys.executable, "-m", "chase", "view", str(workspace)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            link = process.stdout.readline().split()[-1]
            with urllib.request.urlopen(link, timeout=30) as answer:
                assert "evolve-1" in answer.read().decode()
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert link.startswith("http://127.0.0.1:")
    assert (out, err) == ("", "Ctrl-C ends it.\n")
    assert process.returncode == (0 if number == signal.SIGINT else -signal.SIGTERM)


def test_a_port_in_use_is_told_in_a_sentence(chase: Commands, workspace: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = chase("view", workspace, "--port", port, "--no-browser")
    assert ended.code == 3
    assert f"--port={port} is in use by another program. Name another one" in ended.sentence


def test_a_port_that_is_none_is_told(chase: Commands, workspace: Path) -> None:
    ended = chase("view", workspace, "--port", 70_000)
    assert ended.code == 2
    assert "--port=70000 is no port" in ended.sentence


def test_a_folder_that_is_not_there_and_one_without_a_store_are_told(chase: Commands, tmp_path: Path) -> None:
    missing = chase("view", tmp_path / "nowhere")
    assert missing.code == 3
    assert f"workspace={tmp_path / 'nowhere'} is no folder" in missing.sentence
    empty = chase("view", tmp_path)
    assert empty.code == 3
    assert "has no store yet" in empty.sentence
    assert list(tmp_path.iterdir()) == []


def test_no_browser_is_opened_where_nobody_types(
    chase: Commands, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    ended = chase("view", workspace)
    assert ended.code == 0
    assert "?token=" in ended.out
    assert opened == []
