"""Sessions of the sandbox: honest hooks work, rollouts are apart, and processes come and go cleanly."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from chase.core.errors import RolloutError
from chase.engine.sandbox import HookFailure, HookResult, HookSession, Sandbox, SandboxLimits

STATE = {
    "question": "What was the total of Alder in May?",
    "slots": {"entity": ["Alder"]},
    "calls_left": {"search": 2, "open": 5},
    "step": 1,
    "opened": {},
}
HITS = [
    {"id": f"d{n}", "path": f"a/{n}.md", "observables": {"depth": float(n % 3), "digits": None}, "text": "x"}
    for n in range(5)
]
COUNTER = """
CALLS = []
def after_tool(tool, result, state):
    CALLS.append(tool)
    return " ".join(CALLS)
"""
LOOP = "def should_stop(state):\n    while True:\n        pass\n"


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox() as opened:
        yield opened


def children() -> set[int]:
    """Process ids of the children of this process, read from /proc."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and fields[0] != "Z":
            found.add(int(stat.parent.name))
    return found


async def ended(pid: int) -> bool:
    for _ in range(200):
        if pid not in children():
            return True
        await asyncio.sleep(0.02)
    return False


async def one(sandbox: Sandbox, source: str, hook: str, *arguments: Any, seed: int = 0) -> HookResult:
    async with sandbox.session(source, seed=seed) as hooks:
        return await hooks.call(hook, *arguments)


# Honest hooks


async def test_rerank_by_observables(sandbox: Sandbox) -> None:
    source = """
def rerank(hits: list[Hit], state: State) -> list[int]:
    return sorted(range(len(hits)), key=lambda i: -(hits[i]["observables"]["depth"] or 0.0))
"""
    result = await one(sandbox, source, "rerank", HITS, STATE)
    assert result.value == [2, 1, 4, 0, 3]
    assert result.failure is None
    assert result.seconds > 0


async def test_rewrite_query_with_re(sandbox: Sandbox) -> None:
    source = """
import re
STOP = {"what", "was", "the", "of", "in"}
def rewrite_query(query: str, state: State) -> str:
    words = [w for w in re.findall(r"[a-z]+", query.lower()) if w not in STOP]
    return " ".join(words[: 2 if state["calls_left"]["search"] < 2 else 9])
"""
    async with sandbox.session(source, seed=0) as hooks:
        assert (await hooks.call("rewrite_query", STATE["question"], STATE)).value == "total alder may"
        last = {**STATE, "calls_left": {"search": 1}}
        assert (await hooks.call("rewrite_query", STATE["question"], last)).value == "total alder"


async def test_every_hook_is_called_with_its_arguments(sandbox: Sandbox) -> None:
    source = """
def plan(task):
    return {"queries": task["slots"]["entity"] + task["tools"], "note": "é ☃"}
def rewrite_query(query, state):
    return query + "!"
def rerank(hits, state):
    return list(reversed(range(len(hits))))
def after_tool(tool, result, state):
    return f"{tool}:{result}"
def should_stop(state):
    return state["step"] > 0
def check_answer(answer, state):
    return None if answer.isdigit() else "digits only"
"""
    async with sandbox.session(source, seed=0) as hooks:
        plan = await hooks.call("plan", {**STATE, "tools": ["search"]})
        assert plan.value == {"queries": ["Alder", "search"], "note": "é ☃"}
        assert (await hooks.call("rewrite_query", "a", STATE)).value == "a!"
        assert (await hooks.call("rerank", HITS, STATE)).value == [4, 3, 2, 1, 0]
        assert (await hooks.call("rerank", [], STATE)).value == []
        assert (await hooks.call("after_tool", "open", "text", STATE)).value == "open:text"
        assert (await hooks.call("should_stop", STATE)).value is True
        assert (await hooks.call("check_answer", "12", STATE)).value is None
        assert (await hooks.call("check_answer", "x", STATE)).value == "digits only"
        assert hooks.failures == []


async def test_a_missing_hook_does_nothing_and_asks_no_worker(sandbox: Sandbox) -> None:
    async with sandbox.session(COUNTER, seed=0) as hooks:
        assert not hooks.defines("rerank")
        assert await hooks.call("rerank", HITS, STATE) == HookResult()
        assert hooks.seconds == 0.0
        assert hooks.failures == []


async def test_a_call_that_the_engine_gets_wrong_is_an_error_of_the_engine(sandbox: Sandbox) -> None:
    async with sandbox.session(COUNTER, seed=0) as hooks:
        with pytest.raises(KeyError):
            await hooks.call("nonsense")
        with pytest.raises(TypeError, match="takes 3 arguments, got 1"):
            await hooks.call("after_tool", STATE)
        with pytest.raises(TypeError, match="not JSON serializable"):
            await hooks.call("after_tool", "open", len, STATE)
        assert hooks.failures == []


