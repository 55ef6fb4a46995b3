"""Rollouts under a cap: few are begun in vain, what was finished stays, what was cut is in the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import BudgetExhausted
from chase.core.values import Usage
from chase.engine.gate import Gate, Typical
from chase.engine.rollout import Job
from chase.engine.runner import Pace, Runner
from chase.engine.sandbox import Sandbox
from chase.models.meter import Amount, Meter
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.scripted import Request, ScriptedModel, Step, scripted
from tests.engine.rollouts import make_job

USE = Use(run="run-1", method="rollout")
TURN = 5_000
"""Tokens of a request: more than is expected of the first one."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(Workspace(tmp_path), write=True) as opened:
        opened.create_run("run-1", {})
        yield opened


def jobs(ledger: SynLedger, count: int) -> list[Job]:
    return [make_job(ledger, task=task) for task in ledger.tasks("evo")[:count]]


def two_turns(request: Request) -> Step:
    """A rollout of two requests of `TURN` tokens each."""
    usage = RequestUsage(input_tokens=TURN - 10, output_tokens=10)
    part = TextPart("1") if request.turn else ToolCallPart("list_files", {}, "a")
    return ModelResponse(parts=[part], usage=usage)


def capped(tokens: int | None, *, seconds: float = 0.0) -> ScriptedModel:
    return scripted(two_turns, seconds=seconds, meter=None if tokens is None else Meter(tokens=tokens))


def runner(store: Store, model: ScriptedModel) -> Runner:
    return Runner(model=model, store=store, sandbox=Sandbox(), use=USE, pace=Pace(concurrency=4))


async def test_no_rollout_is_begun_that_cannot_be_paid_for(ledger: SynLedger, store: Store) -> None:
    model = capped(5 * TURN, seconds=0.01)
    with pytest.raises(BudgetExhausted, match="20,000 of 25,000 tokens are spent, and a rollout needs about 10,000"):
        await runner(store, model).evaluate(jobs(ledger, 8))
    assert len(model.requests) == 4
    assert store.info().rollouts["scored"] == 2
    assert [(spent.episodes, spent.usage.requests) for spent in store.spend()] == [(2, 4)]


async def test_while_nothing_is_known_one_rollout_runs_at_a_time(ledger: SynLedger, store: Store) -> None:
    model = capped(2 * TURN - 1, seconds=0.01)
    with pytest.raises(BudgetExhausted):
        await runner(store, model).evaluate(jobs(ledger, 8))
    assert [request.turn for request in model.requests] == [0]


async def test_the_requests_of_a_rollout_that_was_cut_are_in_the_ledger(ledger: SynLedger, store: Store) -> None:
    model = capped(2 * TURN - 1)
    with pytest.raises(BudgetExhausted, match="the next request needs about"):
        await runner(store, model).evaluate(jobs(ledger, 1))
    assert store.info().rollouts["scored"] == 0
    [spent] = store.spend("run-1")
    assert (spent.usage.requests, spent.usage.input_tokens) == (1, TURN - 10)
    assert store.episodes("run-1") == []


async def test_going_on_with_a_higher_cap_pays_for_nothing_twice(ledger: SynLedger, store: Store) -> None:
    todo = jobs(ledger, 8)
    with pytest.raises(BudgetExhausted):
        await runner(store, capped(5 * TURN)).evaluate(todo)
    again = capped(17 * TURN)
    assert again.meter is not None
    [spent] = store.spend("run-1")
    again.meter.take_over(spent.usage)
    scored = await runner(store, again).evaluate(todo)
    assert [result.reused for result in scored].count(True) == 2
    assert len(again.requests) == 12
    assert again.meter.spent.tokens == 16 * TURN


async def test_under_a_wide_cap_rollouts_run_side_by_side(ledger: SynLedger, store: Store) -> None:
    model = capped(10**6, seconds=0.01)
    await runner(store, model).evaluate(jobs(ledger, 9))
    assert [request.turn for request in model.requests[:2]] == [0, 1]  # one alone, to see what it takes
    assert [request.turn for request in model.requests[2:6]] == [0, 0, 0, 0]


async def test_without_a_meter_the_gate_is_open() -> None:
    gate = Gate(None, Typical())
    assert [await gate.enter() for _ in range(100)] == [True] * 100


async def test_earlier_evaluations_say_what_a_rollout_takes_until_one_has_finished() -> None:
    earlier = Typical()
    earlier.add(Usage(requests=1, input_tokens=40, cost_usd=0.0))
    meter = Meter(tokens=100)
    gate = Gate(meter, earlier)
    assert await gate.enter()
    assert await gate.enter()
    meter.spent = Amount(tokens=70)
    gate.leave(Usage(requests=1, input_tokens=20, cost_usd=0.0))
    gate.leave(None)
    assert await gate.enter()  # 20 here, whatever it was before
    gate.leave(None)
    meter.spent = Amount(tokens=90)
    assert not await gate.enter()
    assert "90 of 100 tokens" in str(gate.closed)
