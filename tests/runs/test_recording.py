"""What a run writes down for whoever looks from another process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chase.core.events import Challenged, Event, PoolEntry, Selected
from chase.runs import recording
from chase.runs.listening import Building, RunBegun, Silent
from chase.runs.naming import names_in
from chase.runs.recording import EVENTS, Recorder, read_events
from chase.store.records import Run
from chase.store.workspace import RunFiles, Workspace

RUN = "chase-1"
BEGUN = RunBegun(command="evolve", run=RUN, label="it", again="again", config={"seed": 1}, rollouts=(1, 2))
ENTRY = PoolEntry(harness="r1-guidance", hash="f" * 64, released=0.5, gain=0.1, destruction={}, violates={})
SELECTED = Selected(round=1, pool=(ENTRY,), selected="r1-guidance", refused=())


class Heard(Silent):
    def __init__(self) -> None:
        self.events: list[Event] = []

    def told(self, event: Event) -> None:
        self.events.append(event)


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return RunFiles(Workspace(tmp_path), RUN)


def test_every_event_is_passed_on_and_written_with_its_words(files: RunFiles) -> None:
    heard = Heard()
    recorder = Recorder(heard, files)
    for event in (BEGUN, Building(benchmark="b"), SELECTED):
        recorder.told(event)
    assert heard.events == [BEGUN, Building(benchmark="b"), SELECTED]
    written = [event for event in read_events(files) if event["event"] != recording.PROGRESS]
    assert [event["event"] for event in written] == ["RunBegun", "Selected"]
    assert written[0]["data"]["rollouts"] == [1, 2]
    assert written[1]["lines"] == ["  * r1-guidance   50.0 %"]


def test_rollouts_are_told_at_most_once_a_second_and_before_every_event(
    files: RunFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    recorder = Recorder(Silent(), files)
    recorder.told(BEGUN)
    recorder.started(total=500, reused=20)
    for _ in range(400):
        recorder.finished(None)  # type: ignore[arg-type]
    recorder.told(SELECTED)
    progress = [event for event in read_events(files) if event["event"] == recording.PROGRESS]
    assert [(event["total"], event["done"], event["reused"]) for event in progress] == [(500, 20, 20), (500, 420, 20)]
    now = 101.5
    recorder.finished(None)  # type: ignore[arg-type]
    assert read_events(files)[-1]["done"] == 421


def test_a_run_that_goes_on_is_read_from_where_it_went_on(files: RunFiles) -> None:
    for _ in range(2):
        recorder = Recorder(Silent(), files)
        recorder.told(BEGUN)
        recorder.told(SELECTED)
    assert [e["event"] for e in read_events(files) if e["event"] != recording.PROGRESS] == ["RunBegun", "Selected"]
    assert (files.path / EVENTS).read_text().count("RunBegun") == 2


def test_a_disk_that_takes_no_line_does_not_end_the_run(files: RunFiles) -> None:
    files.path.parent.mkdir(parents=True)
    files.path.write_text("a file where the folder should be")
    heard = Heard()
    Recorder(heard, files).told(BEGUN)
    assert heard.events == [BEGUN]
    assert read_events(files) == []


def test_a_run_under_way_has_the_names_that_it_has_told(files: RunFiles) -> None:
    recorder = Recorder(Silent(), files)
    recorder.told(BEGUN)
    recorder.told(SELECTED)
    found = {"hash": "d" * 64, "symbols": "equalise", "what": "x", "destruction": {"value": 0.0, "se": 0.0}}
    recorder.told(Challenged(round=1, proposals=(), evaluated=(found,), frozen=None))
    names = names_in(Run(id=RUN, created_at="", config={}, status="running"), files.workspace)
    assert names.harness("f" * 64) == "r1-guidance"
    assert names.variant("d" * 64) == "equalise"
    assert json.loads((files.path / EVENTS).read_text().splitlines()[-1])["event"] == "Challenged"
