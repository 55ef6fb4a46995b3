"""The values that cross folder boundaries. Frozen, keyword-only, plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Json = Any
"""A value that JSON can carry."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What an agent was shown of one document at one moment. The only input of an observable."""

    id: str
    path: str
    listing: int | None = None
    """Place in the last listing, from 0."""
    listing_of: int | None = None
    hit: int | None = None
    """Place in the search result, from 0: full matches first, then the manifest's rank order."""
    hit_of: int | None = None
    window: int | None = None
    """Which window of the document the text is, from 0."""
    text: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultItem:
    """One document's part of a tool result: what was shown and how it reads."""

    shown: Shown
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """What a tool answered. `text` is all that the model gets to read."""

    head: str
    items: tuple[ResultItem, ...] = ()
    ok: bool = True
    coverage: int | None = None
    """Of a search: how many documents match the whole query."""

    @property
    def text(self) -> str:
        return "\n".join([*([self.head] if self.head else []), *(item.text for item in self.items)])


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSpec:
    """A tool operation as the model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    """JSON schema of the arguments."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Resource limits of a benchmark. No harness and no transformation can change them."""

    total_calls: int
    group_calls: Mapping[str, int]
    """Most calls for each group of tools, e.g. {'search': 4, 'open': 6, 'calculate': 2}."""
    tool_groups: Mapping[str, str]
    """Which group a tool belongs to."""
    steps: int
    """Most model turns in a rollout."""
    context_tokens: int
    wall_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FileView:
    """A document as an agent finds it."""

    id: str
    path: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """Everything of one task that an agent can observe under one variant, in listing order."""

    task: str
    question: str
    files: tuple[FileView, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Presented:
    """One task's state as an agent would meet it, in a form that the validity firewall can compare. Host-side."""

    question: str
    answer: Json
    """Recomputed from what is presented; None where that is not possible."""
    contents: Mapping[str, Sequence[Json] | None]
    """Document id → its pieces of content in a canonical order; None where it cannot be read."""
    numbers: frozenset[int]
    """Integer tokens anywhere in the view."""
    access: Json
    """Tool operations, limits, and how each document can be reached."""
    scoring: Json
    """The scorer's verdicts on fixed outputs, and its identity."""
    protocol: Mapping[str, Mapping[str, Json]]
    """Document id → protocol field → value."""
    view: str
    """Digest of every byte that can be shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Defaults:
    """The settings of a run that a benchmark suggests: T, epsilon, eta and rollouts by role."""

    rounds: int
    epsilon: str
    eta: str
    """Thresholds are exact decimals in text: comparisons with them are made in rationals."""
    rollouts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResult:
    """One named check of a benchmark's construction."""

    name: str
    count: int
    """How many things were checked."""
    failures: tuple[str, ...] = ()
    """What failed and where, the failing task's id first."""

    @property
    def passed(self) -> bool:
        return not self.failures and self.count > 0


Status = Literal["scored", "failed", "skipped"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a rollout ended. What the agent causes is scored; only infrastructure fails."""

    status: Status
    score: float | None
    reason: str
    """'answered', or why there was no valid answer: 'no-answer', 'step-limit', 'provider-error', …"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What model requests used. `input_tokens` includes the cached ones. Cost is None if unknown."""

    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    wall_seconds: float = 0.0
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        known = [u.cost_usd for u in (self, other) if u.requests]
        cost = None if any(c is None for c in known) or not known else sum(c for c in known if c is not None)
        return Usage(
            requests=self.requests + other.requests,
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            wall_seconds=self.wall_seconds + other.wall_seconds,
            cost_usd=cost,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class RolloutKey:
    """Everything that determines a rollout. Its digest is the rollout's identity in the store."""

    model: str
    """Fingerprint of the model and its settings."""
    harness: str
    transformation: str
    benchmark: str
    """Content hash of the benchmark."""
    versions: str
    """Versions of renderer, tools and engine."""
    task: str
    role: str
    index: int
    run_seed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollout:
    """One finished rollout: (model, harness, variant, task, index) with its trace."""

    key: RolloutKey
    outcome: Outcome
    answer: str | None
    usage: Usage
    served_models: tuple[str, ...] = ()
    trace: Mapping[str, Json] = field(default_factory=dict)
