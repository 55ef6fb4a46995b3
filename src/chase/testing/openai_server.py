"""A loopback OpenAI-compatible server that answers by script: `async with OpenAIServer(script) as server`.

Run as a program it serves the counting script in its own process, for measurements:
`python -m chase.testing.openai_server --latency 0.2 --turns 4` prints its address and serves until stopped. With
`--watch` a GET of `/in-flight` at that address says how many requests were in flight at any moment since the last one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeAlias

from aiohttp import web

from chase.core.values import Json

Completion: TypeAlias = dict[str, Json]
Script: TypeAlias = Callable[[dict[str, Json], int], Completion | Awaitable[Completion]]
"""Called for each request that gets an answer, with its JSON and how often the very same body came before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """What goes wrong with one response. Without any field it is an HTTP 500."""

    status: int = 500
    """Sent with `body` in place of an answer, unless one of the following is set."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = '{"error":{"message":"injected fault"}}'
    content_type: str = "application/json"
    stall_seconds: float = 0.0
    """Nothing comes for so long, then whatever else is set."""
    reset: bool = False
    """The connection is cut before any answer."""
    cut: bool = False
    """The connection is cut in the middle of the answer."""
    truncate: bool = False
    """A complete response whose body is half of the answer's JSON."""
    drip_seconds: float | None = None
    """The answer comes in ten pieces, with this pause before each."""


FaultHook: TypeAlias = Callable[[dict[str, Json], int], Fault | None]
"""Called before the script, with the same arguments; None lets the request be answered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedRequest:
    """A request as it arrived."""

    path: str
    json: dict[str, Json]
    headers: Mapping[str, str]
    attempt: int
    """How often the very same body came before."""


class OpenAIServer:
    """Serves chat completions at `url` while its context is open, each after `latency` seconds."""

    def __init__(
        self,
        script: Script,
        *,
        latency: float = 0.0,
        fault: FaultHook | None = None,
        port: int = 0,
        keep_log: bool = True,
        watch: bool = False,
    ) -> None:
        self._script = script
        self._latency = latency
        self._fault = fault
        self._port = port
        self._keep_log = keep_log
        self._watch = watch
        self._moments: list[tuple[float, int]] = []
        self._seen: dict[bytes, int] = {}
        self._runner: web.ServerRunner | None = None
        self.requests: list[LoggedRequest] = []
        self.in_flight = 0
        self.most_in_flight = 0

    @property
    def url(self) -> str:
        """The base URL, to be used as `base_url`."""
        return f"http://127.0.0.1:{self._port}/v1"

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(web.Server(self._handle), access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port, backlog=1024).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def drop_idle_connections(self) -> None:
        """Close every open connection, as a server does that loses patience with idle ones."""
        server = self._runner.server if self._runner is not None else None
        if isinstance(server, web.Server):
            for handler in list(server.connections):
                handler.close()
                if handler.transport is not None:
                    handler.transport.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.content.read()  # of any length, which `request.read` is not
        if request.path == "/v1/in-flight" and self._watch:
            moments, self._moments = self._moments, []
            return _json_response(200, json.dumps(moments).encode())
        if request.path != "/v1/chat/completions" or request.method != "POST":
            return _json_response(404, b'{"error":{"message":"no such path"}}')
        attempt = self._count(body)
        sent: dict[str, Json] = json.loads(body)
        if self._keep_log:
            log = LoggedRequest(path=request.path, json=sent, headers=dict(request.headers), attempt=attempt)
            self.requests.append(log)
        self._count_in_flight(1)
        try:
            await asyncio.sleep(self._latency)
            fault = self._fault(sent, attempt) if self._fault is not None else None
            if fault is not None:
                return await self._fail(request, fault, sent, attempt)
            return _json_response(200, await self._answer(sent, attempt))
        finally:
            self._count_in_flight(-1)

    async def _answer(self, sent: dict[str, Json], attempt: int) -> bytes:
        answer = self._script(sent, attempt)
        return json.dumps(await answer if isinstance(answer, Awaitable) else answer).encode()

    def _count_in_flight(self, change: int) -> None:
        self.in_flight += change
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        if self._watch:
            self._moments.append((time.monotonic(), self.in_flight))

    def _count(self, body: bytes) -> int:
        if not self._keep_log:
            return 0
        attempt = self._seen.get(body, 0)
        self._seen[body] = attempt + 1
        return attempt

    async def _fail(
        self, request: web.BaseRequest, fault: Fault, sent: dict[str, Json], attempt: int
    ) -> web.StreamResponse:
        await asyncio.sleep(fault.stall_seconds)
        if fault.reset:
            return _hang_up(request)
        if not (fault.cut or fault.truncate or fault.drip_seconds is not None):
            return web.Response(
                status=fault.status, text=fault.body, headers=fault.headers, content_type=fault.content_type
            )
        answer = await self._answer(sent, attempt)
        if fault.truncate:
            return _json_response(200, answer[: len(answer) // 2])
        response = web.StreamResponse(headers={"Content-Length": str(len(answer)), **fault.headers})
        response.content_type = fault.content_type
        await response.prepare(request)
        if fault.cut:
            await response.write(answer[: len(answer) // 2])
            return _hang_up(request)
        step = max(1, -(-len(answer) // 10))
        for start in range(0, len(answer), step):
            await asyncio.sleep(fault.drip_seconds or 0.0)
            await response.write(answer[start : start + step])
        return response


def completion(
    message: Mapping[str, Json],
    *,
    usage: Mapping[str, Json] | None = None,
    finish_reason: str = "stop",
    model: str = "scripted",
) -> Completion:
    """A chat completion with one choice. Without `usage` it reports none."""
    answer: Completion = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}],
    }
    if usage is not None:
        answer["usage"] = dict(usage)
    return answer


def token_usage(prompt: int = 10, completion: int = 5, *, cached: int = 0) -> dict[str, Json]:
    """Usage as OpenAI reports it: `prompt` includes the cached tokens."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def text_reply(text: str, *, usage: Mapping[str, Json] | None = None, model: str = "scripted") -> Completion:
    """A completion that says something."""
    return completion({"content": text}, usage=token_usage() if usage is None else usage, model=model)


