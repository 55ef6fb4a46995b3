"""Many rollouts: nothing is run twice, everything finished is kept, and only infrastructure pauses a run."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.errors import RolloutError, SetupError
from chase.core.values import Json
from chase.engine.rollout import Job
from chase.engine.runner import Pace, Runner, RunPaused, ScoredRollout
from chase.engine.sandbox import HookResult, HookSession, Sandbox
from chase.models.errors import AuthenticationFailed, ConnectionLost, ModelError, ProviderError
from chase.store.digests import rollout_digest
from chase.store.records import Use
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.scripted import Request, Script, ScriptedModel, Step, call, scripted
from tests.engine.rollouts import make_harness, make_job

RUN = Use(run="run-1", method="rollout")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(Workspace(tmp_path), write=True) as opened:
        opened.create_run("run-1", {})
        yield opened


class Listener:
    """Hears of everything, and whether each rollout was in the store when it was announced."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.begun: tuple[int, int] | None = None
        self.done: list[ScoredRollout] = []
        self.stored: list[bool] = []
        self.failures: list[tuple[str, bool]] = []

    def started(self, *, total: int, reused: int) -> None:
        self.begun = total, reused

    def finished(self, scored: ScoredRollout) -> None:
        self.done.append(scored)
        self.stored.append(self._store.get(scored.digest) is not None)

    def failed(self, job: Job, reason: str, *, again: bool) -> None:
        self.failures.append((job.task, again))


def jobs(ledger: SynLedger, count: int = 6) -> list[Job]:
    return [make_job(ledger, task=task) for task in ledger.tasks("evo")[:count]]


async def evaluate(
    store: Store,
    model: ScriptedModel,
    todo: list[Job],
    *,
    pace: Pace | None = None,
    sandbox: Sandbox | None = None,
    use: Use = RUN,
    listener: Listener | None = None,
) -> list[ScoredRollout]:
    runner = Runner(
        model=model, store=store, sandbox=sandbox or Sandbox(), use=use, pace=pace or Pace(), progress=listener
    )
    return await runner.evaluate(todo)


def asked(model: ScriptedModel) -> Counter[str]:
    """Rollouts begun with the model, by question."""
    return Counter(str(request.messages[0].parts[1].content) for request in model.requests if request.turn == 0)


async def test_results_come_in_the_order_of_the_jobs_and_are_stored_before_they_are_used(
    ledger: SynLedger, store: Store
) -> None:
    todo = jobs(ledger)[::-1]
    listener = Listener(store)
    scored = await evaluate(store, scripted([call("list_files"), "1"]), todo, listener=listener)
    assert [result.task for result in scored] == [job.task for job in todo]
    assert listener.begun == (6, 0)
    assert len(listener.done) == 6
    assert all(listener.stored)
    assert not any(result.reused for result in scored)


async def test_the_same_jobs_again_run_nothing_and_give_the_same_scores(ledger: SynLedger, store: Store) -> None:
    right = str(ledger.task(ledger.tasks("evo")[0]).answer)
    first = await evaluate(store, scripted([right]), jobs(ledger))
    again_model = scripted([right])
    listener = Listener(store)
    again = await evaluate(store, again_model, jobs(ledger), listener=listener)
    assert again_model.requests == []
    assert listener.begun == (6, 6)
    assert all(result.reused for result in again)
    assert [(r.task, r.outcome, r.usage) for r in again] == [(r.task, r.outcome, r.usage) for r in first]
    assert {result.outcome.score for result in again} == {0.0, 1.0}


async def test_a_job_given_twice_is_run_once(ledger: SynLedger, store: Store) -> None:
    model = scripted(["1"])
    scored = await evaluate(store, model, jobs(ledger, 2) * 3)
    assert len(scored) == 6
    assert len(model.requests) == 2


async def test_a_stored_rollout_is_not_used_for_another_harness_variant_index_or_role(
    ledger: SynLedger, store: Store
) -> None:
    model = scripted(["1"])
    await evaluate(store, model, [make_job(ledger)])
    others = [
        make_job(ledger, make_harness(memory="x")),
        make_job(ledger, variant="neutral"),
        make_job(ledger, index=1),
        make_job(ledger, run_seed=1),
        make_job(ledger, task=ledger.tasks("disc")[0]),
    ]
    scored = await evaluate(store, model, others)
    assert not any(result.reused for result in scored)
    assert len(model.requests) == 6


