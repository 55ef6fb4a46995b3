"""Any OpenAI-compatible endpoint as a pydantic-ai `Model`, over aiohttp: no SDK, little work per request."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, check_allow_model_requests
from pydantic_ai.settings import ModelSettings
from pydantic_core import from_json
from yarl import URL

from chase.core.errors import ChaseError
from chase.core.values import Json
from chase.models.config import OPENAI_COMPATIBLE, ModelConfig
from chase.models.failures import Failures
from chase.models.wire_requests import Encoder
from chase.models.wire_responses import MOST_BYTES, Decoder, NotACompletion

KEEP_ALIVE_SECONDS = 4.0
"""Below the five seconds after which common servers hang up, so that few requests meet a closed line."""
CONNECT_SECONDS = 10.0
_ENCODERS_KEPT = 64

_RENAMED = {"stop_sequences": "stop"}
"""pydantic-ai's settings whose name on the wire differs."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NOT_SENT = frozenset({"extra_headers", "extra_body"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class OpenAICompatibleModel(Model[Any]):
    """Chat completions at one endpoint. Used by all rollouts of a run at once; one pool of connections.

    Raises our own errors only, after one attempt: retrying is the pacer's. Close it with `aclose`, or use it
    as a context manager. The key is in no representation, error or log.
    """

    def __init__(self, config: ModelConfig, failures: Failures, *, key: str | None = None) -> None:
        super().__init__()
        assert config.base_url is not None
        self._name = config.model
        self._base_url = config.base_url.rstrip("/")
        self._url = URL(f"{self._base_url}/chat/completions")
        self._tool_mode = config.tool_mode
        self._failures = failures
        self._headers = _headers(config, key)
        self._decoder = Decoder(model=self._name, base_url=self._base_url)
        self._encoders: dict[int, tuple[ModelRequestParameters, Encoder]] = {}
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._proxy: str | None = None

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def system(self) -> str:
        return OPENAI_COMPATIBLE

    @property
    def base_url(self) -> str:
        return self._base_url

    def __repr__(self) -> str:
        return f"OpenAICompatibleModel({self._name!r}, base_url={self._base_url!r})"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """One attempt at one completion."""
        check_allow_model_requests()
        encoder = self._encoder(model_request_parameters)
        body = encoder.encode(self._name, wire_settings(model_settings or {}), messages)
        answer = await self._post(body)
        if answer.status != 200:
            raise self._failures.from_status(answer.status, answer.headers, _json_or_text(answer.body))
        try:
            return self._decoder.decode(answer.body, turn=len(messages), by_schema=encoder.by_schema)
        except NotACompletion as error:
            failure = self._not_a_completion(error, answer)
        raise failure

    async def aclose(self) -> None:
        """Close the connections. The model can be used again, and opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _post(self, body: bytes) -> _Answer:
        session = self._open_session()
        try:
            # A payload, since aiohttp would look for the kind of one that fits plain bytes. No redirects: one
            # would send the key to another host, and a POST on as a GET.
            payload = aiohttp.BytesPayload(body)
            async with session.post(self._url, data=payload, allow_redirects=False, proxy=self._proxy) as response:
                content = await _read(response)
                if content is not None:
                    return _Answer(status=response.status, headers=response.headers, body=content)
                failure = self._failures.from_nonsense(f"more than {MOST_BYTES >> 20} MiB", response.status)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            failure = self._failures.unreachable(_why(error))
        except aiohttp.ClientError as error:
            failure = self._failures.hung_up(_why(error))
        # Raised out here, so that it has no context: aiohttp's errors can carry the request's headers.
        raise failure

    def _open_session(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            self._proxy = _proxy_for(self._base_url)
            self._loop = loop
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS),
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            )
        return self._session

    def _encoder(self, parameters: ModelRequestParameters) -> Encoder:
        entry = self._encoders.get(id(parameters))
        if entry is None:
            if len(self._encoders) >= _ENCODERS_KEPT:
                self._encoders.clear()
            # The parameters are kept with their encoder, so that their id stays theirs.
            entry = parameters, Encoder(parameters.function_tools, self._tool_mode)
            self._encoders[id(parameters)] = entry
        return entry[1]

    def _not_a_completion(self, error: NotACompletion, answer: _Answer) -> ChaseError:
        reported = error.body.get("error") if isinstance(error.body, dict) else None
        if reported:
            # Gateways report what is behind them in a body with status 200.
            code = reported.get("code") if isinstance(reported, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 502
            return self._failures.from_status(status, answer.headers, error.body, answered=answer.status)
        kind = answer.headers.get("Content-Type", "none")
        return self._failures.from_nonsense(f"{error}, content type {kind}")


def wire_settings(settings: Mapping[str, Json]) -> dict[str, Json]:
    """What settings are in a request: known ones under their wire names, others as they are."""
    fields = {_RENAMED.get(key, key): value for key, value in settings.items() if key not in _NOT_SENT}
    effort = fields.get("thinking")
    if isinstance(effort, str):
        fields["reasoning_effort"] = fields.pop("thinking")
    fields.update(settings.get("extra_body") or {})
    return fields


def _headers(config: ModelConfig, key: str | None) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    headers.update(config.settings.get("extra_headers") or {})
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return headers


def _proxy_for(base_url: str) -> str | None:
    """The proxy that the environment names for an address. Asked once: it costs more than a request."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if host in _LOOPBACK or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


async def _read(response: aiohttp.ClientResponse) -> bytes | None:
    """The body, decompressed; None where it is longer than is read. What follows is left where it is."""
    pieces: list[bytes] = []
    left = MOST_BYTES
    async for piece in response.content.iter_any():
        left -= len(piece)
        if left < 0:
            response.close()
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _json_or_text(body: bytes) -> Json:
    try:
        return from_json(body)
    except ValueError:
        return body.decode("utf-8", "replace")


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__
