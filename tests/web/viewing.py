"""A viewer that serves a workspace for the length of a test, and requests to it as any program could send them."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from chase.store.workspace import Workspace
from chase.web.serving import Listening, serve


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class Viewing:
    """A viewer at work."""

    listening: Listening

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.listening.port}"

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.listening.link).query)["token"][0]

    @property
    def cookie(self) -> dict[str, str]:
        return {"Cookie": f"chase_view_{self.listening.port}={self.token}"}

    def ask(self, path: str, *, method: str = "GET", headers: Mapping[str, str] | None = None) -> Answer:
        """A request with these headers alone; a Host among them takes the place of the right one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.listening.port, timeout=30)
        try:
            connection.request(method, path, headers=dict(headers or {}))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read().decode())
        finally:
            connection.close()

    def page(self, path: str) -> str:
        """A page, as whoever has the link gets it."""
        answer = self.ask(path, headers=self.cookie)
        assert answer.status == 200, answer.text
        return answer.text


@contextmanager
def viewing(folder: Path) -> Iterator[Viewing]:
    """A viewer in a thread of its own."""
    found: list[Any] = []
    there = threading.Event()

    def ready(listening: Listening) -> None:
        found.append(listening)
        there.set()

    def run() -> None:
        try:
            serve(Workspace(folder), ready=ready)
        finally:
            there.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert there.wait(30)
    assert found, "the viewer did not start"
    try:
        yield Viewing(found[0])
    finally:
        found[0].stop()
        thread.join(30)
        assert not thread.is_alive(), "the viewer did not end"