def failing(on: set[str], error: ModelError, *, times: int = 10**6) -> Script:
    """Answers, but fails so often for questions in `on`, at the second turn."""
    left = Counter(dict.fromkeys(on, times))

    def step(request: Request) -> Step:
        question = str(request.messages[0].parts[1].content)
        if request.turn == 0:
            return call("list_files")
        if left[question] > 0:
            left[question] -= 1
            return error
        return "1"

    return step


async def test_a_failed_request_is_tried_again_from_the_start(ledger: SynLedger, store: Store) -> None:
    todo = jobs(ledger)
    bad = ledger.task(todo[2].task).question
    model = scripted(failing({bad}, ConnectionLost("gone"), times=1))
    listener = Listener(store)
    scored = await evaluate(store, model, todo, listener=listener)
    assert [result.outcome.status for result in scored] == ["scored"] * 6
    assert listener.failures == [(todo[2].task, True)]
    assert asked(model) == Counter({ledger.task(job.task).question: 1 for job in todo} | {bad: 2})


async def test_an_outage_pauses_the_run_records_the_failure_and_keeps_what_is_finished(
    ledger: SynLedger, store: Store
) -> None:
    todo = jobs(ledger)
    bad = todo[3]
    model = scripted(failing({ledger.task(bad.task).question}, ConnectionLost("the line is dead")))
    listener = Listener(store)
    pace = Pace(concurrency=1, tries=3)
    with pytest.raises(RunPaused, match=r"the line is dead.*run the same command again") as caught:
        await evaluate(store, model, todo, pace=pace, listener=listener)
    assert caught.value.exit_code == 7
    assert listener.failures == [(bad.task, True), (bad.task, True), (bad.task, False)]
    finished = store.get_many(rollout_digest(job.key(model)) for job in todo)
    assert sorted(rollout.key.task for rollout in finished.values()) == sorted(job.task for job in todo[:3])
    failed = store.find_rollout(rollout_digest(bad.key(model)))
    assert (failed.outcome.status, failed.outcome.score) == ("failed", None)
    assert "the line is dead" in failed.outcome.reason

    well = scripted([call("list_files"), "1"])
    scored = await evaluate(store, well, todo)
    assert [result.reused for result in scored] == [True] * 3 + [False] * 3
    assert asked(well) == Counter(ledger.task(job.task).question for job in todo[3:])
    assert store.find_rollout(rollout_digest(bad.key(well))).outcome.status == "scored"


async def test_what_cannot_get_better_is_not_tried_again(ledger: SynLedger, store: Store) -> None:
    error = ProviderError("the account's quota is used up", retryable=False)
    model = scripted(lambda request: error)
    with pytest.raises(RunPaused, match="quota"):
        await evaluate(store, model, jobs(ledger, 1), pace=Pace(tries=5))
    assert len(model.requests) == 1


@pytest.mark.parametrize("error", [AuthenticationFailed("the key was refused"), SetupError("no SDK")])
async def test_what_the_user_must_mend_ends_the_run_at_once_as_itself(
    ledger: SynLedger, store: Store, error: SetupError
) -> None:
    model = scripted(lambda request: error)
    with pytest.raises(type(error)) as caught:
        await evaluate(store, model, jobs(ledger, 1))
    assert caught.value.exit_code == 3
    assert len(model.requests) == 1


