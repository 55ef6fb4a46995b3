"""Every Protocol of the project. Each says who calls it, how often, what must be deterministic
and what a failure means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from chase.core.agents import Candidate, ChallengerContext, Draft, EpisodeBounds, ProposerContext, Refusal
from chase.core.controls import Controls
from chase.core.gate_facts import GateFacts
from chase.core.own_agents import Played, Posed
from chase.core.values import (
    AnswerForm,
    CheckResult,
    Defaults,
    HarnessBounds,
    Json,
    JudgeModel,
    Limits,
    Neutral,
    Origin,
    Placeholder,
    Presentation,
    Request,
    Sighting,
    ToolInterface,
    ToolResult,
    ToolSpec,
    Verdict,
    View,
)

State = TypeVar("State")
"""A benchmark's protocol state of one task: names, layout, order, serialization; no contents."""
Progress = Callable[[str], None]
"""Hears the name of each step of something long."""


class Observable(Protocol):
    """A named pure function of what was shown of a document.

    Called by the reader, the structural policies, the mining agents and `chase scan`, once for each
    document at each decision. Deterministic: the same `Sighting` gives the same number in every process.
    Returns None where the moment did not show what it needs (no listing yet, say); never raises.
    Nobody who calls it knows which observables are planted.
    """

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def origin(self) -> Origin:
        """A scan names what the author's files fix before what tools derive from it."""
        ...

    def __call__(self, shown: Sighting) -> float | None: ...


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
    def in_words(self) -> str:
        """What it does, for a person who knows the benchmark and not its operators: "file formats swapped"."""
        ...

    @property
    def seeded(self) -> bool:
        """Whether it draws from the seed; where not, the seed is no part of its canonical form."""
        ...

    def apply(self, state: State, *, seed: int) -> State: ...
    def inverse(self) -> Operator[State] | None:
        """The operator that undoes it, or None where it is not reversible."""
        ...


class OperatorKind(Protocol[State]):
    """What an allowlist holds: a name and typed arguments, from which operators are made.

    Called by whoever parses a proposal or lists what one may use. Deterministic. Its arguments are finite choices.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def summary(self) -> str: ...
    def schema(self) -> Json:
        """JSON schema of the arguments."""
        ...

    def choices(self) -> Mapping[str, Sequence[Json]]:
        """Each argument's values, all of them."""
        ...

    def forms(self) -> Sequence[Operator[State]]:
        """Every operator that this kind can make, once each."""
        ...

    def make(self, arguments: Mapping[str, Json]) -> Operator[State]:
        """The operator with these arguments, normalised; a `UserError` says what is wrong with them."""
        ...

    @property
    def neutral(self) -> Sequence[Neutral]:
        """Arguments that take from an aspect of the protocol what tells documents apart. The battery of an audit is
        made from these; none where the kind can only exchange one form for another.
        """
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
    def interface(self) -> ToolInterface:
        """Which of the tools is for what, under the names that this variant shows."""
        ...

    @property
    def limits(self) -> Limits: ...
    def call(self, tool: str, arguments: Mapping[str, Json]) -> ToolResult: ...
    def calls_left(self) -> Mapping[str, int]:
        """Calls left by group, and in all under 'total'."""
        ...

    def refusal(self, message: str) -> ToolResult:
        """A plain message to the agent, in the form of this variant's results. It is not counted."""
        ...


@runtime_checkable
class ShowsExamples(Protocol):
    """An environment with worked examples, in the order of its variant. The engine puts them at the end of the system
    prompt.
    """

    @property
    def examples(self) -> str:
        """The text; empty where there are none."""
        ...