async def test_prints_do_not_reach_the_host(sandbox: Sandbox, capfd: pytest.CaptureFixture[str]) -> None:
    source = "print('at load')\ndef should_stop(state):\n    print('in a call')\n    return False\n"
    assert (await one(sandbox, source, "should_stop", STATE)).value is False
    assert "".join(capfd.readouterr()) == ""


# Rollouts are apart


async def test_globals_last_for_one_rollout_only(sandbox: Sandbox) -> None:
    for _ in range(3):
        async with sandbox.session(COUNTER, seed=0) as hooks:
            assert (await hooks.call("after_tool", "a", "", STATE)).value == "a"
            assert (await hooks.call("after_tool", "b", "", STATE)).value == "a b"


async def test_a_hook_cannot_change_what_it_is_given(sandbox: Sandbox) -> None:
    source = """
def rerank(hits, state):
    n = len(hits)
    state["question"] = "changed"
    state["calls_left"].clear()
    hits[0]["observables"]["depth"] = 99.0
    hits.clear()
    return list(range(n))
"""
    state, hits = {**STATE, "calls_left": {"search": 2}}, [dict(hit) for hit in HITS]
    for _ in range(2):
        assert (await one(sandbox, source, "rerank", hits, state)).value == [0, 1, 2, 3, 4]
    assert state == {**STATE, "calls_left": {"search": 2}}
    assert hits == HITS


async def test_one_harness_sees_nothing_of_another() -> None:
    thief = """
def check_answer(answer, state):
    try:
        return SECRET
    except NameError:
        return "nothing"
"""
    owner = "SECRET = 'mine'\ndef should_stop(state):\n    return True\n"
    async with Sandbox(max_sessions=2) as sandbox:
        for _ in range(3):
            async with sandbox.session(owner, seed=0) as first, sandbox.session(thief, seed=0) as second:
                assert (await first.call("should_stop", STATE)).value is True
                assert (await second.call("check_answer", "", STATE)).value == "nothing"
                assert first.worker_pid != second.worker_pid
            assert (await one(sandbox, thief, "check_answer", "", STATE)).value == "nothing"


async def test_the_seed_decides_every_random_draw(sandbox: Sandbox) -> None:
    source = """
import random, time
from datetime import datetime
AT_LOAD = random.random()
OWN = random.Random()
def check_answer(answer, state):
    draws = [AT_LOAD, random.random(), OWN.random(), time.time(), time.monotonic(), hash("x")]
    return f"{draws} {datetime.now()} {[w for w in {'a', 'b', 'c', 'd'}]}"
"""
    texts = [(await one(sandbox, source, "check_answer", "", STATE, seed=seed)).value for seed in (1, 2, 1)]
    async with Sandbox() as other:
        texts.append((await one(other, source, "check_answer", "", STATE, seed=1)).value)
    assert texts[0] == texts[2] == texts[3]
    assert texts[0] != texts[1]


async def test_thirty_two_rollouts_at_once_each_have_their_own_worker() -> None:
    async def rollout(sandbox: Sandbox, name: str, ready: asyncio.Barrier) -> int | None:
        async with sandbox.session(COUNTER, seed=0) as hooks:
            await hooks.call("after_tool", name, "", STATE)
            await ready.wait()
            assert (await hooks.call("after_tool", "again", "", STATE)).value == f"{name} again"
            return hooks.worker_pid

    ready = asyncio.Barrier(32)
    async with asyncio.timeout(30), Sandbox(max_sessions=32) as sandbox:
        pids = await asyncio.gather(*(rollout(sandbox, f"r{n}", ready) for n in range(32)))
    assert len(set(pids)) == 32


async def test_no_more_sessions_than_allowed_run_at_once() -> None:
    running: list[int] = []
    most = 0

    async def rollout(sandbox: Sandbox) -> None:
        nonlocal most
        async with sandbox.session(COUNTER, seed=0) as hooks:
            running.append(1)
            most = max(most, len(running))
            await hooks.call("after_tool", "a", "", STATE)
            await asyncio.sleep(0.01)
            running.pop()

    async with asyncio.timeout(30), Sandbox(max_sessions=3) as sandbox:
        await asyncio.gather(*(rollout(sandbox) for _ in range(20)))
    assert most == 3


