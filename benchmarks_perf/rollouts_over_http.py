"""Four-turn rollouts against a loopback OpenAI-compatible server with a fixed latency, against the ideal.

512 rollouts at concurrency 256 and 200 ms an answer take 512 / 256 x 4 x 0.2 = 1.6 s if nothing but waiting costs
time. Beside ours: Inspect AI's `eval()` with its `openai-api` provider, a minimal loop over pydantic-ai's
`model_request`, which stores nothing, and aiohttp alone, which is what this machine allows.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_core import from_json

from benchmarks_perf import Measurement, Row, loopback_server
from benchmarks_perf.peers import INSPECT, Unavailable, run_inspect
from benchmarks_perf.rollouts_in_process import NAME, TURNS, WARM_UP, evaluate, jobs_of
from chase.benchmarks.syn_ledger.benchmark import open_syn_ledger
from chase.benchmarks.syn_ledger.tools import TOOLS
from chase.models.chat import ChatModel, request_parameters
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.store.store import Store
from chase.store.workspace import Workspace

ROLLOUTS = 512
CONCURRENCY = 256
LATENCY = 0.2
IDEAL = ROLLOUTS / CONCURRENCY * TURNS * LATENCY
HISTORY = 40
REPETITIONS = 3

OURS, PYDANTIC_AI, AIOHTTP = "ours", "pydantic-ai", "aiohttp alone"
RawSettings = dict[str, Any]
Client = Callable[[str, RawSettings], dict[str, float]]
"""Does its work at an address with the texts of `texts`; its figures."""


def texts() -> RawSettings:
    """A question, the system prompt and a tool's answer, as every client sends them."""
    benchmark = open_syn_ledger(NAME, cache=None)
    environment = benchmark.environment(benchmark.tasks()[0], benchmark.variant("released"))
    system = "Use the available tools to answer the question and return the answer in the required format."
    listing = environment.call("list_files", {}).text
    return {"system": system, "questions": [environment.question], "answers": {"listing": listing}}


# Rollouts


def our_rollouts(url: str, said: RawSettings) -> dict[str, float]:
    benchmark = open_syn_ledger(NAME, cache=None)
    for count in (WARM_UP, ROLLOUTS):
        jobs = jobs_of(benchmark, count)
        with tempfile.TemporaryDirectory() as folder:
            wall, cpu = time.perf_counter(), time.process_time()
            with Store.open(Workspace(Path(folder)), write=True) as store:
                asyncio.run(evaluate(_our_model(url), store, jobs, CONCURRENCY))
            figures = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return figures


def pydantic_ai_rollouts(url: str, said: RawSettings) -> dict[str, float]:
    parameters = request_parameters(TOOLS)

    async def rollout(model: OpenAIChatModel) -> None:
        messages: list[ModelMessage] = _first_messages(said)
        while True:
            response = await model_request(model, messages, model_request_parameters=parameters, instrument=False)
            messages.append(response)
            if not response.tool_calls:
                return
            results = [
                ToolReturnPart(call.tool_name, said["answers"]["listing"], call.tool_call_id)
                for call in response.tool_calls
            ]
            messages.append(ModelRequest(parts=results))

    async def work(count: int) -> None:
        async with _pydantic_ai_model(url) as model:
            await _many(lambda: rollout(model), count)

    return _timed_twice(work)


def aiohttp_rollouts(url: str, said: RawSettings) -> dict[str, float]:
    body = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": said["questions"][0]}]}).encode()

    async def work(count: int) -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def rollout() -> None:
                for _ in range(TURNS):
                    async with session.post(f"{url}/chat/completions", data=body) as response:
                        from_json(await response.read())

            await _many(rollout, count)

    return _timed_twice(work)


async def _many(rollout: Callable[[], Any], count: int) -> None:
    """So many rollouts, at most `CONCURRENCY` at a time."""
    left = iter(range(count))

    async def worker() -> None:
        for _ in left:
            await rollout()

    await asyncio.gather(*(worker() for _ in range(min(CONCURRENCY, count))))


def _timed_twice(work: Callable[[int], Any]) -> dict[str, float]:
    """Seconds of all rollouts, after a few that load what is loaded late."""
    asyncio.run(work(WARM_UP))
    wall, cpu = time.perf_counter(), time.process_time()
    asyncio.run(work(ROLLOUTS))
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


# Requests with a long history


def our_requests(url: str, said: RawSettings) -> dict[str, float]:
    async def work() -> float:
        async with _our_model(url) as model:
            return await _cpu_of_last_turn(said, lambda messages: model.request(messages, TOOLS))

    return {"cpu": asyncio.run(work())}


