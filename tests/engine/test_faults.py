"""Rollouts over HTTP with faults on the way, outages, and a model that misbehaves: the same result as without."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.engine.rollout import Job
from chase.engine.runner import Pace, Runner, RunPaused, ScoredRollout
from chase.engine.sandbox import Sandbox
from chase.models.chat import ChatModel
from chase.models.config import ModelConfig
from chase.models.connect import connect
from chase.models.local import make_local
from chase.models.pacing import Pacer
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.comparing import Account, accounts, lost_and_doubled
from chase.testing.faults import KINDS, FaultSchedule
from chase.testing.misbehaviour import MISTAKES, misbehaving
from chase.testing.openai_server import Completion, OpenAIServer
from chase.testing.scripted import scripted
from chase.testing.served import served
from tests.engine.rollouts import make_harness, make_job

Opened = Callable[[], Store]
FEW = Pace(concurrency=4)
"""So that some rollouts are finished before others begin."""


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens new stores, each with a run."""
    with ExitStack() as stack:
        folders = iter(range(100))

        def open_one() -> Store:
            workspace = Workspace(tmp_path / str(next(folders)))
            store = stack.enter_context(Store.open(workspace, write=True))
            store.create_run("run", {})
            return store

        yield open_one


def jobs(ledger: SynLedger, count: int = 16) -> list[Job]:
    """Rollouts of a harness that searches and opens before the model does, so that its calls are on the wire too."""
    harness = make_harness(retrieval={"templates": ["{period}"]}, tools={"open_first": 1})
    return [make_job(ledger, harness, task=task) for task in ledger.tasks("evo")[:count]]


def reader() -> Callable[[dict[str, object], int], Awaitable[Completion]]:
    return served(make_local(ModelConfig(name="sim:reader")))


def remote(url: str, pacer: Pacer | None = None, *, timeout: float = 30.0) -> ChatModel:
    config = ModelConfig(name="openai-compatible:reader", base_url=url, timeout_seconds=timeout)
    return connect(config, pacer=pacer or Pacer(jitter=lambda: 0.0))


async def evaluate(store: Store, model: ChatModel, todo: list[Job], pace: Pace | None = None) -> list[ScoredRollout]:
    use = Use(run="run", method="rollout")
    async with model:
        runner = Runner(model=model, store=store, sandbox=Sandbox(), use=use, pace=pace or Pace(concurrency=16))
        return await runner.evaluate(todo)


async def in_process(store: Store, todo: list[Job]) -> list[Account]:
    model = connect(ModelConfig(name="sim:reader"))
    await evaluate(store, model, todo)
    return accounts(store, todo, model)


async def test_a_run_over_http_is_the_run_in_this_process(ledger: SynLedger, opened: Opened) -> None:
    todo = jobs(ledger)
    expected = await in_process(opened(), todo)
    store = opened()
    async with OpenAIServer(reader()) as server:
        model = remote(server.url)
        await evaluate(store, model, todo)
    assert accounts(store, todo, model) == expected
    assert {account.outcome.score for account in expected} == {0.0, 1.0}
    assert len(server.requests) == sum(account.requests for account in expected)


@pytest.mark.parametrize("kind", [*KINDS, "all"])
async def test_faults_on_the_way_change_nothing(kind: str, ledger: SynLedger, opened: Opened) -> None:
    todo = jobs(ledger, 8)
    expected = await in_process(opened(), todo)
    schedule = FaultSchedule(rate=0.15, seed=5, kinds=tuple(KINDS) if kind == "all" else (kind,))
    store = opened()
    async with OpenAIServer(reader(), fault=schedule) as server:
        model = remote(server.url, timeout=1.0 if kind in ("time-out", "all") else 30.0)
        await evaluate(store, model, todo)
    assert schedule.injected
    assert accounts(store, todo, model) == expected
    assert lost_and_doubled(store, "run", todo) == (0, 0)
    [spent] = store.spend()
    assert (spent.episodes, spent.usage.requests) == (8, sum(account.requests for account in expected))
    assert store.info().rollouts == {"scored": 8, "failed": 0, "skipped": 0}
    assert store.verify() == []


def test_a_schedule_depends_on_content_and_attempt_alone() -> None:
    requests = [{"seed": number} for number in range(400)]
    first, second = (FaultSchedule(rate=0.25, seed=3) for _ in range(2))
    forward = [first(request, 0) for request in requests]
    assert forward == [second(request, 0) for request in reversed(requests)][::-1]
    assert 60 < sum(first.injected.values()) < 140
    assert set(first.injected) == set(KINDS)
    assert forward != [second(request, 1) for request in requests]


