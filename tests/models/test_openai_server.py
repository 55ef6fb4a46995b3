"""The scripted server itself: what later tests rely on."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import Any
from urllib.request import Request, urlopen

import aiohttp
import pytest

from chase.testing.openai_server import Fault, OpenAIServer, counting_script, text_reply

BODY = {"messages": [{"role": "user", "content": "x"}]}


async def post(url: str, body: Any = BODY) -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as session, session.post(f"{url}/chat/completions", json=body) as response:
        return response.status, await response.read()


async def test_it_counts_how_often_the_same_body_came() -> None:
    async with OpenAIServer(lambda request, attempt: text_reply(str(attempt))) as server:
        said = [json.loads((await post(server.url))[1])["choices"][0]["message"]["content"] for _ in range(3)]
        await post(server.url, {**BODY, "seed": 1})
    assert said == ["0", "1", "2"]
    assert [logged.attempt for logged in server.requests] == [0, 1, 2, 0]
    assert server.most_in_flight == 1


async def test_faults_are_what_they_say() -> None:
    faults: dict[int, Fault | None] = {
        0: Fault(status=429, headers={"Retry-After": "3"}),
        1: Fault(truncate=True),
        2: Fault(drip_seconds=0.0),
        3: None,
    }
    async with OpenAIServer(
        lambda request, attempt: text_reply("x"), fault=lambda request, attempt: faults[attempt]
    ) as server:
        answers = [await post(server.url) for _ in faults]
    whole = json.dumps(text_reply("x")).encode()
    assert answers[0][0] == 429
    assert answers[1:] == [(200, whole[: len(whole) // 2]), (200, whole), (200, whole)]


@pytest.mark.parametrize("fault", [Fault(reset=True), Fault(cut=True)])
async def test_a_cut_connection_is_an_error_to_the_client(fault: Fault) -> None:
    async with OpenAIServer(lambda request, attempt: text_reply("x"), fault=lambda request, attempt: fault) as server:
        with pytest.raises(aiohttp.ClientError):
            await post(server.url)


async def test_another_path_is_not_found() -> None:
    async with OpenAIServer(lambda request, attempt: text_reply("x")) as server:
        assert (await post(f"{server.url}/other"))[0] == 404
    assert not server.requests


def test_the_counting_script_calls_a_tool_until_the_last_turn() -> None:
    script = counting_script(3)
    tools = [{"function": {"name": "search"}}]
    turns = [
        script({"messages": [{"role": "assistant"}] * turn, "tools": tools}, 0)["choices"][0]["finish_reason"]
        for turn in range(4)
    ]
    assert turns == ["tool_calls", "tool_calls", "stop", "stop"]


def test_it_runs_as_a_program() -> None:
    command = [sys.executable, "-m", "chase.testing.openai_server", "--latency", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            url = program.stdout.readline().strip()
            request = Request(
                f"{url}/chat/completions",
                data=json.dumps(BODY).encode(),
                headers={"Content-Type": "application/json"},
            )
            with urlopen(request) as response:
                assert json.loads(response.read())["choices"][0]["message"]["content"] == "42"
        finally:
            program.terminate()


async def test_a_script_may_wait_and_a_body_may_be_long() -> None:
    async def script(request: dict[str, Any], attempt: int) -> dict[str, Any]:
        await asyncio.sleep(0)
        return text_reply(str(len(request["messages"][0]["content"])))

    long = {"messages": [{"role": "user", "content": "x" * (1 << 21)}]}
    async with OpenAIServer(script) as server:
        status, body = await post(server.url, long)
    assert (status, json.loads(body)["choices"][0]["message"]["content"]) == (200, str(1 << 21))


async def test_it_says_what_was_in_flight_since_it_was_last_asked() -> None:
    async with (
        OpenAIServer(lambda request, attempt: text_reply("x"), latency=0.05, watch=True) as server,
        aiohttp.ClientSession() as session,
    ):
        await asyncio.gather(*(post(server.url) for _ in range(3)))
        async with session.get(f"{server.url}/in-flight") as response:
            moments = await response.json()
        async with session.get(f"{server.url}/in-flight") as response:
            assert await response.json() == []
    assert [count for _, count in moments] == [1, 2, 3, 2, 1, 0]
    assert moments == sorted(moments, key=lambda moment: moment[0])


async def test_a_fault_can_keep_silent_for_a_while() -> None:
    fault = Fault(stall_seconds=0.1, status=503)
    async with OpenAIServer(lambda request, attempt: text_reply("x"), fault=lambda request, attempt: fault) as server:
        started = time.monotonic()
        status, _ = await post(server.url)
    assert status == 503
    assert time.monotonic() - started >= 0.1
