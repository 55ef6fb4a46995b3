"""Where a verdict is awaited: a benchmark whose answers a language model judges, in the runner.

A rollout is played and scored apart there. Playing is what workers and own agents do, and knows nothing of a judge: it
ends with a rollout that is not scored (`unscored`). The runner, in the one process that writes, then asks, and keeps
each verdict by its case, with its requests in the ledger under the purpose `judge`: the same answer to the same task is
judged once, by whichever method, run or rollout it comes, and a process that is killed has lost no verdict. A rollout
whose judge could not be reached is kept as it was played, to be judged when the run goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from chase.core.errors import ChaseError, SetupError
from chase.core.interfaces import Benchmark, Judge, Judged
from chase.core.values import UNJUDGED, Json, Outcome, Request, Rollout, Usage, Verdict
from chase.store.records import LedgerRow, StoredRollout, StoredVerdict, Use
from chase.store.store import Store

JUDGE = "judge"
"""The purpose of a judge's requests in the ledger."""


def is_judged(benchmark: Benchmark[Any]) -> bool:
    """Whether a language model scores the answers."""
    return isinstance(benchmark, Judged) and benchmark.asks is not None


def judge_of(benchmark: Benchmark[Any]) -> Judge | None:
    """The benchmark's judge; None where it scores by itself."""
    if not isinstance(benchmark, Judged) or benchmark.asks is None:
        return None
    if benchmark.judge is None:
        raise SetupError(f"{benchmark.name}: its judge '{benchmark.asks.name}' is not connected (`judged_by`).")
    return benchmark.judge


def outcome_of(benchmark: Benchmark[Any], task: str, answer: str | None, reason: str) -> Outcome:
    """How a rollout ended that was played to its end: scored, or not yet where its judge has to be asked."""
    if not isinstance(benchmark, Judged) or benchmark.asks is None:
        return Outcome(status="scored", score=benchmark.score(task, answer), reason=reason)
    score = benchmark.unasked(task, answer)
    if score is not None:
        return Outcome(status="scored", score=score, reason=reason)
    return Outcome(status="failed", score=None, reason=UNJUDGED)


def waits(rollout: Rollout) -> bool:
    """Whether a rollout was played and not judged."""
    return rollout.outcome.status == "failed" and rollout.outcome.reason.startswith(UNJUDGED)


def scored_by(rollout: Rollout, score: float) -> Rollout:
    """A rollout that was played, with its score."""
    outcome = Outcome(status="scored", score=score, reason=rollout.trace["reason"])
    return replace(rollout, outcome=outcome, trace={**rollout.trace, "score": score})


def not_judged(rollout: Rollout, why: str) -> Rollout:
    """A rollout that was played, with why its judge gave no verdict."""
    return replace(rollout, outcome=Outcome(status="failed", score=None, reason=f"{UNJUDGED}: {why}"))


def played_before(stored: StoredRollout, trace: Json) -> Rollout:
    """A rollout from the store that waits for its judge."""
    return Rollout(
        key=stored.key,
        outcome=stored.outcome,
        answer=stored.answer,
        usage=stored.usage,
        served_models=stored.served_models,
        trace=trace,
    )


class Judging:
    """Judges the rollouts of one runner. A case is judged once, whoever else shares the store in this process."""

    def __init__(self, store: Store, use: Use) -> None:
        self._store = store
        self._use = use

    async def judge(self, judge: Judge, rollout: Rollout) -> tuple[Rollout, Usage]:
        """The rollout with its score, and what its verdict used now: nothing if the store had it."""
        task, answer = rollout.key.task, str(rollout.answer)
        case = judge.case(task, answer)
        async with self._store.turns[case]:
            verdict, used = self._store.verdict(case), Usage()
            if verdict is None:
                verdict, used = await self._ask(judge, case, rollout)
        return scored_by(rollout, verdict.score), used

    async def _ask(self, judge: Judge, case: str, rollout: Rollout) -> tuple[Verdict, Usage]:
        paid: list[Request] = []
        try:
            verdict = await judge.judge(rollout.key.task, str(rollout.answer), paid)
        except BaseException:
            if paid:
                with suppress(ChaseError):  # the store may be why everything is being cancelled
                    self._store.record_requests_sync(self._ledger(case, rollout.key.role, paid))
            raise
        stored = StoredVerdict(digest=case, judge=judge.fingerprint, verdict=verdict)
        await self._store.record_verdict(stored, self._ledger(case, rollout.key.role, paid))
        # Another run may have been first: what is in the store counts.
        return self._store.verdict(case) or verdict, sum((request.usage for request in paid), Usage())

    def _ledger(self, case: str, role: str, paid: Sequence[Request]) -> list[LedgerRow]:
        return [ledger_row(self._use, request, role=role, episode=case, purpose=JUDGE) for request in paid]


def ledger_row(use: Use, request: Any, *, role: str, episode: str, purpose: str) -> LedgerRow:
    """The ledger's row of a request or a reply."""
    return LedgerRow(
        run=use.run,
        method=use.method,
        role=role,
        episode=episode,
        purpose=purpose,
        input_tokens=request.usage.input_tokens,
        cached_tokens=request.usage.cached_tokens,
        output_tokens=request.usage.output_tokens,
        cost_usd=request.usage.cost_usd,
        wall_seconds=request.usage.wall_seconds,
        served_model=request.served_model,
    )
