"""Runs many rollouts: what the store has is reused, the rest is run concurrently, recorded, then used."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from chase.core.errors import BudgetExhausted, ChaseError, HostError, RolloutError
from chase.core.values import Outcome, Request, Rollout, Usage
from chase.engine.gate import Gate, Room, Typical
from chase.engine.judging import Judging, judge_of, ledger_row, not_judged, played_before, waits
from chase.engine.processes import Processes, chunks
from chase.engine.rollout import Job
from chase.engine.sandbox import Sandbox
from chase.models.chat import ChatModel, Reply
from chase.models.errors import ModelError
from chase.store.digests import rollout_digest
from chase.store.records import LedgerRow, StoredRollout, Use
from chase.store.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredRollout:
    """A rollout's result as estimates use it."""

    digest: str
    task: str
    role: str
    index: int
    outcome: Outcome
    usage: Usage
    served_models: tuple[str, ...]
    reused: bool


class Progress(Protocol):
    """Hears of an evaluation as it goes on. Called by the runner on its event loop; must return at once."""

    def started(self, *, total: int, reused: int) -> None: ...
    def finished(self, scored: ScoredRollout) -> None: ...
    def failed(self, job: Job, reason: str, *, again: bool) -> None: ...


Paid = Reply | Request
"""What the ledger has a row of."""


class Silence:
    """Progress that nobody hears."""

    def started(self, *, total: int, reused: int) -> None: ...
    def finished(self, scored: ScoredRollout) -> None: ...
    def failed(self, job: Job, reason: str, *, again: bool) -> None: ...


class RunPaused(RolloutError):
    """Infrastructure failed under a rollout until its tries were spent. Finished rollouts are in the store."""

    def __init__(self, reason: str, how: str = "run the same command again to go on") -> None:
        super().__init__(f"paused: {reason} Finished rollouts are saved; {how}.")
        self.reason = reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How hard the runner works."""

    concurrency: int = 64
    tries: int = 2
    """How often a rollout is started before the run pauses. The model's own retries come on top."""
    rollout_seconds: float = 1_800.0
    """Deadline of one rollout, retries included, waits in an outage not. Beyond it infrastructure has failed, not the
    agent."""
    processes: Processes | None = None
    """Where an embedded model's rollouts are computed; None: here. They have no meter: under a cap there are none."""


