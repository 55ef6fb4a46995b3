"""What Proposers and Challengers are given and give back: plain data, and pure functions of what was shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from chase.core.values import AnswerForm, HarnessBounds, Json, Placeholder, ToolInterface, ToolSpec

if TYPE_CHECKING:
    from chase.core.interfaces import Observable

MOST_OPERATORS = 12
"""Of a transformation."""
Agent = Literal["proposer", "challenger"]
"""Whom a method may ask."""

FAILURE_GROUPS = "failure groups"
"""The brief that holds failed executions of the current harness, grouped by cause."""

CandidateTrack = Literal["structural", "guidance", "integrated"]
CANDIDATE_TRACKS: tuple[CandidateTrack, ...] = ("structural", "guidance", "integrated")
"""In the order in which ties are decided."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A harness that a Proposer wrote: the files of its folder, which the host parses as data."""

    track: CandidateTrack | None
    files: Mapping[str, str]
    record: Mapping[str, Json] = field(default_factory=dict)
    """The edits, targeted failures, activation and stopping conditions, expected tool cost, regression risks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A protocol transformation that a Challenger wrote, in its JSON form, which the host parses as data."""

    form: Mapping[str, Json]
    suspected: tuple[str, ...] = ()
    """The observables that the harness is suspected to lean on."""
    traces: tuple[str, ...] = ()
    """Supporting traces, as paths in the history tree."""
    replay: Mapping[str, Json] = field(default_factory=dict)
    """Settings that replay it. Kept in the record."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why one answer of an agent cannot be used, told back to it."""

    place: int
    """Its place among the answers, from 0; as many as there are answers where one is missing."""
    name: str
    """What the agent may call it: its track, or its number."""
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeBounds:
    """The most that one episode of an agent can use."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    operators: int | None = None
    """Of a Challenger: most operators in a draft; None: as many as a transformation may have."""


@runtime_checkable
class HasBounds(Protocol):
    """An agent that says what an episode can use at most. Of any other a forecast says that this is unknown."""

    @property
    def bounds(self) -> EpisodeBounds: ...


class AnswersOnce:
    """An agent that asks no model, and has nothing to add when an answer is refused."""

    bounds = EpisodeBounds()

    async def revise(self, context: object, refused: Sequence[Refusal]) -> Sequence[Any]:
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EditSpace:
    """Which parts of a harness a Proposer may edit."""

    name: str
    description: str
    keys: tuple[str, ...]
    """Beginnings of the keys of a harness diff (`retrieval.`, `guidance/`, …); all if empty."""

    def allows(self, key: str) -> bool:
        return not self.keys or key.startswith(self.keys)


ALL_EDITS = EditSpace(name="all", description="every editable part of a harness", keys=())
DOCUMENT_EDITS = EditSpace(
    name="documents",
    description="document handling only: which files are preferred, opened and read on; no queries",
    keys=("retrieval.rank", "tools.", "guidance/"),
)
EDIT_SPACES: Mapping[str, EditSpace] = {space.name: space for space in (ALL_EDITS, DOCUMENT_EDITS)}


@dataclass(frozen=True, kw_only=True, slots=True)
class OperatorEffect:
    """What one operator of the allowlist does to what can be observed, measured on the fixed example."""

    operator: Mapping[str, Json]
    """Its JSON form: name and arguments."""
    touched: Mapping[str, float]
    """Observable → 1 less the rank correlation of before and after: 1 scrambled or made equal, 2 reversed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposerContext:
    """What a Proposer is given in a round."""

    history: Path
    """The root of the read-only history tree: see `agents/history.py`."""
    round: int
    current: str
    """The name of `H_{t-1}` in the tree."""
    initial: str
    benchmark: str
    """The base name that a harness must name."""
    epsilon: str | None
    """The tolerance of the archive's constraints (CHASE); None: there are none."""
    edit_space: EditSpace
    observables: Mapping[str, Observable]
    """By name: pure functions with their descriptions."""
    placeholders: Mapping[str, Placeholder]
    """What query templates may use."""
    bounds: HarnessBounds
    answer_form: AnswerForm
    tools: tuple[ToolSpec, ...]
    """The tools of the model as released: name, description, JSON schema of the arguments."""
    interface: ToolInterface
    """Which of them searches, opens and lists, and what a search can be told."""
    limits: Mapping[str, int]
    """Calls by group of tools, and in all under 'total'."""
    seed: int
    tracks: tuple[CandidateTrack, ...] = CANDIDATE_TRACKS
    """The tracks of the candidates that are due, one of each; empty: free ones, which may change everything."""
    candidates: int = len(CANDIDATE_TRACKS)
    """How many are due."""
    briefs: Mapping[str, Json] = field(default_factory=dict)
    """What the method tells beside the history, by name: reference trajectories, failure groups."""
    contracts: Mapping[str, str] = field(default_factory=dict)
    """What gates require of every candidate, by the gate's name: the same in all rounds, and a file of the history."""

    @property
    def constrained(self) -> bool:
        return self.epsilon is not None

    @property
    def integrate(self) -> bool:
        """Whether R³ makes an integrated candidate of those of the other tracks."""
        return "integrated" in self.tracks


@dataclass(frozen=True, kw_only=True, slots=True)
class ChallengerContext:
    """What a Challenger is given in a round."""

    history: Path
    round: int
    current: str
    """The name of `H_t` in the tree."""
    initial: str
    benchmark: str
    observables: Mapping[str, Observable]
    operators: tuple[Mapping[str, Json], ...]
    """The allowlist as data: name, version, summary, JSON schema of the arguments, protocol fields it changes."""
    effects: tuple[OperatorEffect, ...]
    tools: tuple[ToolSpec, ...]
    """The tools of the model as released."""
    proposals: int
    """How many to write."""
    evaluated: int
    """How many of them are evaluated at most: those that the host ranks first."""
    seed: int
    most_operators: int = MOST_OPERATORS
    """In one proposal."""
