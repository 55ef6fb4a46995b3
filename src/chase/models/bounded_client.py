"""An HTTP client for the providers' own SDKs that reads a reply up to a bound, whatever it was compressed from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

import httpx2
from pydantic_ai.models import Model, create_async_httpx2_client
from pydantic_ai.models.wrapper import WrapperModel

from chase.models.wire_responses import MOST_BYTES

PIECE_BYTES = 4 << 10
"""Decompressed at once: a few MiB at most."""
_OTHER_CLIENTS = ("httpx.AsyncClient", "AsyncClient")
"""What a provider's SDK asks for if it cannot take this one."""


def bounded_client(timeout_seconds: float) -> httpx2.AsyncClient:
    """A client with pydantic-ai's settings. A longer reply ends as a failure of the connection."""
    client = create_async_httpx2_client(timeout=httpx2.Timeout(timeout_seconds, connect=5))
    client.event_hooks = {**client.event_hooks, "response": [_bound]}
    return client


def takes_client(annotation: Any) -> bool:
    """Whether a provider's parameter `http_client` takes such a client."""
    return str(annotation).split("|")[0].strip() not in _OTHER_CLIENTS


class ClosingModel(WrapperModel):
    """A provider's model that closes the client it was given."""

    def __init__(self, wrapped: Model, client: httpx2.AsyncClient) -> None:
        super().__init__(wrapped)
        self._client = client

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        await self._client.aclose()
        return await super().__aexit__(exc_type, exc_val, exc_tb)


async def _bound(response: httpx2.Response) -> None:
    """Decompress the reply here, piece by piece, and count: whoever reads it gets plain bytes."""
    if not isinstance(response.stream, httpx2.AsyncByteStream):
        return
    compressed = httpx2.Response(response.status_code, headers=response.headers, stream=_Pieces(response.stream))
    response.stream = _Bounded(compressed)
    for name in ("content-encoding", "content-length"):
        response.headers.pop(name, None)


class _Pieces(httpx2.AsyncByteStream):
    """A stream in small pieces."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            for start in range(0, len(chunk), PIECE_BYTES):
                yield chunk[start : start + PIECE_BYTES]

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """What a reply holds, decompressed, up to the bound."""

    def __init__(self, reply: httpx2.Response) -> None:
        self._reply = reply

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        async for piece in self._reply.aiter_bytes():
            left -= len(piece)
            if left < 0:
                raise httpx2.ReadError(f"more than {MOST_BYTES >> 20} MiB")
            yield piece

    async def aclose(self) -> None:
        await self._reply.aclose()