async def test_concurrent_calls_of_one_session_take_turns(sandbox: Sandbox) -> None:
    async with sandbox.session(COUNTER, seed=0) as hooks:
        results = await asyncio.gather(*(hooks.call("after_tool", "a", "", STATE) for _ in range(5)))
    assert [len(result.value) for result in results] == [1, 3, 5, 7, 9]


# Failures


async def test_an_error_fails_one_call_and_keeps_the_hooks(sandbox: Sandbox) -> None:
    source = """
N = []
def check_answer(answer, state):
    N.append(1)
    if len(N) == 1:
        return {}["missing"]
    return str(len(N))
"""
    async with sandbox.session(source, seed=0) as hooks:
        first = await hooks.call("check_answer", "", STATE)
        assert (first.value, first.failure) == (None, "error: KeyError")
        assert hooks.failures == [HookFailure(hook="check_answer", reason="error: KeyError", detail="line 6: missing")]
        assert (await hooks.call("check_answer", "", STATE)).value == "2"


async def test_a_failures_line_is_that_of_the_file_though_steps_are_counted(sandbox: Sandbox) -> None:
    source = """def should_stop(state):
    for x in [1]:
        for y in [z for z in [2]]:
            state = {}
    return state["missing"]
"""
    async with sandbox.session(source, seed=0) as hooks:
        await hooks.call("should_stop", STATE)
        assert [failure.detail for failure in hooks.failures] == ["line 5: missing"]


async def test_a_work_limit_switches_the_hooks_of_this_rollout_off() -> None:
    async with Sandbox(limits=SandboxLimits(call_steps=1000)) as sandbox:
        async with sandbox.session(LOOP + COUNTER, seed=0) as hooks:
            assert (await hooks.call("should_stop", STATE)).failure == "work-limit"
            assert await hooks.call("should_stop", STATE) == HookResult()
            assert not hooks.defines("after_tool")
            assert [failure.reason for failure in hooks.failures] == ["work-limit"]
        assert (await one(sandbox, COUNTER, "after_tool", "a", "", STATE)).value == "a"


async def test_all_calls_of_a_rollout_share_their_steps() -> None:
    source = "def should_stop(state):\n    for _ in range(30):\n        pass\n    return False\n"
    limits = SandboxLimits(call_steps=50, session_steps=110)
    async with Sandbox(limits=limits) as sandbox, sandbox.session(source, seed=0) as hooks:
        failures = [(await hooks.call("should_stop", STATE)).failure for _ in range(4)]
    assert failures == [None, None, None, "work-limit"]


async def test_what_is_not_counted_in_steps_is_ended_by_its_computing_time() -> None:
    source = "def should_stop(state):\n    return sum(range(10 ** 12)) < 0\n"
    limits = SandboxLimits(cpu_seconds=0.1)
    async with asyncio.timeout(60), Sandbox(limits=limits) as sandbox, sandbox.session(source, seed=0) as hooks:
        assert (await hooks.call("should_stop", STATE)).failure == "work-limit"
        assert not hooks.hooks


def strike(pid: int, number: signal.Signals) -> None:
    """Send a signal and wait until all threads of the worker have it: one that does not may answer."""
    os.kill(pid, number)
    while (state := state_of(pid)) not in ("T", "Z", ""):
        time.sleep(0.001)
    assert (state == "T") == (number == signal.SIGSTOP)


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""


async def test_time_in_which_a_worker_does_not_compute_is_not_the_hooks() -> None:
    source = "def should_stop(state):\n    return sum(range(10 ** 6)) < 0\n"
    async with Sandbox(limits=SandboxLimits(cpu_seconds=0.5)) as sandbox, sandbox.session(source, seed=0) as hooks:
        assert hooks.worker_pid is not None
        strike(hooks.worker_pid, signal.SIGSTOP)
        asyncio.get_running_loop().call_later(1.0, os.kill, hooks.worker_pid, signal.SIGCONT)
        result = await hooks.call("should_stop", STATE)
        assert (result.value, result.failure) == (False, None)
        assert result.seconds >= 1.0


async def test_a_worker_that_does_not_get_to_compute_is_infrastructure() -> None:
    async with Sandbox(limits=SandboxLimits(wall_seconds=2.0)) as sandbox, sandbox.session(COUNTER, seed=0) as hooks:
        assert hooks.worker_pid is not None
        strike(hooks.worker_pid, signal.SIGSTOP)
        with pytest.raises(RolloutError, match="is the machine overloaded"):
            await hooks.call("after_tool", "a", "", STATE)
        assert hooks.failures == []


