"""Who may ask the viewer for what: a browser on this machine that was given the link, and only to read.

Another site in the same browser can send requests to loopback, and a name that is rebound to 127.0.0.1 makes its pages
look like ours. So the Host must be ours, an Origin too where there is one, and nothing is told without the secret that
is drawn at every start. It comes in the link once and is kept in a cookie that no script and no other site can use.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = "127.0.0.1"
METHODS = ("GET", "HEAD")
OPEN_PATHS = ("/static/",)
"""Our own files, which say nothing of a workspace."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Secret:
    """What a start of the viewer draws: whoever has it may read."""

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        self.cookie = f"chase_view_{port}"
        """Cookies of one host are shared by its ports, so that two viewers need two names."""

    def matches(self, given: str | None) -> bool:
        return given is not None and hmac.compare_digest(given.encode(), self.token.encode())


class Guard:
    """Lets through what may be asked, and puts the same headers on every answer."""

    def __init__(self, app: ASGIApp, *, secret: Secret, port: int) -> None:
        self._app = app
        self._secret = secret
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no WebSocket is served
        headers = Headers(scope=scope)
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [None])[-1]
        given = self._secret.matches(asked)
        refused = self._refusal(scope, headers, given=given)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    answered[name] = value
                if not scope["path"].startswith(OPEN_PATHS):
                    answered["Cache-Control"] = "no-store"
                if given and refused is None:
                    cookie = f"{self._secret.cookie}={self._secret.token}; Path=/; HttpOnly; SameSite=Strict"
                    answered.append("Set-Cookie", cookie)
            await send(message)

        await (self._app if refused is None else refused)(scope, receive, sending)

    def _refusal(self, scope: Scope, headers: Headers, *, given: bool) -> Response | None:
        if scope["method"] not in METHODS:
            return _said(405, "The viewer only reads: GET and HEAD.", {"Allow": ", ".join(METHODS)})
        if headers.get("host", "").lower() not in self._hosts:
            return _said(421, "This viewer answers under 127.0.0.1 and localhost alone.")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self._hosts}:
            return _said(403, "A request from another origin is refused.")
        if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            return _said(403, "A request from another site is refused.")
        if scope["path"].startswith(OPEN_PATHS) or given or self._secret.matches(self._cookie(headers)):
            return None
        return _said(403, "This page needs the link that `chase view` printed: it ends in ?token=…")

    def _cookie(self, headers: Headers) -> str | None:
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(self._secret.cookie)
        except CookieError:
            return None
        return None if kept is None else kept.value


def _said(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse(sentence + "\n", status_code=status, headers=headers)