class Benchmark(Protocol[State]):
    """A released benchmark `B_rel` with all that it brings: task sets, variants, tools, scorer, protocol. Host-side.

    Opened by name through `benchmarks/registry.py`, once a command, and held by the host only: a harness, a Proposer, a
    Challenger and a model get views, environments and plain data made from it, never the object. Everything is
    deterministic in the benchmark's name and data. Unknown tasks, roles and variants are `UserError`s that list the
    valid ones. Nothing outside its folder knows which benchmark it is.
    """

    # What it is

    @property
    def name(self) -> str:
        """With seed and size, e.g. `syn-ledger@7x40`."""
        ...

    @property
    def base(self) -> str:
        """The name without seed and size, which harnesses and transformations name."""
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
    def private_paths(self) -> Sequence[Path]:
        """Folders and files of this machine that hold answers: what it was read from or is kept in. Hidden from
        commands.
        """
        ...

    @property
    def defaults(self) -> Defaults: ...
    def validate(self, progress: Progress) -> Sequence[CheckResult]:
        """Every check of the construction, independent of any rollout. `progress` hears each check's name."""
        ...

    # Task sets

    @property
    def roles(self) -> Sequence[str]: ...
    @property
    def sealed(self) -> frozenset[str]:
        """The roles that nobody holds before a run's seal is opened: `cert`, and what is opened with it."""
        ...

    def tasks(self, role: str | None = None) -> Sequence[str]:
        """Opaque ids of the tasks of a role (of all roles), in an order that means nothing."""
        ...

    def role_of(self, task: str) -> str: ...
    def fewer(self, sizes: Mapping[str, int]) -> Self:
        """The same benchmark with at most so many tasks of a role, chosen by a hash: its rollouts are the same.

        A role that is not named, or of which there are fewer already, keeps those that it has.
        """
        ...

    # What an agent meets

    @property
    def limits(self) -> Limits: ...
    @property
    def tools(self) -> Sequence[ToolSpec]:
        """As released; a variant may show them under other names."""
        ...

    @property
    def interface(self) -> ToolInterface:
        """Which of the released tools is for what."""
        ...

    def view(self, task: str, transformation: Transformation[State]) -> View: ...
    def environment(self, task: str, transformation: Transformation[State]) -> Environment: ...
    def score(self, task: str, answer: str | None) -> float:
        """The score of a submitted answer, in [0, 1]. No answer is 0. A benchmark with a judge (`Judged`) refuses."""
        ...

    # What a harness for it is

    @property
    def initial(self) -> Mapping[str, str]:
        """The files of `H_0`."""
        ...

    @property
    def answer_form(self) -> AnswerForm: ...
    @property
    def bounds(self) -> HarnessBounds: ...
    @property
    def placeholders(self) -> Mapping[str, Placeholder]:
        """What query templates may use, in the order in which it is told."""
        ...

    def slots(self, question: str) -> Mapping[str, Sequence[str]]:
        """Values of the placeholders, read from the question's text alone."""
        ...

    @property
    def observables(self) -> Sequence[Observable]: ...
    @property
    def gate(self) -> GateFacts:
        """What the generalization gate has to know: all tasks with their answers, whatever was cut. Host-side. The same
        object each time.
        """
        ...

    # Its protocol

    def variants(self) -> Sequence[str]:
        """Names that `variant` takes beside archive entries and files; `released` is one."""
        ...

    def variant(self, name: str) -> Transformation[State]: ...
    @property
    def neutral(self) -> str | None:
        """The variant that is `B_0`, where it is known."""
        ...

    @property
    def allowlist(self) -> Mapping[str, OperatorKind[State]]:
        """The operators that a proposal may use."""
        ...

    @property
    def protocol_fields(self) -> frozenset[str]:
        """What a proposal may declare to change."""
        ...

    @property
    def subject(self) -> FirewallSubject[Any]:
        """What the firewall examines. The same object each time: it keeps what every proposal needs."""
        ...

    def controls(self) -> Controls:
        """What the firewall's self-test must accept, catch and refuse."""
        ...

    def sightings(self, task: str, transformation: Transformation[State]) -> Sequence[Sighting]:
        """What can be shown of each document: its places in listing and broad results, its first window.

        Of a large corpus: of the documents that a broad search for the question shows as released, the same documents
        under every transformation.
        """
        ...

    def pieces(self, shown: Sighting) -> Sequence[str]:
        """The pieces of content in a window: what is gone from it when an operator moves content elsewhere."""
        ...