async def test_a_rollout_whose_hook_was_killed_from_outside_is_run_again_and_never_scored(
    ledger: SynLedger, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, kills = HookSession.call, 0

    async def murdered(session: HookSession, hook: str, *arguments: Json) -> HookResult:
        nonlocal kills
        if kills < 1 and session.worker_pid is not None:
            kills += 1
            os.kill(session.worker_pid, signal.SIGKILL)
        return await real(session, hook, *arguments)

    monkeypatch.setattr(HookSession, "call", murdered)
    todo = [make_job(ledger, make_harness(source="def plan(task):\n    return {'note': 'from a hook'}\n"))]
    listener = Listener(store)
    async with Sandbox(max_sessions=1) as sandbox:
        [scored] = await evaluate(store, scripted(["1"]), todo, sandbox=sandbox, listener=listener)
    assert [again for _, again in listener.failures] == [True]
    trace = store.trace(store.get_many([scored.digest])[scored.digest].trace_digest)
    notes = [event["text"] for event in trace["events"] if event["event"] == "note"]
    assert notes == ["from a hook"]


async def test_a_sandbox_that_cannot_start_is_an_outage_too(ledger: SynLedger, store: Store) -> None:
    class NoWorkers(Sandbox):
        tries = 0

        @asynccontextmanager
        async def session(self, source: str | None, *, seed: int) -> AsyncIterator[HookSession]:
            self.tries += 1
            raise RolloutError("no sandbox worker could be started.")
            yield

    sandbox = NoWorkers()
    with pytest.raises(RunPaused, match="no sandbox worker"):
        await evaluate(store, scripted(["1"]), jobs(ledger, 1), sandbox=sandbox)
    assert sandbox.tries == Pace().tries
    assert store.info().rollouts == {"scored": 0, "failed": 1, "skipped": 0}


async def test_no_more_rollouts_run_at_a_time_than_the_pace_allows(ledger: SynLedger, store: Store) -> None:
    running, most = 0, 0

    class Counting(ScriptedModel):
        async def request(self, *arguments: object, **options: object):  # type: ignore[no-untyped-def,override]
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1
            return await super().request(*arguments, **options)  # type: ignore[arg-type]

    await evaluate(store, Counting(["1"]), jobs(ledger, 12), pace=Pace(concurrency=3))
    assert most == 3


async def test_cancelling_loses_only_what_was_unfinished(ledger: SynLedger, store: Store) -> None:
    todo = jobs(ledger, 8)
    slow = {ledger.task(job.task).question for job in todo[4:]}
    entered = asyncio.Event()

    class Hanging(ScriptedModel):
        async def request(self, messages, *arguments: object, **options: object):  # type: ignore[no-untyped-def,override]
            if len(messages) > 1 and str(messages[0].parts[1].content) in slow:
                entered.set()
                await asyncio.Event().wait()
            return await super().request(messages, *arguments, **options)  # type: ignore[arg-type]

    model = Hanging([call("list_files"), "1"])
    task = asyncio.create_task(evaluate(store, model, todo, pace=Pace(concurrency=2)))
    await asyncio.wait_for(entered.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)
    assert store.info().rollouts["scored"] == 4
    assert store.verify() == []
    [spent] = store.spend()
    assert spent.usage.requests == len(model.requests) > 8  # also those of rollouts that are lost
    scored = await evaluate(store, scripted([call("list_files"), "1"]), todo)
    assert [result.reused for result in scored] == [True] * 4 + [False] * 4


async def test_the_ledger_has_a_row_for_each_request_and_reuse_costs_nothing(ledger: SynLedger, store: Store) -> None:
    store.create_run("run-2", {})
    await evaluate(store, scripted([call("list_files"), "1"]), jobs(ledger, 3))
    await evaluate(store, scripted(["never asked"]), jobs(ledger, 3), use=Use(run="run-2", method="audit"))
    [spent] = store.spend()
    assert (spent.run, spent.role, spent.episodes, spent.usage.requests) == ("run-1", "evo", 3, 6)
    assert spent.usage.input_tokens == 60
    counts = {count.run: (count.episodes, count.reused, count.usage.requests) for count in store.episodes()}
    assert counts == {"run-1": (3, 0, 6), "run-2": (3, 3, 6)}


async def test_requests_of_tries_that_failed_are_in_the_ledger(ledger: SynLedger, store: Store) -> None:
    """A rollout's usage is that of the try that counts; what was paid is all of them."""
    todo = jobs(ledger, 1)
    model = scripted(failing({ledger.task(todo[0].task).question}, ConnectionLost("gone"), times=1))
    [scored] = await evaluate(store, model, todo)
    assert scored.usage.requests == 2
    assert [(spent.episodes, spent.usage.requests) for spent in store.spend()] == [(1, 3)]


async def test_what_a_paused_rollout_paid_for_is_in_the_ledger(ledger: SynLedger, store: Store) -> None:
    todo = jobs(ledger, 1)
    model = scripted(failing({ledger.task(todo[0].task).question}, ConnectionLost("gone"), times=2))
    with pytest.raises(RunPaused):
        await evaluate(store, model, todo)
    assert [(spent.episodes, spent.usage.requests) for spent in store.spend()] == [(1, 2)]
    await evaluate(store, model, todo)
    assert [(spent.episodes, spent.usage.requests) for spent in store.spend()] == [(1, 4)]
