"""The values that cross folder boundaries. Frozen, keyword-only, plain data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Json = Any
"""A value that JSON can carry."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sighting:
    """What an agent was shown of one document at one moment. The only input of an observable."""

    id: str
    path: str
    listing: int | None = None
    """Place in the last listing, from 0."""
    listing_of: int | None = None
    hit: int | None = None
    """Place in the search result, from 0."""
    hit_of: int | None = None
    matches: bool | None = None
    """Of a hit: whether it matches the whole query, where the result says so."""
    window: int | None = None
    """Which window of the document the text is, from 0. Where ranges are read: which of those that were read so far."""
    text: str | None = None
    fields: Mapping[str, Json] = field(default_factory=dict, hash=False)
    """What a structured result says of it, under the names that the variant shows."""


Origin = Literal["files", "tools"]
"""The origin of an observable: the author's files fix it (name, folder, format, text), or tools derive it from them
(a place in a listing or in results)."""
ORIGINS: tuple[Origin, ...] = ("files", "tools")
"""Cause before symptom."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Neutral:
    """Arguments of an operator that take from one aspect of the protocol what tells documents apart by it."""

    aspect: str
    """In words, as a verdict names it: "folder depths"."""
    low: Mapping[str, Json]
    high: Mapping[str, Json]
    """The other level; the same as `low` where there is none."""
    equal: bool = True
    """All documents are alike afterwards. False: values are drawn anew, so several draws are needed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultItem:
    """One document's part of a tool result: what was shown and how it reads."""

    shown: Sighting
    line: str | None = None
    """How it reads in a result made of lines; None: as the JSON object of its fields."""
    opens: Mapping[str, Json] | None = field(default=None, hash=False)
    """Of a hit: the arguments of the call that opens the document where it was found; None: at its beginning."""

    @property
    def text(self) -> str:
        return self.line if self.line is not None else json.dumps(self.shown.fields, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonLayout:
    """How a result reads as one JSON object: under which keys its message and its items stand."""

    items: str = "results"
    message: str = "message"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """What a tool answered. `text` is all that the model gets to read."""

    head: str
    items: tuple[ResultItem, ...] = ()
    ok: bool = True
    coverage: int | None = None
    """Of a search: how many results, shown or not, match the whole query."""
    reads_on: Mapping[str, Json] | None = None
    """Of an opening: the arguments of the call that reads on; None where there is nothing more."""
    layout: JsonLayout | None = None
    """None: the head and the items, line by line."""

    @property
    def text(self) -> str:
        if self.layout is None:
            return "\n".join([*([self.head] if self.head else []), *(item.text for item in self.items)])
        shown: dict[str, Json] = {self.layout.message: self.head} if self.head else {}
        if self.items:
            shown[self.layout.items] = [item.shown.fields for item in self.items]
        return json.dumps(shown, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSpec:
    """A tool operation as the model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    """JSON schema of the arguments."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchArgument:
    """The argument by which a search is told what a hit must match: all words of the query, or any of them."""

    argument: str
    all: str
    """Its value for all words."""
    any: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchTool:
    """The tool that finds documents by words."""

    tool: str
    query: str
    """Its argument for the words."""
    limit: str | None = None
    """Its argument for how many results are shown, where it has one."""
    match: MatchArgument | None = None
    """How it is told what must match; None: it cannot be told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenTool:
    """The tool that shows what is in a document, window by window. Its result says how to read on."""

    tool: str
    document: str
    """Its argument for the document's id."""
    unit: str = "file"
    """What messages call a document."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolInterface:
    """Which tool is for what, under the names of one variant. What is None, a benchmark does not have."""

    search: SearchTool | None = None
    open: OpenTool | None = None
    listing: str | None = None
    """The tool that lists all documents. It needs no arguments."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerForm:
    """The form of an answer, and what the model is told of it."""

    name: str
    """As `harness.toml` names it."""
    instruction: str
    """Stands in every system prompt."""
    repair: str
    """Sent back with an answer that does not fit, where the harness repairs."""
    pattern: str
    """A regular expression that the whole of a fitting answer matches."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Placeholder:
    """A part of a query template that is filled in from the question."""

    description: str
    each: bool = False
    """Whether a template makes one query for each of its values; else the first is taken."""
    tells_tasks_apart: bool = True
    """Whether its values are blanked out before guidance looks for words in a question."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HarnessBounds:
    """What a harness for a benchmark may say at most. In the paper checks of the generalization gate."""

    results: int
    """Results that a search shows."""
    opened: int
    """Different documents that are opened, also before the model's first turn."""
    reserved_reads: int
    templates: int
    """Query templates in `templates` and `rewrites` together."""


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
    """A document as an agent finds it. Its text is made when it is asked for: a corpus does not fit into memory."""

    id: str
    path: str
    read: Callable[[], str] = field(repr=False)

    @property
    def text(self) -> str:
        return self.read()

    def __eq__(self, other: object) -> bool:
        """Documents are the same if their texts are."""
        if not isinstance(other, FileView):
            return NotImplemented
        return (self.id, self.path) == (other.id, other.path) and self.text == other.text

    def __hash__(self) -> int:
        return hash((self.id, self.path))


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """Everything of one task that an agent can observe under one variant, in listing order."""

    task: str
    question: str
    files: tuple[FileView, ...]


INTERFACE = "(tools)"
"""Where the fields of the tool interface stand among those of documents."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Presentation:
    """One task's state as an agent would meet it, in a form that the validity firewall can compare. Host-side."""

    question: str
    answer: Json
    """Recomputed from what is presented; None where that is not possible."""
    contents: Mapping[str, Sequence[Json] | None]
    """Document id → its pieces of content in a canonical order; None where it cannot be read."""
    tokens: frozenset[Json]
    """What can be read anywhere in the view, as the benchmark's own answer check compares it."""
    access: Json
    """Tool operations in their canonical names, limits, and how each document can be reached."""
    scoring: Json
    """The scorer's verdicts on fixed outputs, and its identity."""
    protocol: Mapping[str, Mapping[str, Json]]
    """Document id (or `INTERFACE`, for the tools) → protocol field → value."""
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
    typical: TypicalRollout | None = None
    """What a rollout takes, where it was measured: for forecasts in an empty store."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TypicalRollout:
    """What one rollout takes on average, and how that is known."""

    source: str
    measured: int
    """Rollouts that it was measured on."""
    requests: float
    input_tokens: float
    cached_tokens: float
    output_tokens: float

    @property
    def tokens(self) -> float:
        return self.input_tokens + self.output_tokens


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


UNJUDGED = "unjudged"
"""How the reason of a rollout begins that was played to its end and whose answer its judge has not seen."""


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
class Request:
    """One request to a model, as the ledger has it."""

    usage: Usage
    served_model: str


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeModel:
    """The language model that a benchmark wants its answers judged by."""

    name: str
    settings: Mapping[str, Json]
    """They win over those that a config file has for the model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a judge said of an answer."""

    score: float
    """In [0, 1]."""
    reply: str
    """As the judge wrote it. It may quote the answer that is expected: it is for the host's owner alone."""


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