def pydantic_ai_requests(url: str, said: RawSettings) -> dict[str, float]:
    parameters = request_parameters(TOOLS)

    async def work() -> float:
        async with _pydantic_ai_model(url) as model:
            return await _cpu_of_last_turn(
                said,
                lambda messages: model_request(model, messages, model_request_parameters=parameters, instrument=False),
            )

    return {"cpu": asyncio.run(work())}


async def _cpu_of_last_turn(said: RawSettings, request: Callable[[list[ModelMessage]], Any]) -> float:
    """CPU seconds of requests with a long history, all of which but the last two messages was sent before."""
    histories = [_history(said) for _ in range(CONCURRENCY)]
    await asyncio.gather(*(request(messages[:-2]) for messages in histories))
    cpu = time.process_time()
    await asyncio.gather(*(request(messages) for messages in histories))
    return time.process_time() - cpu


def _history(said: RawSettings) -> list[ModelMessage]:
    messages = _first_messages(said)
    for number in range((HISTORY - 2) // 2):
        messages.append(ModelResponse(parts=[ToolCallPart("list_files", {}, f"call-{number}")]))
        result = ToolReturnPart("list_files", said["answers"]["listing"], f"call-{number}")
        messages.append(ModelRequest(parts=[result]))
    return messages


def _first_messages(said: RawSettings) -> list[ModelMessage]:
    return [ModelRequest(parts=[SystemPromptPart(said["system"]), UserPromptPart(said["questions"][0])])]


def _our_model(url: str) -> ChatModel:
    return connect(ModelConfig(name="openai-compatible:scripted", base_url=url, max_concurrency=CONCURRENCY))


def _pydantic_ai_model(url: str) -> OpenAIChatModel:
    return OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=url, api_key="none"))


# Rows


def over_http() -> Sequence[Row]:
    """The clients in turn, each repetition in a fresh process, at one server."""
    work = {"count": ROLLOUTS, "concurrency": CONCURRENCY}
    clients = {OURS: our_rollouts, PYDANTIC_AI: pydantic_ai_rollouts, AIOHTTP: aiohttp_rollouts}
    runs, missing = _in_turn(clients, work)
    aims = {OURS: "aim: 1.4; traces stored", PYDANTIC_AI: "minimal loop, nothing stored"}
    return [
        Row(
            name=f"{ROLLOUTS} four-turn rollouts over HTTP, {client}",
            value=_median(runs[client], "wall"),
            unit="s",
            repetitions=REPETITIONS,
            peer="waiting alone",
            peer_value=IDEAL,
            note=_note(aims.get(client, ""), runs[client], missing.get(client, "")),
        )
        for client in runs
    ]


def long_history() -> Sequence[Row]:
    """CPU time a request with a history of 40 messages."""
    work = {"count": CONCURRENCY, "concurrency": CONCURRENCY, "history": HISTORY}
    runs, missing = _in_turn({OURS: our_requests, PYDANTIC_AI: pydantic_ai_requests}, work)
    ours = _median(runs.pop(OURS), "cpu")
    return [
        Row(
            name=f"CPU time a request with {HISTORY} messages",
            value=None if ours is None else 1e3 * ours / CONCURRENCY,
            unit="ms",
            repetitions=REPETITIONS,
            peer=client,
            peer_value=None if (theirs := _median(runs[client], "cpu")) is None else 1e3 * theirs / CONCURRENCY,
            note=missing.get(client, ""),
        )
        for client in runs
    ]


def _in_turn(
    clients: Mapping[str, Client], work: dict[str, Any]
) -> tuple[dict[str, list[dict[str, float]]], dict[str, str]]:
    """Each client's figures by repetition, Inspect's included, and why a client has none."""
    runs: dict[str, list[dict[str, float]]] = {**{client: [] for client in clients}, INSPECT: []}
    missing: dict[str, str] = {}
    said = texts()
    with (
        multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool,
        loopback_server(LATENCY, TURNS) as url,
    ):
        for _ in range(REPETITIONS):
            for client, run in clients.items():
                runs[client].append(pool.apply(run, (url, said)))
            try:
                runs[INSPECT].append(run_inspect({**said, **work, "base_url": url}))
            except Unavailable as error:
                missing[INSPECT] = str(error)
    return runs, missing


def _median(runs: Sequence[dict[str, float]], what: str) -> float | None:
    return statistics.median(run[what] for run in runs) if runs else None


def _note(aim: str, runs: Sequence[dict[str, float]], missing: str) -> str:
    cpu = _median(runs, "cpu")
    spent = [] if cpu is None else [f"{1e3 * cpu / (ROLLOUTS * TURNS):.2f} ms CPU a request"]
    return "; ".join(filter(None, [missing, aim, *spent]))


MEASUREMENTS: list[Measurement] = [over_http, long_history]
