"""The viewer in a real browser: what a person does with it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from chase.store.store import Store
from chase.store.workspace import Workspace
from tests.web.browsing import NARROW, WIDE, check_readable, needs_chromium, take_picture, watching
from tests.web.viewing import Viewing, viewing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), needs_chromium]
SETTINGS = "--benchmark syn-ledger@101 --model sim:reader --rounds 2 --seed 1 --eta 0 --no-certify".split()


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where pictures go: `make pictures` puts those of the README in their place."""
    return Path(os.environ.get("CHASE_PICTURES", tmp_path))


def stop_when_told(process: subprocess.Popen[bytes], workspace: Path, event: str) -> None:
    """Hold a run as soon as it has written an event down, so that a page can be looked at meanwhile."""
    while not any(event in path.read_text() for path in workspace.glob(".chase/runs/*/events.jsonl")):
        assert process.poll() is None, "the run ended early"
        time.sleep(0.01)
    process.send_signal(signal.SIGSTOP)


def test_a_run_that_another_process_makes_is_followed_without_loading_the_page_again(
    browser: Browser, evolved: Path, tmp_path: Path, pictures: Path
) -> None:
    with Store.open(Workspace(tmp_path), write=True):
        pass  # so that there is something to look at before the run begins
    command = [sys.executable, "-m", "chase", "evolve", *SETTINGS, "--workspace", str(tmp_path)]
    sizes = ["--split-sizes", "evo=4,disc=4,conf=4,cert=4", "--rollouts", "evo=1,disc=1,conf=1,cert=1"]
    with viewing(tmp_path) as at_work, watching(browser, at_work) as watched:
        page = watched.page
        with subprocess.Popen([*command, *sizes], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                stop_when_told(process, tmp_path, "RoundStarted")
                page.goto(at_work.address + "/")
                page.get_by_role("link", name="running").click()
                page.evaluate("window.never_loaded_again = true")
                expect(page.locator("#live")).to_have_attribute("data-updates", re.compile("[1-9]"))
                expect(page.locator(".state")).to_contain_text("running")
                expect(page.locator(".told")).not_to_contain_text("archived")
                process.send_signal(signal.SIGCONT)
                stop_when_told(process, tmp_path, "Archived")
                expect(page.locator(".told")).to_contain_text("archived as b1")
                picture = take_picture(page, pictures, "live")
                process.send_signal(signal.SIGCONT)
                expect(page.locator(".told")).to_contain_text("final selection among the rounds' harnesses")
                expect(page.locator(".state")).to_contain_text("finished")
                assert process.wait(60) == 0
            finally:
                process.kill()
        assert page.evaluate("window.never_loaded_again") is True
        updates = int(page.locator("#live").get_attribute("data-updates") or 0)
        figures = page.locator(".figures").inner_text()
        assert watched.troubles == []
    with Store.open(Workspace(tmp_path), write=False) as store:
        spent = store.spend(store.runs()[0].id)
    tokens = sum(row.usage.input_tokens + row.usage.output_tokens for row in spent)
    assert 10_000 < picture.stat().st_size < 150_000
    assert updates >= 2
    assert f"{tokens:,}" in figures


def test_four_traces_stand_side_by_side_and_the_first_departure_is_marked(
    browser: Browser, served: Viewing, run: str, digest: str, pictures: Path
) -> None:
    with watching(browser, served) as watched:
        page = watched.open(f"/runs/{run}/four/{digest}")
        panes = page.locator(".pane")
        assert panes.count() == 4
        boxes = [panes.nth(number).bounding_box() for number in range(4)]
        lefts = [box["x"] for box in boxes if box is not None]
        assert lefts == sorted(set(lefts))
        assert len({box["y"] for box in boxes if box is not None}) == 1
        marks = page.locator(".pane .mark")
        assert marks.count() >= 1
        assert re.search("[◆▲]", marks.first.inner_text())
        assert "otherwise than" in marks.first.inner_text()
        # The same step of every pane is on one line, as far as all have it.
        tops = [panes.nth(number).locator(".step").nth(1).bounding_box() for number in range(4)]
        assert len({top["y"] for top in tops if top is not None}) == 1
        marks.first.evaluate("mark => mark.scrollIntoView({block: 'center'})")
        assert 10_000 < take_picture(page, pictures, "four").stat().st_size < 150_000
        page.get_by_label("against").select_option(index=0)
        page.get_by_role("button", name="Compare").click()
        assert "harness=" in page.url
        assert watched.troubles == []


def test_filters_are_in_the_address_and_a_shared_link_shows_the_same_elsewhere(
    browser: Browser, served: Viewing, run: str
) -> None:
    with watching(browser, served) as watched:
        page = watched.open(f"/runs/{run}/rollouts")
        whole = page.locator("tbody tr").count()
        page.get_by_label("Which").select_option("wrong")
        page.get_by_label("Split").select_option("evo")
        page.get_by_role("button", name="Filter").click()
        rows = page.locator("tbody tr")
        assert 0 < rows.count() < whole
        assert {row.split("\t")[3] for row in rows.all_inner_texts()} == {"evo"}
        shown = page.locator("table").inner_text()
        assert "kind=wrong" in page.url
        assert "split=evo" in page.url
        assert "token=" not in page.url
        plain = page.url
        page.get_by_text("Link to this page").click()
        shared = page.get_by_label("Address").input_value()
    with watching(browser, served, link=False) as other:
        answer = other.page.goto(plain)
        assert answer is not None
        assert answer.status == 403
        other.page.goto(shared)
        assert other.page.locator("table").inner_text() == shown
        assert "token=" not in other.page.url
        other.page.reload()
        assert other.page.locator("table").inner_text() == shown
        assert other.elsewhere == []


def test_the_archive_is_opened_from_the_list_of_runs(browser: Browser, served: Viewing, run: str) -> None:
    with watching(browser, served) as watched:
        page = watched.open("/")
        page.get_by_role("link", name=run).click()
        expect(page.locator(".verdict")).to_contain_text("harness")
        expect(page.locator("main")).to_contain_text("imulated reader")
        page.get_by_role("link", name="Counterfactuals").click()
        archive = page.get_by_role("region", name=re.compile("^The archive"))
        expect(archive).to_contain_text("b1")
        expect(page.get_by_role("region", name=re.compile("firewall's verdicts"))).to_contain_text("valid")
        expect(page.get_by_role("link", name="Counterfactuals")).to_have_attribute("aria-current", "page")
        page.get_by_role("link", name="Rounds").click()
        charts = page.locator("figure svg")
        tables = page.locator("section table")
        expect(charts.first).to_be_visible()
        assert 0 < charts.count() <= tables.count()
        assert watched.troubles == []


def test_pages_are_dark_where_that_is_preferred(browser: Browser, served: Viewing, run: str) -> None:
    found = {}
    for scheme in ("light", "dark"):
        with watching(browser, served, color_scheme=scheme) as watched:
            page = watched.open(f"/runs/{run}/rollouts")
            found[scheme] = [
                sum(map(int, re.findall(r"\d+", page.evaluate(f"getComputedStyle(document.body).{name}"))[:3]))
                for name in ("backgroundColor", "color")
            ]
    assert found["light"][0] > 600 > found["light"][1]
    assert found["dark"][0] < 200 < found["dark"][1]


@pytest.mark.parametrize(("scheme", "viewport"), [("light", NARROW), ("dark", WIDE)])
def test_every_page_fits_the_screen_and_axe_finds_nothing_serious(
    browser: Browser, served: Viewing, pages: list[str], scheme: str, viewport: dict[str, int]
) -> None:
    # Only the test's own context lets axe's script in: pages are served under the same policy as ever.
    with watching(browser, served, color_scheme=scheme, viewport=viewport, bypass_csp=True) as watched:
        for path in pages:
            check_readable(watched.open(path), viewport)