class Outage:
    """A server that goes away after so many answers, and can come back at the same address."""

    def __init__(self, after: int) -> None:
        self._answers = 0
        self._after = after
        self._ask = reader()
        self.gone = asyncio.Event()
        self.server = OpenAIServer(self._script)

    async def _script(self, request: dict[str, object], attempt: int) -> Completion:
        self._answers += 1
        if self._answers >= self._after:
            self.gone.set()
            if not self.back:
                await asyncio.Event().wait()
        return await self._ask(request, attempt)

    back = False


async def test_an_outage_in_the_middle_is_waited_out(ledger: SynLedger, opened: Opened) -> None:
    todo = jobs(ledger)
    expected = await in_process(opened(), todo)
    store, outage, said = opened(), Outage(after=40), []
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        """Waits are cut short, but for the endpoint to be back they are needed."""
        slept.append(seconds)
        await asyncio.sleep(min(seconds, 0.02))

    pacer = Pacer(retries=1, patience_seconds=600.0, on_outage=said.append, sleep=sleep)
    async with outage.server as server:
        model = remote(server.url, pacer)
        running = asyncio.create_task(evaluate(store, model, todo, FEW))
        await asyncio.wait_for(outage.gone.wait(), 20)
    async with asyncio.timeout(20):
        while not said:
            await asyncio.sleep(0.01)
    assert 0 < store.info().rollouts["scored"] < len(todo)
    outage.back = True
    async with outage.server:
        await asyncio.wait_for(running, 20)
    assert [message.split(" (")[0] for message in said[:1]] == ["the endpoint does not answer"]
    assert "waiting up to 600 s for it to come back" in said[0]
    assert said[1:] == [said[1]]
    assert said[1].startswith("the endpoint is back after")
    assert accounts(store, todo, model) == expected
    assert lost_and_doubled(store, "run", todo) == (0, 0)
    [spent] = store.spend()
    assert (spent.episodes, spent.usage.requests) == (16, sum(account.requests for account in expected))
    assert store.info().rollouts == {"scored": 16, "failed": 0, "skipped": 0}


async def test_an_outage_longer_than_patience_pauses_and_the_rest_alone_is_run_later(
    ledger: SynLedger, opened: Opened
) -> None:
    todo = jobs(ledger)
    expected = await in_process(opened(), todo)
    store, outage, said = opened(), Outage(after=40), []
    pacer = Pacer(retries=1, jitter=lambda: 0.0, patience_seconds=0.3, on_outage=said.append)
    async with outage.server as server:
        model = remote(server.url, pacer)
        running = asyncio.create_task(evaluate(store, model, todo, FEW))
        await asyncio.wait_for(outage.gone.wait(), 20)
    gone = r"(cannot be reached|closed the connection).*It did not come back in"
    with pytest.raises(RunPaused, match=gone) as caught:
        await asyncio.wait_for(running, 20)
    assert caught.value.exit_code == 7
    assert len(said) == 1
    done = store.info().rollouts["scored"]
    assert 0 < done < len(todo)
    outage.back = True
    async with outage.server as server:
        again = remote(server.url)
        scored = await evaluate(store, again, todo)
    assert sum(result.reused for result in scored) == done
    assert accounts(store, todo, again) == expected
    assert lost_and_doubled(store, "run", todo) == (0, 0)


async def test_a_model_that_misbehaves_is_scored_the_same_over_http(ledger: SynLedger, opened: Opened) -> None:
    todo = jobs(ledger, 12)
    stores = opened(), opened()
    near = scripted(misbehaving(rate=0.5, seed=3))
    await evaluate(stores[0], near, todo)
    expected = accounts(stores[0], todo, near)
    async with OpenAIServer(served(scripted(misbehaving(rate=0.5, seed=3))._model)) as server:
        far = remote(server.url)
        await evaluate(stores[1], far, todo)
    assert accounts(stores[1], todo, far) == expected
    assert len(expected) == 12
    assert all(account.outcome.status == "scored" for account in expected)
    said = [event for account in expected for event in account.trace["events"] if event["event"] == "model"]
    refused = [
        event
        for account in expected
        for event in account.trace["events"]
        if event["event"] == "tool" and event["by"] == "model" and not event["ok"]
    ]
    for kind, mistake in MISTAKES.items():
        assert any(mistake.shows_in(event) for event in said), kind
    assert len(refused) >= sum(
        len(event["calls"]) for event in said if any(m.shows_in(event) for m in MISTAKES.values())
    )
    assert {account.outcome.reason for account in expected} >= {"answered", "no-answer"}
