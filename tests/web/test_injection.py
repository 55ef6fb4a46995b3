"""What models, documents and harnesses wrote stays text: a real browser goes over every page of hostile records."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from chase.core.events import PoolEntry, RoundStarted, Selected
from chase.core.values import Outcome, Rollout, Usage
from chase.runs.listening import RunBegun, Silent
from chase.runs.recording import Recorder
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import RunFiles, Workspace
from tests.report.attacks import WORDS, keys_of, poison_files
from tests.store.store_samples import sample_key, sample_ledger
from tests.web.attempts import EVIL, check_tame
from tests.web.browsing import Watched, needs_chromium, watching
from tests.web.viewing import Viewing, viewing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), needs_chromium]

RUN = "run<img src=x onerror=window.ran=9>"


def hostile(value: Any) -> Any:
    """The same with every text that is no number, hash or word of our own replaced by text that tries everything."""
    if isinstance(value, dict):
        return {key: value[key] if key in OURS else hostile(value[key]) for key in value}
    if isinstance(value, list):
        return [hostile(inner) for inner in value]
    return f"{value} {EVIL}" if isinstance(value, str) and not _number(value) else value


OURS = ("schema", "command", "word", "verdict", "kind", "track", "component", "hash", "status", "source")
"""Fields that hold one of our own words, or a hash, whatever a model writes."""


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def trace() -> dict[str, Any]:
    """Every kind of event, each of its texts hostile."""
    item = {"id": EVIL, "path": EVIL, "line": EVIL, "window": 0}
    return {
        "version": 4,
        "task": EVIL,
        "question": EVIL,
        "events": [
            {"event": "prompt", "guidance": [EVIL], "system": EVIL, "user": EVIL},
            {"event": "model", "thinking": EVIL, "text": EVIL, "calls": [{"tool": EVIL, "arguments": {EVIL: EVIL}}]},
            {"event": "tool", "by": EVIL, "tool": EVIL, "arguments": EVIL, "asked": EVIL, "ok": False, "head": EVIL,
             "items": [item]},
            {"event": "hook", "hook": EVIL, "value": EVIL, "failure": None},
            {"event": "hook", "hook": EVIL, "value": None, "failure": EVIL, "detail": EVIL},
            {"event": "given", "tool": EVIL, "text": EVIL},
            {"event": "note", "text": EVIL},
            {"event": "objection", "text": EVIL},
            {"event": "guidance", "name": EVIL},
            {"event": EVIL, "value": EVIL},
            {"event": "model", "text": EVIL, "calls": []},
        ],
        "answer": EVIL,
    }  # fmt: skip


def rollouts() -> Iterator[Rollout]:
    """Two harnesses under two variants on a task, all of whose names are hostile too."""
    for number, (harness, variant) in enumerate([("H0", "v"), ("H1", "v"), ("H0", "w"), ("H1", "w")]):
        key = sample_key(f"t {EVIL}", harness=f"{harness} {EVIL}", transformation=f"{variant} {EVIL}", role=f"r {EVIL}")
        failed = number == 3
        outcome = Outcome(status="failed" if failed else "scored", score=None if failed else 0.5, reason=EVIL)
        yield Rollout(
            key=key, outcome=outcome, answer=EVIL, usage=Usage(requests=1), served_models=(EVIL,), trace=trace()
        )


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory, evolved: Path) -> Path:
    """A workspace in which every field that a model can write tries to become markup."""
    folder = tmp_path_factory.mktemp("planted")
    with Store.open(Workspace(evolved), write=False) as store:
        run = store.runs()[0]
    result = json.loads((Workspace(evolved).run_folder(run.id) / "result.json").read_text())
    with Store.open(Workspace(folder), write=True) as store:
        for id in (RUN, "under-way"):
            store.create_run(id, hostile(run.config))
            for rollout in rollouts():
                store.record_sync(rollout, sample_ledger(rollout, 0.1, run=id), use=Use(run=id, method=EVIL))
                store.record_reuse_sync(Use(run=id, method=EVIL), [store.rollouts()[0][0].digest])
        store.set_run_status(RUN, "finished")
    files = RunFiles(Workspace(folder), RUN)
    shutil.copytree(Workspace(evolved).run_folder(run.id), files.path)
    poison_files(files.path, keys_of(result) | WORDS, EVIL)
    text = json.dumps(hostile(result))
    files.write("result.json", text)
    files.write("result.sha256", f"{sha256(text.encode()).hexdigest()}  result.json\n")
    for id in (RUN, "under-way"):
        recorder = Recorder(Silent(), RunFiles(Workspace(folder), id))
        recorder.told(RunBegun(command=EVIL, run=id, label=EVIL, again=EVIL, config={EVIL: EVIL}))
        recorder.told(RoundStarted(round=1, rounds=1, current=EVIL, archive=(EVIL,)))
        entry = PoolEntry(
            harness=EVIL, hash="a" * 64, released=0.5, gain=0, destruction={EVIL: 0.1}, violates={EVIL: 1}
        )
        recorder.told(Selected(round=1, pool=(entry,), selected=EVIL, refused=(EVIL,)))
    return folder


@pytest.fixture(scope="module")
def served(planted: Path) -> Iterator[Viewing]:
    with Store.open(Workspace(planted), write=True), viewing(planted) as at_work:  # so that a run is under way
        yield at_work


def test_nothing_that_a_model_wrote_runs_on_any_page(browser: Browser, served: Viewing) -> None:
    hostile_pages: set[str] = set()
    with watching(browser, served) as watched:
        visited = _crawl(watched)
        for path, text in visited.items():
            if "window.ran=" in text:
                hostile_pages |= {f"/{part}/" if part == "four" else f"/{part}" for part in path.split("/")}
    for part in ("/four/", "/live", "/rollouts/", *(f"/{section}" for section in SECTIONS)):
        assert any(part in path for path in visited), part
    assert {"/four/", "/live", "/rounds", "/counterfactuals", "/harnesses", "/provenance"} <= hostile_pages


def test_the_live_page_takes_hostile_events_as_text(browser: Browser, served: Viewing) -> None:
    with watching(browser, served) as watched:
        page = watched.open("/runs/under-way/live")
        expect(page.locator("#live")).to_have_attribute("data-updates", re.compile("[1-9]"))
        assert "window.ran=1" in page.locator(".told").inner_text()
        assert "follows the run" in page.locator("#following").inner_text()
        check_tame(page)
        assert watched.troubles == []


def _crawl(watched: Watched) -> dict[str, str]:
    """The text of every page that links lead to from the first one, each kind a few times; none may do anything."""
    seen: dict[str, int] = {}
    visited: dict[str, str] = {}
    ahead = ["/", "/runs/under-way", "/rollouts?kind=changed", f"/rollouts?q={'a' * 9}"]
    while ahead:
        path = ahead.pop(0)
        kind = "/".join(part if part in KINDS else "*" for part in path.split("?")[0].split("/"))
        if path in visited or seen.get(kind, 0) >= 2:
            continue
        seen[kind] = seen.get(kind, 0) + 1
        page = watched.open(path)
        links = page.locator("a[href^='/']").evaluate_all("all => all.map(a => a.getAttribute('href'))")
        visited[path] = page.locator("main").evaluate("main => main.textContent")
        ahead += [link for link in links if link not in visited]
        assert "Something is wrong" not in visited[path], path
        for click in page.locator("summary").all()[:3]:
            click.click()
        check_tame(page)
        assert watched.troubles == [], path
    return visited


SECTIONS = ("rounds", "counterfactuals", "harnesses", "certificates", "outcomes", "tokens", "provenance")
KINDS = ("runs", "rollouts", "four", "live", *SECTIONS)
