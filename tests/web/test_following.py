"""How far a run has come: from what it writes down and what the store has, while it is at work."""

from __future__ import annotations

import json
import threading
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from chase.core.events import RoundStarted
from chase.report.facts import HISTORY
from chase.runs.listening import RunBegun, Silent
from chase.runs.recording import EVENTS, Recorder
from chase.store.store import Store
from chase.store.workspace import RunFiles, Workspace
from chase.web.following import Follower, Progress
from chase.web.viewer import Viewer
from tests.store.store_samples import sample_ledger, sample_rollout
from tests.web.viewing import viewing

RUN = "chase-1"
BEGUN = RunBegun(
    command="evolve", run=RUN, label="chase on it", again="chase evolve --resume chase-1", config={}, rollouts=(10, 40)
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def progress(workspace: Workspace) -> Progress:
    viewer = Viewer.open(workspace)
    try:
        return Follower(viewer).progress(RUN)
    finally:
        viewer.close()


def test_a_run_at_work_tells_rollouts_rate_tokens_cost_and_time_left(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        store.create_run(RUN, {"command": "evolve"})
        recorder = Recorder(Silent(), RunFiles(workspace, RUN))
        recorder.told(BEGUN)
        recorder.started(total=8, reused=2)
        for number in range(3):
            rollout = sample_rollout(number)
            store.record_sync(rollout, sample_ledger(rollout, 0.25, None, run=RUN))
            recorder.finished(None)  # type: ignore[arg-type]
        recorder.told(RoundStarted(round=1, rounds=3, current="H0", archive=("released",)))
        found = progress(workspace)
    assert (found.state, found.stage, found.done, found.reused) == ("running", "round 1", 5, 2)
    assert found.between == (10, 40)
    assert found.rate is not None
    assert found.rate > 0
    least, most = found.seconds_left or (0, 0)
    assert 0 < least < most
    assert found.spent.requests == 6
    assert found.spent.cost_usd == pytest.approx(0.75)
    assert found.unpriced == 3
    assert [told.lines for told in found.told][-1] == ("round 1 of 3: from H0, archive: released",)


def test_a_comparison_tells_how_far_all_have_come_and_what_each_evolution_decided_last(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        store.create_run(RUN, {"command": "compare"})
        for method in ("chase", "raw-harness"):
            member = {"command": "compare-member", "of": RUN, "method": method, "seed": 3, "rounds": 4}
            store.create_run(f"{RUN}-{method}-s3", member)
        store.create_run("other-chase-s1", {"command": "compare-member", "of": "other", "method": "chase", "seed": 1})
        store.set_run_status(f"{RUN}-raw-harness-s3", "finished")
        history = workspace.run_folder(f"{RUN}-chase-s3") / HISTORY
        history.mkdir(parents=True)
        decided = [(1, "H0", 0.0), (2, "r2-guidance", 0.125)]
        records = (
            {"round": n, "selected": name, "pool": [{"harness": name, "gain": gain}]} for n, name, gain in decided
        )
        (history / "rounds.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
        now = datetime.now(UTC)
        for seconds, rollouts in ((20, 3), (8, 9)):
            at = (now - timedelta(seconds=seconds)).isoformat()
            told = {"at": at, "event": "MembersUnderWay", "data": {"ended": 1, "members": 2, "rollouts": rollouts}}
            RunFiles(workspace, RUN).append(EVENTS, f"{json.dumps(told)}\n")
        found = progress(workspace)
    assert (found.done, found.members) == (9, (1, 2))
    assert found.rate == pytest.approx(0.5)
    assert [(each.method, each.seed, each.state, each.decided) for each in found.standings] == [
        ("chase", "3", "running", "round 2 of 4: r2-guidance, +12.5 points on the evolution tasks as released"),
        ("raw-harness", "3", "finished", ""),
    ]
    assert [each.state for each in progress(workspace).standings] == ["stopped", "finished"]


def test_a_run_that_nobody_is_at_work_on_is_told_apart_from_one_that_is(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        store.create_run(RUN, {"command": "evolve"})
        Recorder(Silent(), RunFiles(workspace, RUN)).told(BEGUN)
        assert progress(workspace).state == "running"
    killed = progress(workspace)
    assert killed.state == "stopped"
    assert killed.again == "chase evolve --resume chase-1"
    assert killed.seconds_left is None
    with Store.open(workspace, write=True) as store:
        store.set_run_status(RUN, "paused")
        assert progress(workspace).state == "paused"


def test_what_was_spent_is_read_once_and_then_only_what_is_new(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        store.create_run(RUN, {"command": "evolve"})
        viewer = Viewer.open(workspace)
        follower = Follower(viewer)
        totals = []
        for number in range(3):
            rollout = sample_rollout(number)
            store.record_sync(rollout, sample_ledger(rollout, 0.5, run=RUN))
            store.record_sync(sample_rollout(10 + number), sample_ledger(rollout, 9.0, run="another"))
            totals.append(follower.progress(RUN).spent.cost_usd)
        asked: list[int] = []
        spent_since = viewer.store.spent_since

        def counted(run: str, last: int) -> object:
            asked.append(last)
            return spent_since(run, last)

        viewer.store.spent_since = counted  # type: ignore[method-assign, assignment]
        follower.progress(RUN)
        viewer.close()
    assert totals == [0.5, 1.0, 1.5]
    assert asked == [5]


def test_the_page_gets_an_event_when_something_happens_and_one_when_the_run_ends(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        store.create_run(RUN, {"command": "evolve"})
        recorder = Recorder(Silent(), RunFiles(workspace, RUN))
        recorder.told(BEGUN)
        with viewing(workspace.root) as at_work:
            request = urllib.request.Request(f"{at_work.address}/runs/{RUN}/live/events", headers=at_work.cookie)
            with urllib.request.urlopen(request, timeout=30) as stream:
                assert stream.headers["content-type"].startswith("text/event-stream")
                first = _event(stream)
                recorder.told(RoundStarted(round=2, rounds=3, current="<b>H1</b>", archive=()))
                told = first
                while "round 2" not in told[1]:
                    told = _event(stream)
                store.set_run_status(RUN, "finished")
                while told[0] != "over":
                    told = _event(stream)
    assert first[0] == "progress"
    assert told[1] == "finished"


def test_a_viewer_that_is_stopped_lets_go_of_the_pages_that_follow(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        store.create_run(RUN, {"command": "evolve"})
        with viewing(workspace.root) as at_work:
            request = urllib.request.Request(f"{at_work.address}/runs/{RUN}/live/events", headers=at_work.cookie)
            stream = urllib.request.urlopen(request, timeout=30)
            _event(stream)
            reader = threading.Thread(target=stream.read, daemon=True)
            reader.start()
        reader.join(30)
        assert not reader.is_alive()


def test_a_damaged_or_half_written_line_is_passed_over(workspace: Workspace) -> None:
    with Store.open(workspace, write=True) as store:
        store.create_run(RUN, {"command": "evolve"})
        files = RunFiles(workspace, RUN)
        Recorder(Silent(), files).told(BEGUN)
        files.append(
            "events.jsonl",
            'null\n[1]\n{"at": 3}\nnot json\n' + json.dumps({"at": "x", "event": "odd"}) + '\n{"at": "2026',
        )
        found = progress(workspace)
    assert found.label == "chase on it"


def _event(stream: object) -> tuple[str, str]:
    name, data = "", []
    while True:
        line = stream.readline().decode().rstrip("\n")  # type: ignore[attr-defined]
        if not line:
            return name, "\n".join(data)
        kind, _, value = line.partition(": ")
        if kind == "event":
            name = value
        else:
            data.append(value)
