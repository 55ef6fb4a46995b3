"""Who gets an answer: the right Host and Origin, the secret of this start, and only to read."""

from __future__ import annotations

import re
import socket

import pytest

from chase.web.guard import POLICY
from tests.web.viewing import Viewing


def test_without_the_secret_nothing_of_the_workspace_is_told(small: Viewing) -> None:
    for path in ("/", "/runs/latest", "/runs/latest/live/events", "/rollouts", "/nowhere", "/?token=wrong"):
        answer = small.ask(path)
        assert answer.status == 403
        assert "evolve-small" not in answer.text
        assert "set-cookie" not in answer.headers
    wrong = {"Cookie": f"chase_view_{small.listening.port}=wrong"}
    assert small.ask("/", headers=wrong).status == 403
    assert small.ask("/", headers={"Cookie": f"chase_view_1={small.token}"}).status == 403


def test_the_link_gives_the_page_and_a_cookie_that_stands_for_it(small: Viewing) -> None:
    answer = small.ask(f"/?token={small.token}")
    assert answer.status == 200
    assert "evolve-small" in answer.text
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"chase_view_{small.listening.port}=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(re.split("; ", cookie))
    assert small.ask("/", headers={"Cookie": cookie.split(";")[0]}).status == 200


def test_two_starts_have_two_secrets(small: Viewing, tmp_path_factory: pytest.TempPathFactory) -> None:
    from chase.web.guard import Secret

    assert len({Secret(1).token, Secret(1).token, small.token}) == 3
    assert len(small.token) >= 32


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.nip.io:{port}"]
)
def test_a_name_that_is_rebound_to_loopback_gets_nothing(small: Viewing, host: str) -> None:
    headers = {**small.cookie, "Host": host.format(port=small.listening.port)}
    answer = small.ask(f"/?token={small.token}", headers=headers)
    assert answer.status == 421
    assert "evolve-small" not in answer.text


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
def test_another_origin_gets_nothing(small: Viewing, origin: str) -> None:
    answer = small.ask("/", headers={**small.cookie, "Origin": origin})
    assert answer.status == 403
    assert "evolve-small" not in answer.text
    assert small.ask("/", headers={**small.cookie, "Origin": small.address}).status == 200


def test_another_sites_scripts_and_pictures_get_nothing_but_its_links_do(small: Viewing) -> None:
    cross = {**small.cookie, "Sec-Fetch-Site": "cross-site"}
    assert small.ask("/", headers={**cross, "Sec-Fetch-Mode": "no-cors"}).status == 403
    assert small.ask("/", headers={**cross, "Sec-Fetch-Mode": "navigate"}).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_nothing_but_reading_is_answered(small: Viewing, method: str) -> None:
    assert small.ask("/", method=method, headers=small.cookie).status in (400, 405)
    assert small.ask("/", method="HEAD", headers=small.cookie).status == 200


@pytest.mark.parametrize("path", ["/", "/static/view.js", "/runs/none", "/nowhere"])
def test_every_answer_carries_the_policy(small: Viewing, path: str) -> None:
    for headers in ({}, small.cookie):
        found = small.ask(path, headers=headers).headers
        assert found["content-security-policy"] == POLICY
        assert "unsafe" not in POLICY
        assert "default-src 'none'" in POLICY
        assert found["x-content-type-options"] == "nosniff"
        assert found["referrer-policy"] == "no-referrer"
        assert "server" not in found
        assert "access-control-allow-origin" not in found
        assert path.startswith("/static") or found["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fguard.py", "/runs/..%2f..%2fetc", "/runs/%00"]
)
def test_no_path_leads_out_of_the_pages(small: Viewing, path: str) -> None:
    answer = small.ask(path, headers=small.cookie)
    assert answer.status == 404
    assert "import annotations" not in answer.text


def test_it_listens_on_loopback_alone(small: Viewing) -> None:
    elsewhere = next((a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)), "127.0.0.2")
    address = elsewhere if not elsewhere.startswith("127.0.0.1") else "127.0.0.2"
    with socket.socket() as caller:
        caller.settimeout(2)
        assert caller.connect_ex((address, small.listening.port)) != 0
