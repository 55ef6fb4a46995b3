"""What happens in a run, told as it happens. Each event is plain data; whoever listens must return at once.

Listeners dispatch on the type and pass over what they do not know: a method may tell events of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from chase.core.values import Json


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened."""


Tell = Callable[[Event], None]
"""Hears of events."""


def ignore(event: Event) -> None:
    """Hears nothing."""


# Of an evolution


@dataclass(frozen=True, kw_only=True)
class RoundStarted(Event):
    round: int
    rounds: int | None
    """How many there will be, where that is known."""
    current: str
    """The harness that it starts from."""
    archive: tuple[str, ...]
    """Names of the variants in force."""


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """That a harness was not evaluated in full: how far it was, and why no further."""

    after: int
    """Episodes."""
    of: int
    """Episodes in full."""
    tasks: Mapping[str, int]
    """Variant → tasks that it was evaluated on."""
    why: str
    """`beaten` or `infeasible`."""
    by: str
    """The harness that was selected, or the constraint that is broken."""
    bound: float
    """Beaten: the most by which it ends above the selected one. Infeasible: the least that its gain destruction ends
    at."""
    certain: bool
    """Whether that holds whatever is missing; else it is very likely."""


@dataclass(frozen=True, kw_only=True)
class PoolEntry:
    """A harness that could be selected. What is not known on all tasks is left out."""

    harness: str
    hash: str
    released: float | None
    gain: float | None
    destruction: Mapping[str, float]
    violates: Mapping[str, float | None]
    """What keeps it from being selected → how far it is beyond what is allowed, where that is a number."""
    stopped: Stopped | None = None
    """Of one that was not evaluated in full."""


@dataclass(frozen=True, kw_only=True)
class Selected(Event):
    """`H_t` of a round."""

    round: int
    pool: tuple[PoolEntry, ...]
    selected: str
    refused: tuple[str, ...]
    """Candidates that were not evaluated, each with its reason."""


@dataclass(frozen=True, kw_only=True)
class RepairStarted(Event):
    """A harness scores more than what is selected and breaks a constraint; its edits are tried without (beyond the
    paper).
    """

    round: int | None
    """None: the final selection's."""
    of: str
    breaks: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Repaired(Event):
    """What came of it."""

    round: int | None
    of: str
    repaired: str | None
    """The name of the repaired harness; None where no form of it keeps all constraints and scores more."""
    dropped: tuple[str, ...]
    generalised: tuple[str, ...]
    tried: int
    """Forms of the harness that were tried."""
    cells: int
    """New cells: one form under one variant."""


@dataclass(frozen=True, kw_only=True)
class FinalSelected(Event):
    """`H*`."""

    pool: tuple[PoolEntry, ...]
    selected: str


@dataclass(frozen=True, kw_only=True)
class DraftsReceived(Event):
    """The Challenger has answered; the screens come next."""

    round: int
    count: int


@dataclass(frozen=True, kw_only=True)
class ChallengeSkipped(Event):
    round: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Challenged(Event):
    """A Challenger round has ended: what was screened, evaluated and frozen, each as in the run's record."""

    round: int
    proposals: Sequence[Mapping[str, Json]]
    evaluated: Sequence[Mapping[str, Json]]
    frozen: Mapping[str, Json] | None


@dataclass(frozen=True, kw_only=True)
class Confirmed(Event):
    """A frozen transformation was checked and measured on fresh tasks; whether it holds there is in `confirmed`."""

    round: int
    role: str
    destruction: Mapping[str, Json] | None
    """An estimate; None where checks fail: then nothing was measured."""
    eta: str
    by_noise: float | None
    """How often noise alone would reach η; None where it is not known."""
    failed: tuple[str, ...]
    """Checks of the firewall that fail on these tasks."""
    confirmed: bool
    test: Mapping[str, Json] | None = None
    """Of a calibrated confirmation: its error, looks and power."""
    stopped: Mapping[str, Json] | None = None
    """Of one that could not reach η any more: after how many episodes of how many, and the most that it could come
    to."""