async def test_a_worker_that_is_killed_from_outside_is_infrastructure(sandbox: Sandbox) -> None:
    async with sandbox.session(COUNTER, seed=0) as hooks:
        assert hooks.worker_pid is not None
        strike(hooks.worker_pid, signal.SIGKILL)
        with pytest.raises(RolloutError, match="killed from outside"):
            await hooks.call("after_tool", "a", "", STATE)
        assert hooks.failures == []
    assert (await one(sandbox, COUNTER, "after_tool", "a", "", STATE)).value == "a"


async def test_a_worker_that_dies_of_itself_is_the_hooks_failure(sandbox: Sandbox) -> None:
    async with sandbox.session(COUNTER, seed=0) as hooks:
        assert hooks.worker_pid is not None
        strike(hooks.worker_pid, signal.SIGABRT)
        assert (await hooks.call("after_tool", "a", "", STATE)).failure == "crashed"
        assert hooks.failures == [HookFailure(hook="after_tool", reason="crashed", detail="SIGABRT")]
        assert await hooks.call("after_tool", "a", "", STATE) == HookResult()


async def test_a_worker_writes_nothing_to_the_users_stderr(sandbox: Sandbox, capfd: pytest.CaptureFixture[str]) -> None:
    source = "def should_stop(state):\n    return len(('a' * (40 << 20)).encode('utf-32')) < 0\n"
    assert (await one(sandbox, source, "should_stop", STATE)).failure == "memory-limit"
    assert "".join(capfd.readouterr()) == ""


async def test_a_file_that_fails_leaves_the_rollout_without_hooks(sandbox: Sandbox) -> None:
    async with sandbox.session("def should_stop(state):\n    return True\nX = 1 / 0\n", seed=0) as hooks:
        assert await hooks.call("should_stop", STATE) == HookResult()
        assert hooks.failures == [
            HookFailure(hook="control.py", reason="error: ZeroDivisionError", detail="line 3: division by zero")
        ]


# Processes


async def test_without_control_code_no_worker_is_started() -> None:
    before = children()
    async with (
        Sandbox(max_sessions=1) as sandbox,
        sandbox.session(None, seed=0) as hooks,
        sandbox.session(None, seed=1),
    ):
        assert await hooks.call("plan", {**STATE, "tools": []}) == HookResult()
        assert hooks.worker_pid is None
        assert children() <= before


async def test_cancelling_a_rollout_inside_a_hook_leaves_the_sandbox_usable() -> None:
    opened: list[HookSession] = []

    async def rollout(sandbox: Sandbox) -> None:
        async with sandbox.session(LOOP, seed=0) as hooks:
            opened.append(hooks)
            await hooks.call("should_stop", STATE)

    async with Sandbox(limits=SandboxLimits(call_steps=10**9, session_steps=10**9), max_sessions=1) as sandbox:
        for _ in range(3):
            before = children()
            task = asyncio.create_task(rollout(sandbox))
            while not opened:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            started = time.perf_counter()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert time.perf_counter() - started < 2
            assert not opened.pop().defines("should_stop")
            for pid in children() - before:
                assert await ended(pid)
            assert (await one(sandbox, COUNTER, "after_tool", "a", "", STATE)).value == "a"


async def test_no_worker_outlives_the_sandbox() -> None:
    before = children()
    async with Sandbox() as sandbox, sandbox.session(COUNTER, seed=0), sandbox.session(COUNTER, seed=0):
        started = children() - before
        assert len(started) == 2
    for pid in started:
        assert await ended(pid)


async def test_no_worker_outlives_a_rollout_that_raises() -> None:
    before, started = children(), set()

    async def rollout() -> None:
        async with Sandbox() as sandbox, sandbox.session(COUNTER, seed=0):
            started.update(children() - before)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await rollout()
    assert started
    for pid in started:
        assert await ended(pid)


async def test_a_sandbox_that_is_not_open_says_so() -> None:
    with pytest.raises(RuntimeError, match="async with Sandbox"):
        async with Sandbox().session(COUNTER, seed=0):
            pass


def test_a_process_that_used_the_sandbox_exits_cleanly() -> None:
    script = f"""
import asyncio
from chase.engine.sandbox import Sandbox, SandboxLimits
async def main():
    async with Sandbox(limits=SandboxLimits(call_steps=100)) as sandbox:
        async with sandbox.session({LOOP!r}, seed=0) as hooks:
            print((await hooks.call("should_stop", {{}})).failure)
asyncio.run(main())
"""
    command = [sys.executable, "-c", script]
    runs = [subprocess.Popen(command, stdout=-1, stderr=-1, text=True) for _ in range(8)]
    for run in runs:
        out, errors = run.communicate(timeout=60)
        assert (run.returncode, out.strip()) == (0, "work-limit"), errors
