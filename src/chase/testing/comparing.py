"""What a run came to, in a form in which two runs of the same jobs can be compared, whatever way the words took."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chase.core.values import Json, Outcome
from chase.engine.rollout import Job
from chase.models.chat import ChatModel
from chase.store.digests import rollout_digest
from chase.store.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """One rollout without what says who served it and when."""

    task: str
    index: int
    outcome: Outcome
    answer: str | None
    requests: int
    tokens: tuple[int, int]
    trace: Json


def accounts(store: Store, jobs: Sequence[Job], model: ChatModel) -> list[Account]:
    """The rollouts of jobs as the store has them, in the order of the jobs."""
    digests = [rollout_digest(job.key(model)) for job in jobs]
    stored = store.get_many(digests)
    return [
        Account(
            task=rollout.key.task,
            index=rollout.key.index,
            outcome=rollout.outcome,
            answer=rollout.answer,
            requests=rollout.usage.requests,
            tokens=(rollout.usage.input_tokens, rollout.usage.output_tokens),
            trace=comparable(store.trace(rollout.trace_digest)),
        )
        for rollout in (stored[digest] for digest in digests if digest in stored)
    ]


def comparable(trace: Any) -> Any:
    """A trace with arguments as objects: a model in this process hands them over so, over the wire they are text."""
    events = [
        {**event, "calls": [{**call, "arguments": _read(call["arguments"])} for call in event["calls"]]}
        if event["event"] == "model"
        else event
        for event in trace["events"]
    ]
    return {**trace, "events": events}


def _read(arguments: Json) -> Json:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


def lost_and_doubled(store: Store, run: str, jobs: Sequence[Job]) -> tuple[int, int]:
    """How many jobs of a run the store has no scored rollout of, and how many it has or counts more than once."""
    wanted = {(job.task, job.index) for job in jobs}
    scored = [(u.rollout.key.task, u.rollout.key.index) for u in store.used(run) if u.rollout.outcome.score is not None]
    episodes = sum(spend.episodes for spend in store.spend(run))
    return len(wanted - set(scored)), len(scored) - len(set(scored)) + max(0, episodes - len(wanted))