@runtime_checkable
class HasStatistics(Protocol):
    """A benchmark that counts what its task sets hold: `chase bench stats`. The JSON is its own."""

    def statistics(self) -> Mapping[str, Json]: ...
    def statistics_table(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        """The same for people: title, headings, rows."""
        ...


@runtime_checkable
class Exportable(Protocol[State]):
    """A benchmark that can be written as files from which anyone can check it, answers included."""

    def export(
        self, transformation: Transformation[State], tasks: Sequence[str], folder: Path, progress: Progress
    ) -> Mapping[str, int]:
        """Write these tasks, and of all others nothing, into an empty folder; how many of what were written."""
        ...


@runtime_checkable
class BuildsLater(Protocol):
    """A benchmark that builds what is first needed under some variant: an index, say."""

    def tell_of_building(self, tell: Progress) -> None:
        """From now on `tell` hears each step of whatever is built."""
        ...


@runtime_checkable
class HasTaskLabels(Protocol):
    """A benchmark that can say more of a task than its role: `chase bench show`. For people, never for an agent."""

    def task_labels(self, task: str) -> Mapping[str, str]: ...


@runtime_checkable
class HasEvidence(Protocol):
    """A benchmark that knows where its answers stand: `chase trace list --expected`. For the host's owner, never for an
    agent.
    """

    def evidence(self, task: str) -> Mapping[str, int]:
        """Ids of the documents that hold the answer → in how many parts each is shown."""
        ...


@runtime_checkable
class HasEvidenceWindows(Protocol[State]):
    """A benchmark that knows in which windows of a document its evidence stands: `chase scan`. For the host's owner."""

    def evidence_windows(self, task: str, transformation: Transformation[State]) -> Mapping[str, Sequence[bool]]:
        """Ids of the documents that hold the answer → of each window in its order, whether evidence stands in it."""
        ...


@runtime_checkable
class HasClusters(Protocol):
    """A benchmark that knows which of its tasks belong together: they share a source, say, so that chance may treat
    them alike. Every interval takes clusters, not tasks, for independent. Host-side, never for an agent.
    """

    def clusters(self) -> Mapping[str, str]:
        """Task → the name of its cluster, of all roles together; a task that is not named is one of its own. The same
        in every process and for every cut, and a name tells nothing of what the tasks share.
        """
        ...


class Judge(Protocol):
    """A language model that scores answers, connected. Host-side: it is told the answers that are expected.

    Called by the runner, in the process that writes the store, once for each `case` of which the store has no verdict;
    several at a time. It need not be deterministic: a verdict is kept, and the same case is not judged again. A reply
    that cannot be read is asked for once more; then, and where the model cannot be reached, it is a `RolloutError`,
    never a score.
    """

    @property
    def fingerprint(self) -> str:
        """The digest of all that decides a verdict but the case: the model as connected, the prompt, the version."""
        ...

    @property
    def bounds(self) -> EpisodeBounds:
        """What one verdict can use at most."""
        ...

    def case(self, task: str, answer: str) -> str:
        """The digest of the fingerprint, the question, the expected answer and this one."""
        ...

    async def judge(self, task: str, answer: str, paid: list[Request]) -> Verdict:
        """The verdict on an answer. `paid` is filled as replies come, so that the caller knows what was paid for."""
        ...


@runtime_checkable
class Judged(Protocol):
    """A benchmark that can have a judge in place of a function that scores.

    Scoring stays a pure function of the host for everything else. A verdict takes a request to a model, which can fail,
    costs money and belongs into the ledger and under the caps: so the one who awaits it is the runner, which has the
    store, and `Benchmark.score` refuses.
    """

    @property
    def asks(self) -> JudgeModel | None:
        """Whom it wants to be judged by; None where it scores by itself."""
        ...

    @property
    def judge(self) -> Judge | None:
        """Once it is connected."""
        ...

    def judged_by(self, model: Any) -> Self:
        """The same benchmark with its judge connected: `model` is the `ChatModel` of `asks`."""
        ...

    def unasked(self, task: str, answer: str | None) -> float | None:
        """The score of an answer that nobody is asked about: 0 of none or a blank one; None: the judge is asked."""
        ...

    def states(self, task: str, text: str) -> bool:
        """Whether a text is the expected answer word for word, case and white space aside."""
        ...


class FirewallSubject(Protocol[State]):
    """What a benchmark supplies to the validity firewall: states, a canonicaliser, fixtures. Host-side.

    Called by the firewall a few times for each unit and proposal. A unit is a task or what tasks share, such as a
    corpus: that is examined once, not once for each task. Everything is deterministic. What cannot be brought into
    canonical form (a document that does not parse) shows as missing contents, never as an exception.
    """

    @property
    def shared(self) -> Sequence[str]:
        """Units that hold what all tasks share; none where every task owns its documents."""
        ...

    @property
    def check_tasks(self) -> Sequence[str]:
        """The fixed validity-check set, in an order decided by a hash: the first is the fixed example."""
        ...

    def state(self, unit: str) -> State:
        """The unit's released state."""
        ...

    def exchanged(self, unit: str, other: str) -> State:
        """The unit's protocol with another one's question, contents, labels and fresh document ids.

        What is shared is exchanged with itself: its contents change places.
        """
        ...

    def released(self, unit: str) -> Presentation:
        """The unit's released state, presented: the same for every proposal, so it may be kept."""
        ...

    def present(self, state: State) -> Presentation: ...
    def protocol(self, state: State) -> Mapping[str, Mapping[str, Json]]:
        """Document id → its protocol fields in a fixed order; those of the tools under `INTERFACE`."""
        ...

    def answer(self, unit: str) -> Json:
        """The ground-truth answer; None for what is shared."""
        ...

    def newly_shown(self, unit: str, before: Presentation, after: Presentation) -> bool:
        """Whether the answer (for what is shared, that of a check task) can be read in `after` and not in `before`."""
        ...

    def lift(self, operator: Operator[Any]) -> Operator[State]:
        """An operator of the allowlist on the states that are examined here."""
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


@runtime_checkable
class OwnAgent(Protocol):
    """An agent that is no harness around a model: it plays a rollout by itself, in a harness's place.

    `play` is called by the engine once a rollout, several at a time. It need not be deterministic. What the agent
    causes (no answer, a limit that it reached) is in what it returns; a `RolloutError` is the machine's failing, and is
    tried again. It gets what was posed and never the benchmark.
    """

    @property
    def hash(self) -> str:
        """Covers everything that decides what it does and that its owner declared."""
        ...

    def describe(self) -> Mapping[str, Json]:
        """What it is, for records and people."""
        ...

    async def play(self, posed: Posed) -> Played: ...