class Runner:
    """Evaluates jobs with one model against one store, which is its memory.

    Under a cap (the model's meter) no rollout starts that cannot be expected to be paid for; what was finished is
    stored, and so are the requests of rollouts that were cut.
    """

    def __init__(
        self,
        *,
        model: ChatModel,
        store: Store,
        sandbox: Sandbox,
        use: Use,
        pace: Pace | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._model = model
        self._store = store
        self._sandbox = sandbox
        self._use = use
        self._pace = pace or Pace()
        self._progress = progress or Silence()
        self._typical = Typical()
        self._judging = Judging(store, use)

    def room(self, jobs: Sequence[Job]) -> Room:
        """What a cap leaves for those of the jobs that are not in the store: asked before sealed tasks are opened."""
        meter = self._model.meter
        if meter is None or not jobs:
            return Room(meter=None, tokens=0, rollouts=0)
        digests = {rollout_digest(job.key(self._model)) for job in jobs}
        known = self._typical.mean or jobs[0].benchmark.defaults.typical
        missing = len(digests) - len(self._store.get_many(list(digests)))
        return Room(meter=meter, tokens=known.tokens if known else 1, rollouts=missing)

    async def evaluate(self, jobs: Sequence[Job]) -> list[ScoredRollout]:
        """The results in the order of the jobs. Pauses (`RunPaused`) where infrastructure fails for good.

        `BudgetExhausted` comes only when all that could be finished under the cap is.
        """
        digests = [rollout_digest(job.key(self._model)) for job in jobs]
        stored = self._store.get_many(digests)
        results = {digest: _scored(digest, rollout, reused=True) for digest, rollout in stored.items()}
        await self._store.record_reuse(self._use, list(results))
        missing = {d: job for d, job in zip(digests, jobs, strict=True) if d not in results}
        self._progress.started(total=len(set(digests)), reused=len(results))
        gate = Gate(self._model.meter, self._typical)
        try:
            with _settled_memory():
                await self._compute_elsewhere(missing, results)
                left = [named for named in missing.items() if named[0] not in results]
                queue = iter(left)
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(self._pace.concurrency, len(left), self._model.most_conversations or len(left))):
                        group.create_task(self._work(queue, results, gate))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        if gate.closed is not None:
            raise gate.closed
        return [results[digest] for digest in digests]

    async def _compute_elsewhere(self, missing: Mapping[str, Job], results: dict[str, ScoredRollout]) -> None:
        """Have worker processes roll out what they can. What they could not finish is left to this process."""
        processes = self._pace.processes
        if processes is None or self._model.meter is not None:
            return
        portions = chunks([(digest, job) for digest, job in missing.items() if processes.takes(job)])

        async def feed() -> None:
            for portion in portions:
                made = await processes.run([job for _, job in portion])
                finished = [(digest, found) for (digest, _), found in zip(portion, made, strict=True) if found]
                await asyncio.gather(*(self._keep(digest, *found) for digest, found in finished))
                for digest, (rollout, _) in finished:
                    results[digest] = scored = _scored(digest, rollout, reused=False)
                    self._progress.finished(scored)

        async with asyncio.TaskGroup() as group:
            for _ in range(2 * processes.count):  # one portion computes while the next one waits
                group.create_task(feed())

    async def _keep(self, digest: str, rollout: Rollout, requests: Sequence[Paid]) -> None:
        await self._store.record(rollout, self._ledger(digest, rollout.key.role, requests), use=self._use)

    async def _work(self, queue: Iterator[tuple[str, Job]], results: dict[str, ScoredRollout], gate: Gate) -> None:
        for digest, job in queue:
            if not await gate.enter():
                break
            usage: Usage | None = None
            try:
                rollout, usage = await self._finish(digest, job, *await self._play(digest, job))
            except BudgetExhausted as error:
                gate.close(error)  # the others go on
                break
            finally:
                gate.leave(usage)
            results[digest] = scored = _scored(digest, rollout, reused=False)
            self._progress.finished(scored)
            # A model in this process never waits: let others in, so that a cancellation is heard.
            await asyncio.sleep(0)

    async def _play(self, digest: str, job: Job) -> tuple[Rollout, Sequence[Paid]]:
        """One rollout, with what was paid for it; one that only its judge has not seen is not played again."""
        if judge_of(job.benchmark) is not None and (found := self._store.get_unjudged([digest])):
            return played_before(found[digest], self._store.trace(found[digest].trace_digest)), ()
        return await self._run(digest, job)

    async def _finish(self, digest: str, job: Job, rollout: Rollout, paid: Sequence[Paid]) -> tuple[Rollout, Usage]:
        """The rollout, kept, and what it used with its verdict. Where its judge fails it is kept as it was played."""
        judge, used = judge_of(job.benchmark), Usage()
        if judge is not None and waits(rollout):
            try:
                rollout, used = await self._judging.judge(judge, rollout)
            except (asyncio.CancelledError, BudgetExhausted):
                with suppress(ChaseError):  # the store may be why everything is being cancelled
                    self._store.record_sync(rollout, self._ledger(digest, job.role, paid), use=self._use)
                raise
            except RolloutError as error:
                self._progress.failed(job, str(error), again=False)
                await self._keep(digest, not_judged(rollout, str(error)), paid)
                raise RunPaused(str(error)) from None
        await self._keep(digest, rollout, paid)
        return rollout, rollout.usage + used

    async def _run(self, digest: str, job: Job) -> tuple[Rollout, Sequence[Paid]]:
        """One rollout, tried again where infrastructure failed, with the replies of all tries: each was paid for."""
        paid: list[Reply] = []
        for attempt in range(1, self._pace.tries + 1):
            deadline = self._model.now() + self._pace.rollout_seconds
            replies: list[Reply] = []
            try:
                rollout = await job.run(self._model, self._sandbox, deadline=deadline, replies=replies)
                return rollout, [*paid, *(replies or _reported(rollout))]
            except (asyncio.CancelledError, BudgetExhausted):
                self._keep_paid(digest, job, paid + replies)
                raise
            except RolloutError as error:
                paid += replies
                hopeless = isinstance(error, ModelError) and not error.retryable
                final = hopeless or attempt == self._pace.tries
                self._progress.failed(job, str(error), again=not final)
                if final:
                    kind = "host-error" if isinstance(error, HostError) else "provider-error"
                    failed = _failed(job, self._model, f"{kind}: {error}", paid)
                    await self._keep(digest, failed, paid)
                    raise RunPaused(str(error)) from None
        raise AssertionError("unreachable")

    def _keep_paid(self, digest: str, job: Job, paid: Sequence[Reply]) -> None:
        """A rollout that is cut is lost; that its requests were paid for is not."""
        if paid:
            with suppress(ChaseError):  # the store may be why everything is being cancelled
                self._store.record_requests_sync(self._ledger(digest, job.role, paid))

    def _ledger(self, digest: str, role: str, replies: Sequence[Paid]) -> list[LedgerRow]:
        """One row for each request."""
        return [ledger_row(self._use, reply, role=role, episode=digest, purpose="rollout") for reply in replies]


@contextmanager
def _settled_memory() -> Iterator[None]:
    """Spare the garbage collector what is there before the rollouts: a benchmark is 100,000 objects that stay."""
    if gc.get_freeze_count():  # somebody else's choice, which unfreezing would undo
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _reported(rollout: Rollout) -> list[Request]:
    """What an agent that plays by itself says that it used, as one request."""
    said = rollout.usage.requests > 0
    return [Request(usage=rollout.usage, served_model="".join(rollout.served_models))] if said else []


def _failed(job: Job, model: ChatModel, reason: str, paid: Sequence[Reply]) -> Rollout:
    return Rollout(
        key=job.key(model),
        outcome=Outcome(status="failed", score=None, reason=reason),
        answer=None,
        usage=sum((reply.usage for reply in paid), Usage()),
        served_models=tuple(sorted({reply.served_model for reply in paid})),
    )


def _scored(digest: str, rollout: Rollout | StoredRollout, *, reused: bool) -> ScoredRollout:
    return ScoredRollout(
        digest=digest,
        task=rollout.key.task,
        role=rollout.key.role,
        index=rollout.key.index,
        outcome=rollout.outcome,
        usage=rollout.usage,
        served_models=rollout.served_models,
        reused=reused,
    )