def tool_reply(
    *calls: tuple[str, Mapping[str, Json]], usage: Mapping[str, Json] | None = None, model: str = "scripted"
) -> Completion:
    """A completion that calls tools: pairs of a name and arguments."""
    items = [
        {
            "id": f"call_{i}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for i, (name, arguments) in enumerate(calls)
    ]
    return completion(
        {"content": None, "tool_calls": items},
        usage=token_usage() if usage is None else usage,
        finish_reason="tool_calls",
        model=model,
    )


def schema_reply(name: str, arguments: Mapping[str, Json], *, model: str = "scripted") -> Completion:
    """A completion whose text is a call in the form of tool_mode 'json-schema'."""
    return text_reply(json.dumps({"name": name, "arguments": arguments}), model=model)


def counting_script(turns: int, *, answer: str = "42") -> Script:
    """Calls the first tool that is offered, with arguments {}, until there are `turns` replies in all."""

    def script(request: dict[str, Json], attempt: int) -> Completion:
        replies = sum(message["role"] == "assistant" for message in request["messages"])
        tools: Sequence[Json] = request.get("tools") or ()
        if tools and replies < turns - 1:
            return tool_reply((tools[0]["function"]["name"], {}))
        return text_reply(answer)

    return script


def _json_response(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json")


def _hang_up(request: web.BaseRequest) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


async def _serve(*, port: int, latency: float, turns: int, watch: bool) -> None:
    script = counting_script(turns)
    async with OpenAIServer(script, latency=latency, port=port, keep_log=False, watch=watch) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """Serve the counting script until stopped."""
    parser = argparse.ArgumentParser(description="A loopback OpenAI-compatible server for measurements.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.2, help="seconds before each answer")
    parser.add_argument("--turns", type=int, default=4, help="replies until the final answer")
    parser.add_argument("--watch", action="store_true", help="serve /in-flight")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(port=options.port, latency=options.latency, turns=options.turns, watch=options.watch))


if __name__ == "__main__":
    main()
