"""The values that go into the store and come out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from chase.core.values import Json, Outcome, RolloutKey, Usage, Verdict

RunStatus = Literal["running", "paused", "finished"]
"""A run that was killed stays 'running': whoever resumes it finds it so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerRow:
    """One model request. `input_tokens` includes the cached ones; cost is None if unknown."""

    run: str
    method: str
    role: str
    episode: str
    """The rollout's digest, the case of a verdict, or the id of an agent's episode."""
    purpose: str
    """What the request was for: 'rollout', 'judge', 'propose', 'challenge', …"""
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float | None
    wall_seconds: float
    served_model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """Who used a rollout: a method within a run."""

    run: str
    method: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredVerdict:
    """A judge's verdict on one answer to one task."""

    digest: str
    """Of the case: the judge, the question, the expected answer and this one."""
    judge: str
    """Its fingerprint."""
    verdict: Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRollout:
    """A rollout as the store has it. Its trace is read apart, by `trace_digest`."""

    digest: str
    key: RolloutKey
    outcome: Outcome
    answer: str | None
    usage: Usage
    served_models: tuple[str, ...]
    trace_digest: str
    created_at: str


@dataclass(frozen=True, kw_only=True, slots=True)
class UsedRollout:
    """A rollout that a method used in a run, and whether it was paid for there or taken from the store."""

    use: Use
    reused: bool
    rollout: StoredRollout


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A run with its resolved config."""

    id: str
    created_at: str
    config: Json
    status: RunStatus


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """Which rollouts are asked for; what is None is not asked."""

    run: str | None = None
    task: str | None = None
    harness: str | None = None
    """The beginning of a hash, as is `transformation`."""
    transformation: str | None = None
    role: str | None = None
    outcome: str | None = None
    """A status, or the beginning of a reason."""
    least_score: float | None = None
    most_score: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class MeansWanted:
    """Whose scores are averaged, task by task."""

    runs: tuple[str, ...]
    harnesses: tuple[str, ...]
    """Hashes, as are `transformations`."""
    transformations: tuple[str, ...]
    roles: tuple[str, ...]
    of_roles: bool = True
    """Whether tasks of these roles are meant, or of all others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seal:
    """One opening of the certification set for a run or a comparison, with what was fixed before it."""

    subject: str
    opened_at: str
    hashes: Mapping[str, Json]
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Spend:
    """What a method's model requests in one role of a run, for one purpose, were charged: the ledger's sums."""

    run: str
    method: str
    role: str
    purpose: str
    episodes: int
    """Distinct episodes that made a request; reused rollouts are not among them."""
    usage: Usage
    """Its cost is None if the cost of any request is unknown."""
    priced_usd: float
    """The cost of the requests whose cost is known."""
    unpriced_requests: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeCount:
    """The rollouts that a method used in one role of a run, paid for or reused, with all their usage."""

    run: str
    method: str
    role: str
    episodes: int
    reused: int
    usage: Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Something that `verify` found: which kind of thing, which one, and what is wrong with it."""

    kind: str
    id: str
    detail: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Collected:
    """What `gc` dropped and freed."""

    traces: int
    freed_bytes: int
    """Change in the size of the files; below 0 if they grew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreInfo:
    """What is in a store."""

    schema_version: int
    file_bytes: int
    rollouts: Mapping[str, int]
    """By status."""
    traces: int
    trace_bytes: int
    stored_trace_bytes: int
    runs: int
    requests: int
    seals: int
    writer_pid: int | None
