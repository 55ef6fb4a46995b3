"""Who hears of a run as it goes on: rollouts as they finish, and events from its beginning to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from chase.core.events import Event
from chase.core.values import Json

if TYPE_CHECKING:
    from chase.engine.rollout import Job
    from chase.engine.runner import ScoredRollout


@dataclass(frozen=True, kw_only=True)
class Building(Event):
    """A benchmark that takes a while, or a part of it, is still being built. Told often, perhaps by another thread."""

    benchmark: str
    step: str = "please wait"


@dataclass(frozen=True, kw_only=True)
class Scanning(Event):
    """A benchmark is being scanned. Told often."""

    benchmark: str
    step: str


@dataclass(frozen=True, kw_only=True)
class Loading(Event):
    """A model on this machine is being hashed or loaded, and it takes a while. Told by another thread."""

    message: str


@dataclass(frozen=True, kw_only=True)
class RunBegun(Event):
    """A run begins, or goes on."""

    command: str
    run: str
    label: str
    """What is under way, in a few words."""
    again: str | None
    """The command that goes on with it after an interruption; None: the same command does."""
    config: Mapping[str, Json]
    """What it is."""
    rollouts: tuple[int, int] | None = None
    """How many it takes at least and at most, where that is known."""


@dataclass(frozen=True, kw_only=True)
class Outage(Event):
    """A model's endpoint is away, or back."""

    message: str


@dataclass(frozen=True, kw_only=True)
class MemberEnded(Event):
    """A method of a comparison has come to its end in one seed."""

    method: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class MembersUnderWay(Event):
    """How far a comparison has come. Told every few seconds."""

    ended: int
    members: int
    rollouts: int
    """That were computed so far."""
    seconds: float


@dataclass(frozen=True, kw_only=True)
class RunInterrupted(Event):
    """Somebody stopped the run. What was finished is saved."""

    again: str | None
    """The command that goes on with it; None: the same command does."""


@dataclass(frozen=True, kw_only=True)
class RunEnded(Event):
    """The run is over, whatever came of it."""

    run: str


@runtime_checkable
class Listener(Protocol):
    """Hears of a run. Called on the run's event loop, which may be in a thread of its own; must return at once.

    `started`, `finished` and `failed` are the runner's (`engine.runner.Progress`), for each of many evaluations.
    Events are those of `core.events` and of this file; one that is not known is passed over.
    """

    def started(self, *, total: int, reused: int) -> None: ...
    def finished(self, scored: ScoredRollout) -> None: ...
    def failed(self, job: Job, reason: str, *, again: bool) -> None: ...
    def told(self, event: Event) -> None: ...


class Silent:
    """Hears nothing. A listener of one's own may inherit from it and hear what it wants."""

    def started(self, *, total: int, reused: int) -> None: ...
    def finished(self, scored: ScoredRollout) -> None: ...
    def failed(self, job: Job, reason: str, *, again: bool) -> None: ...
    def told(self, event: Event) -> None: ...
