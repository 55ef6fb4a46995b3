"""Everything on every page by keyboard alone: reached in order, with a focus that is seen, and used."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.browsing import needs_chromium, watching
from tests.web.viewing import Viewing

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), needs_chromium]

WATCH = """() => {
  const reachable = "a[href], button, input, select, summary, [tabindex='0']";
  const all = [...document.querySelectorAll(reachable)].filter(e => e.checkVisibility());
  window.focused = [];
  document.addEventListener("focusin", event => {
    const style = getComputedStyle(event.target), box = event.target.getBoundingClientRect();
    const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.right > 0 && box.width > 0;
    focused.push([all.indexOf(event.target), seen, event.target.outerHTML.slice(0, 120)]);
  });
  return all.length;
}"""
"""Writes down what gets the focus: its place among all that can have it, and whether that is seen."""


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def tab_to(page: Page, words: str) -> None:
    """Press Tab until something with these words has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if focused(page) == words:
            return
    raise AssertionError(f"Tab does not lead to {words}")


def test_tab_leads_through_every_link_and_control_of_every_page_in_order(
    browser: Browser, served: Viewing, pages: list[str]
) -> None:
    with watching(browser, served) as watched:
        for path in pages:
            page = watched.open(path)
            count = page.evaluate(WATCH)
            for _ in range(count):
                page.keyboard.press("Tab")
            found: list[Any] = page.evaluate("focused")
            assert [place for place, *_ in found if place >= 0] == list(range(count)), path
            assert [shown for _, seen, shown in found if not seen] == [], path


def test_the_first_tab_offers_to_skip_to_the_content(browser: Browser, served: Viewing, run: str) -> None:
    with watching(browser, served) as watched:
        page = watched.open("/")
        page.keyboard.press("Tab")
        assert focused(page) == "Skip to the content"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.getElementById('main').contains(document.activeElement)")
        tab_to(page, run)
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{served.address}/runs/{run}")


def test_rollouts_are_filtered_by_keyboard(browser: Browser, served: Viewing, run: str) -> None:
    with watching(browser, served) as watched:
        page = watched.open(f"/runs/{run}/rollouts")
        page.get_by_label("Which").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Tab")
        tab_to(page, "Filter")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("kind=wrong"))
        assert page.locator("tbody tr").count() > 0
        tab_to(page, "Clear")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{served.address}/runs/{run}/rollouts")


def test_the_trace_explorer_leads_to_a_departure_and_opens_what_was_shown(
    browser: Browser, served: Viewing, run: str, digest: str
) -> None:
    with watching(browser, served) as watched:
        page = watched.open(f"/runs/{run}/four/{digest}")
        marked = page.locator("tbody .mark a").first
        words = marked.inner_text()
        shown = page.locator(marked.get_attribute("href") or "").locator(".turn").inner_text()
        assert words == f"step {shown}"  # the number in the table is the one that stands at the step
        tab_to(page, words)
        page.keyboard.press("Enter")
        expect(page.locator(":target")).to_contain_text("From here on it acts otherwise")
        expect(page.locator(":target")).to_be_in_viewport()
        assert page.evaluate("document.activeElement.classList.contains('departs')")
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "SUMMARY":
                break
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.parentElement.open")
        assert watched.troubles == []
