"""Every Protocol of the project. Each says who calls it, how often, what must be deterministic
and what a failure means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from chase.core.agents import Candidate, ChallengerContext, Draft, ProposerContext, Refusal
from chase.core.values import (
    CheckResult,
    Defaults,
    Json,
    Limits,
    Presented,
    Shown,
    ToolResult,
    ToolSpec,
    View,
)

State = TypeVar("State")
"""A benchmark's protocol state of one task: names, layout, order, serialization; no contents."""


class Observable(Protocol):
    """A named pure function of what was shown of a document.

    Called by the reader, the structural policies, the mining agents and `chase scan`, once for each
    document at each decision. Deterministic: the same `Shown` gives the same number in every process.
    Returns None where the moment did not show what it needs (no listing yet, say); never raises.
    Nobody who calls it knows which observables are planted.
    """

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    def __call__(self, shown: Shown) -> float | None: ...


class Operator(Protocol[State]):
    """One typed change of protocol state, an entry of a transformation.

    Called by a benchmark once per task and view. Deterministic in (arguments, state, seed); it may look at
    protocol state and the seed, never at record values, text, question, evidence, answer or role.
    A bad argument is a `UserError` when the operator is made; `apply` does not fail.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def arguments(self) -> Mapping[str, Json]:
        """Normalised: two ways to write the same operator give equal arguments."""
        ...

    @property
    def fields(self) -> frozenset[str]:
        """The protocol fields that it declares to change."""
        ...

    @property
    def seeded(self) -> bool:
        """Whether it draws from the seed; where not, the seed is no part of its canonical form."""
        ...

    def apply(self, state: State, *, seed: int) -> State: ...
    def inverse(self) -> Operator[State] | None:
        """The operator that undoes it, or None where it is not reversible."""
        ...


class Transformation(Protocol[State]):
    """An ordered list of operators with a seed: `Φ_b`. Identity is the empty list.

    Made by whoever names a variant, applied by a benchmark once per task and view. Deterministic.
    Two transformations are the same if their canonical forms are equal; `hash` is the digest of that.
    """

    @property
    def operators(self) -> Sequence[Operator[State]]: ...
    @property
    def seed(self) -> int: ...
    @property
    def declared(self) -> frozenset[str]: ...
    @property
    def hash(self) -> str: ...
    def canonical(self) -> Json: ...
    def apply(self, state: State) -> State: ...


class Environment(Protocol):
    """One task under one variant, as an agent may act on it: the tools, within the benchmark's limits.

    Made by the engine, one for each rollout; called once per tool call. Deterministic in the calls so far.
    It holds no answer, no evidence label and no role. A bad argument, an unknown tool or a spent budget is
    a plain message to the agent (`ok=False`) and is counted; it never raises.
    """

    @property
    def question(self) -> str: ...
    @property
    def tools(self) -> Sequence[ToolSpec]: ...
    @property
    def limits(self) -> Limits: ...
    def call(self, tool: str, arguments: Mapping[str, Json]) -> ToolResult: ...
    def calls_left(self) -> Mapping[str, int]:
        """Calls left by group, and in all under 'total'."""
        ...


class Benchmark(Protocol[State]):
    """A released benchmark `B_rel` with its task sets, variants, tools and scorer. Host-side.

    Held by the host only: a harness, a Proposer, a Challenger and a model get views, environments and
    plain data made from it, never the object. Everything is deterministic in the benchmark's name.
    Unknown tasks, roles and variants are `UserError`s that list the valid ones.
    """

    @property
    def name(self) -> str:
        """With seed and size, e.g. `syn-ledger@7x40`."""
        ...

    @property
    def content_hash(self) -> str:
        """Changes when anything that a rollout or a score could depend on changes."""
        ...

    @property
    def versions(self) -> Mapping[str, int]:
        """Versions of renderer, tools and scorer."""
        ...

    @property
    def limits(self) -> Limits: ...
    @property
    def tools(self) -> Sequence[ToolSpec]: ...
    @property
    def defaults(self) -> Defaults: ...
    @property
    def observables(self) -> Sequence[Observable]: ...
    @property
    def roles(self) -> Sequence[str]: ...
    def tasks(self, role: str | None = None) -> Sequence[str]:
        """Opaque ids of the tasks of a role (of all roles), in an order that means nothing."""
        ...

    def role_of(self, task: str) -> str: ...
    def variants(self) -> Sequence[str]:
        """Names that `variant` takes beside archive entries and files."""
        ...

    def variant(self, name: str) -> Transformation[State]: ...
    def view(self, task: str, transformation: Transformation[State]) -> View: ...
    def environment(self, task: str, transformation: Transformation[State]) -> Environment: ...
    def score(self, task: str, answer: str | None) -> float:
        """The score of a submitted answer, in [0, 1]. No answer is 0."""
        ...

    def slots(self, question: str) -> Mapping[str, Sequence[str]]:
        """Values of the query-template placeholders, read from the question's text alone."""
        ...

    def validate(self, progress: Callable[[str], None]) -> Sequence[CheckResult]:
        """Every check of the construction, independent of any rollout. `progress` hears each check's name."""
        ...


class FirewallSubject(Protocol[State]):
    """What a benchmark supplies to the validity firewall: states, a canonicaliser, fixtures. Host-side.

    Called by the firewall a few times for each check task and proposal. Everything is deterministic. What cannot be
    brought into canonical form (a document that does not parse) shows as missing contents, never as an exception.
    """

    @property
    def name(self) -> str: ...
    @property
    def check_tasks(self) -> Sequence[str]:
        """The fixed validity-check set, in an order decided by a hash: the first is the fixed example."""
        ...

    def state(self, task: str) -> State:
        """The task's released state."""
        ...

    def exchanged(self, task: str, other: str) -> State:
        """The task's protocol with another task's question, contents, labels and fresh document ids."""
        ...

    def released(self, task: str) -> Presented:
        """The task's released state, presented: the same for every proposal, so it may be kept."""
        ...

    def present(self, state: State) -> Presented: ...
    def protocol(self, state: State) -> Mapping[str, Mapping[str, Json]]:
        """Document id → its protocol fields in a fixed order."""
        ...

    def answer(self, task: str) -> Json:
        """The ground-truth answer."""
        ...


class Proposer(Protocol):
    """Writes harness candidates: one of each track that the context names, or so many free ones.

    Called by a method once a round. It sees the context and nothing else; what it returns is parsed as data, and a
    candidate that does not parse or leaves its track or the edit space is dropped with the reason in the record. An
    offline Proposer is deterministic in the context; the answer of any is kept, so that a resumed run does not ask
    again. An outage is a `RolloutError`: the run pauses.
    """

    @property
    def name(self) -> str: ...
    async def propose(self, context: ProposerContext) -> Sequence[Candidate]: ...
    async def revise(self, context: ProposerContext, refused: Sequence[Refusal]) -> Sequence[Candidate]:
        """Answers in place of refused ones, each on its track if it has one. Called after `propose` in the same round,
        a bounded number of times; nothing ends the round's asking.
        """
        ...


class Challenger(Protocol):
    """Writes typed protocol transformations that may destroy `H_t`'s gain over `H_0`.

    Called by a method once a round, after `H_t` was selected and only if it is not `H_0`. The same promises as a
    Proposer's: it sees the context alone, its drafts are parsed as data, and the firewall decides on each.
    """

    @property
    def name(self) -> str: ...
    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]: ...
    async def revise(self, context: ChallengerContext, refused: Sequence[Refusal]) -> Sequence[Draft]:
        """Drafts in place of refused ones; the same promises as a Proposer's."""
        ...