@dataclass(frozen=True, kw_only=True)
class ConfirmationPlanned(Event):
    """What a calibrated confirmation can be expected to find, before anything is run."""

    effect: float
    alpha: float
    """Of a round."""
    tasks: int
    rollouts: int
    power: float
    tasks_needed: int
    """For a power of 80 %."""
    mean_power: float
    """The same for the lower bound of the mean."""
    mean_tasks_needed: int


@dataclass(frozen=True, kw_only=True)
class ConfirmationSkipped(Event):
    """What was frozen is not put to the test."""

    round: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class PlacebosTested(Event):
    """Variants without an effect went through the same confirmation."""

    round: int
    role: str
    placebos: Sequence[Mapping[str, Json]]
    """Each with its name, its gain destruction and whether it would be confirmed."""


@dataclass(frozen=True, kw_only=True)
class Archived(Event):
    round: int
    name: str
    what: str


# Of an evolution in epochs and batches


@dataclass(frozen=True, kw_only=True)
class EpochStarted(Event):
    """The training tasks were cut anew."""

    epoch: int
    epochs: int
    batches: tuple[int, ...]
    """Tasks in each."""
    current: str
    """The harness that it starts from."""


@dataclass(frozen=True, kw_only=True)
class FailuresGrouped(Event):
    """The current harness was executed on a batch: reference trajectories and failures, as in the run's record."""

    round: int
    tasks: int
    references: Mapping[str, int]
    """How many tasks have one (`admitted`), and how many are left with their failed trajectory (`fallback`)."""
    groups: Sequence[Mapping[str, Json]]


@dataclass(frozen=True, kw_only=True)
class EpochSelected(Event):
    """What held-out tasks selected from all harnesses that were accepted so far."""

    epoch: int
    pool: tuple[PoolEntry, ...]
    selected: str


# Of an agent at work


@dataclass(frozen=True, kw_only=True)
class AgentReplied(Event):
    """A reply of an agent's model."""

    purpose: str
    """What the agent is for: 'propose' or 'challenge'."""
    model: str
    request: int
    """Its place in the episode, from 1."""
    calls: tuple[str, ...]
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, kw_only=True)
class AgentWaiting(Event):
    """An agent has been at work for a while."""

    purpose: str
    what: str
    seconds: int


# Of an audit


@dataclass(frozen=True, kw_only=True)
class CertificationStarted(Event):
    """Everything is fixed and recorded; the sealed tasks are opened."""

    tasks: int


@dataclass(frozen=True, kw_only=True)
class AuditSearchStarted(Event):
    round: int


@dataclass(frozen=True, kw_only=True)
class AuditSearched(Event):
    """What a round of search tried, each as in the audit's record."""

    round: int
    tried: Sequence[Mapping[str, Json]]


@dataclass(frozen=True, kw_only=True)
class AuditPlanned(Event):
    shows: str
    """The gain and the gain destruction that the tasks can show, in words."""


@dataclass(frozen=True, kw_only=True)
class AuditBatteryStarted(Event):
    probes: int
    covers: str
    """The aspects that are neutralised, in words."""
    tasks: int


@dataclass(frozen=True, kw_only=True)
class AuditConfirmationStarted(Event):
    transformations: int
    tasks: int


@dataclass(frozen=True, kw_only=True)
class AuditAttributionStarted(Event):
    edits: int
    harnesses: int
    """Mixtures of harness and baseline that are run."""
    variants: int
    """Counterfactuals that they are run under, beside the released benchmark."""


# Of the repair of an audited harness


@dataclass(frozen=True, kw_only=True)
class ShortcutShown(Event):
    """The counterfactuals under which the harness does not keep its gain, on the search tasks."""

    breaks: Mapping[str, float]
    """Name → gain destruction that the base rate does not explain."""
    shortcuts: tuple[str, ...] = ()
    """Edits that the audit called shortcuts."""
    parts: int
    """Edits of the harness that may be taken out."""


@dataclass(frozen=True, kw_only=True)
class RepairMeasurementStarted(Event):
    harnesses: int
    tasks: int
