"""Debian's Chromium, driven by Playwright: one browser for a file of tests, a context of its own for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.web.viewing import Viewing

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed: `apt-get install chromium`, or your system's way"
)
TOP = 52
"""How high the line with the workspace's path is."""
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 390, "height": 800}


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser with a profile of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """A page that is watched: what it says on the console, asks for elsewhere, or puts up."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(20_000)
        self.address = address
        self.said: list[str] = []
        self.elsewhere: list[str] = []
        self.dialogs: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)
        context.on("request", self._requested)

    def open(self, path: str) -> Page:
        """A page below the address."""
        self.page.goto(self.address + path)
        return self.page

    @property
    def troubles(self) -> list[str]:
        return [*self.said, *self.elsewhere, *self.dialogs]

    def _requested(self, request: Any) -> None:
        if not request.url.startswith((self.address + "/", "data:")):
            self.elsewhere.append(request.url)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


def take_picture(page: Page, folder: Path, name: str) -> Path:
    """What the page shows now without the workspace's path, in few colours so that the file is small."""
    path = folder / f"view-{name}.png"
    top = 0 if page.evaluate("scrollY") > TOP else TOP
    page.screenshot(path=path, animations="disabled", clip={"x": 0, "y": top, "width": 1280, "height": 800 - top})
    Image.open(path).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


@contextmanager
def watching(browser: Browser, viewing: Viewing, *, link: bool = True, **options: Any) -> Iterator[Watched]:
    """A page in a context of its own, as whoever has the link opens it; `link` False: without."""
    with watching_at(browser, viewing.address, **options) as watched:
        if link:
            watched.page.goto(viewing.listening.link)
        yield watched


@contextmanager
def watching_at(browser: Browser, address: str, **options: Any) -> Iterator[Watched]:
    """A page in a context of its own that is to ask for nothing outside an address, a folder's too."""
    context = browser.new_context(**{"viewport": WIDE, **options})
    try:
        yield Watched(context, address)
    finally:
        context.close()


def serious_findings(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds that is serious, and where. Its script needs a context with `bypass_csp`."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    return [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in serious]


def check_readable(page: Page, viewport: dict[str, int]) -> None:
    """A page is not wider than the screen, and axe finds nothing serious on it."""
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], page.url
    assert serious_findings(page) == [], page.url
