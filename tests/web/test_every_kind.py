"""Pages and report files of every kind of run in a real browser: hostile text stays text, and all can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from chase.report.writing import write_report
from tests.conftest import open_once
from tests.report.attacks import attack
from tests.report.finished_runs import Runs
from tests.web.attempts import EVIL, check_tame
from tests.web.browsing import NARROW, WIDE, check_readable, needs_chromium, watching, watching_at
from tests.web.viewing import Viewing, viewing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report"), needs_chromium]  # that group has the runs

KINDS = ("evolution", "audit", "comparison")
PAGES = {
    "evolution": {"", "live", "rounds", "counterfactuals", "harnesses", "certificates", "outcomes", "provenance"},
    "audit": {"", "live", "attribution", "tested", "harnesses", "examples", "outcomes"},
    "comparison": {"", "live", "members"},
}
"""Pages that hold text of a model, at least: it must be seen there."""


@pytest.fixture(scope="module", autouse=True)
def benchmarks() -> Iterator[None]:
    """The benchmark that other tests of this process use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chase.benchmarks.registry.open_benchmark", open_once)
        yield


@pytest.fixture(scope="module")
def attacked(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return attack(runs.copied(tmp_path_factory.mktemp("attacked")), EVIL)


@pytest.fixture(scope="module")
def served(attacked: Runs) -> Iterator[Viewing]:
    with viewing(attacked.root) as at_work:
        yield at_work


@pytest.fixture(scope="module")
def reports(attacked: Runs, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The report of each kind of run, with the same hostile text."""
    folder = tmp_path_factory.mktemp("reports")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chase.report.raster.png", lambda drawing: b"")
        return {
            kind: write_report(getattr(attacked, kind), folder / kind, workspace=attacked.root).folder for kind in KINDS
        }


def addresses(page: Page, run: str) -> dict[str, str]:
    """The pages of a run that its tabs lead to."""
    page.goto(page.url.split("?")[0].rstrip("/") + f"/runs/{run}")
    links = page.locator(".tabs a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    return {link.removeprefix(f"/runs/{run}").strip("/"): link for link in links}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_a_model_wrote_runs_on_a_page_of_any_kind_of_run(
    browser: Browser, served: Viewing, attacked: Runs, kind: str
) -> None:
    hostile = set()
    with watching(browser, served) as watched:
        for name, path in addresses(watched.page, getattr(attacked, kind)).items():
            page = watched.open(path)
            check_tame(page)
            text = page.locator("main").evaluate("main => main.textContent")
            assert "Something is wrong" not in text, path
            hostile |= {name} if "window.ran=" in text else set()
            for summary in page.locator("main summary").all()[:3]:
                summary.click()
            assert watched.troubles == [], path
    assert hostile >= PAGES[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_a_model_wrote_runs_in_a_report_that_is_opened_as_a_file(
    browser: Browser, reports: dict[str, Path], kind: str
) -> None:
    with watching_at(browser, reports[kind].as_uri()) as watched:
        page = watched.open("/report.html")
        assert "window.ran=" in page.locator("main").evaluate("main => main.textContent")
        for summary in page.locator("summary").all()[:3]:
            summary.click()
        check_tame(page)
        assert page.locator("script, link, img").count() == 0
        for figure in sorted((reports[kind] / "figures").glob("*.svg")):
            watched.open(f"/figures/{figure.name}")
            assert page.evaluate("window.ran") is None, figure
            assert page.locator("script, foreignObject, image, a").count() == 0, figure
        assert watched.troubles == []


@pytest.mark.parametrize(("scheme", "viewport"), [("light", WIDE), ("dark", NARROW)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_report_of_every_kind_fits_the_screen_and_axe_finds_nothing_serious(
    browser: Browser, reports: dict[str, Path], kind: str, scheme: str, viewport: dict[str, int]
) -> None:
    with watching_at(
        browser, reports[kind].as_uri(), color_scheme=scheme, viewport=viewport, bypass_csp=True
    ) as watched:
        check_readable(watched.open("/report.html"), viewport)


@pytest.mark.parametrize(("kind", "scheme"), [("audit", "light"), ("comparison", "dark")])
def test_pages_of_an_audit_and_a_comparison_fit_a_phone_and_axe_finds_nothing_serious(
    browser: Browser, runs: Runs, kind: str, scheme: str
) -> None:
    options = {"color_scheme": scheme, "viewport": NARROW, "bypass_csp": True}
    with viewing(runs.root) as at_work, watching(browser, at_work, **options) as watched:
        own = addresses(watched.page, getattr(runs, kind))
        assert len(own) > 5
        for path in own.values():
            check_readable(watched.open(path), NARROW)
