"""How far a run has come, as another process sees it: from the store and from what the run writes down."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from chase.core.values import Usage
from chase.report.heads import state_of
from chase.runs.recording import PROGRESS
from chase.web.members import Standing, standings
from chase.web.viewer import Viewer, config_of

RECENT_SECONDS = 30.0
"""What a rate is taken over."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """Something that the run said."""

    at: str
    kind: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run has come."""

    run: str
    label: str
    state: str
    """`running`, `paused`, `finished`, or `stopped`: nobody is at work on it, and it did not end."""
    again: str | None
    """The command that goes on with it."""
    stage: str
    seconds: float
    done: int
    """Rollouts, those from the store included."""
    reused: int
    failed: int
    between: tuple[int, int] | None
    """How many there will be, at least and at most."""
    rate: float | None
    """Computed rollouts a second, of late."""
    spent: Usage
    unpriced: int
    """Requests with no known price."""
    members: tuple[int, int] | None
    """Of a comparison: how many evolutions have ended, and how many there are."""
    told: tuple[Told, ...] = ()
    standings: tuple[Standing, ...] = ()
    """Of a comparison: its evolutions, and what each decided last."""

    @property
    def under_way(self) -> bool:
        return self.state == "running"

    @property
    def seconds_left(self) -> tuple[float, float] | None:
        """At the rate of late, at least and at most."""
        if not self.under_way or not self.rate or self.between is None:
            return None
        least, most = (max(0, count - self.done) / self.rate for count in self.between)
        return least, most


@dataclass
class Tally:
    """What a run has spent so far: the ledger is read once, and from then on only what is new in it."""

    last: int = 0
    spent: Usage = field(default_factory=lambda: Usage(cost_usd=0.0))
    unpriced: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def update(self, viewer: Viewer, run: str) -> None:
        with self.lock:
            self.last, usage, unpriced = viewer.store.spent_since(run, self.last)
            self.unpriced += unpriced
            known = (self.spent.cost_usd or 0.0) + (usage.cost_usd or 0.0)
            total = self.spent + usage
            self.spent = Usage(
                requests=total.requests,
                input_tokens=total.input_tokens,
                cached_tokens=total.cached_tokens,
                output_tokens=total.output_tokens,
                wall_seconds=total.wall_seconds,
                cost_usd=known,
            )


class Follower:
    """Follows runs for any number of pages."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._tallies: dict[str, Tally] = {}

    def progress(self, reference: str) -> Progress:
        """How far a run is now."""
        run = self._viewer.run(reference)
        events = self._viewer.events(run)
        tally = self._tallies.setdefault(run.id, Tally())
        tally.update(self._viewer, run.id)
        begun = next((event for event in events if event["event"] == "RunBegun"), {})
        last: Mapping[str, Any] = next((event for event in reversed(events) if _is_progress(event)), {})
        said = begun.get("data", {})
        state, members = state_of(self._viewer.workspace, run), _members(events)
        return Progress(
            run=run.id,
            label=str(said.get("label") or config_of(run).get("benchmark") or ""),
            state=state,
            again=said.get("again") or f"chase {config_of(run).get('command')} --resume {run.id}",
            stage=_stage(events, state),
            seconds=_seconds(events, state),
            done=_count(last, "done") + _count(members or {}, "rollouts"),
            reused=_count(last, "reused"),
            failed=_count(last, "failed"),
            between=_between(said.get("rollouts")),
            rate=_rate(events) if state == "running" else None,
            spent=tally.spent,
            unpriced=tally.unpriced,
            members=None if members is None else (_count(members, "ended"), _count(members, "members")),
            told=tuple(_told(events)),
            standings=tuple(standings(self._viewer, run, state)),
        )


def _count(event: Mapping[str, Any], name: str) -> int:
    value = event.get(name, 0)
    return value if isinstance(value, int) else 0


def _between(found: Any) -> tuple[int, int] | None:
    match found:
        case [int(least), int(most)]:
            return least, most
    return None


def _stage(events: Sequence[Mapping[str, Any]], state: str) -> str:
    if state == "finished":
        return "finished"
    return next((str(event["stage"]) for event in reversed(events) if event.get("stage")), "beginning")


def _at(event: Mapping[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(str(event["at"]))
    except ValueError:
        return datetime.fromtimestamp(0, UTC)


def _seconds(events: Sequence[Mapping[str, Any]], state: str) -> float:
    """Since the run began or last went on, to its end."""
    if not events:
        return 0.0
    end = datetime.now(UTC) if state == "running" else _at(events[-1])
    return max(0.0, (end - _at(events[0])).total_seconds())


def _rate(events: Sequence[Mapping[str, Any]]) -> float | None:
    marks = [(_at(event), _count(event, "done") - _count(event, "reused")) for event in events if _is_progress(event)]
    if _members(events) is not None:  # evolutions beside each other are counted together
        told = [event for event in events if event["event"] == "MembersUnderWay"]
        marks = [(_at(event), _count(event["data"], "rollouts")) for event in told]
    now = datetime.now(UTC)
    before = [mark for mark in marks if (now - mark[0]).total_seconds() > RECENT_SECONDS]
    recent = [*before[-1:], *marks[len(before) :]]
    if len(recent) < 2:
        return None
    seconds = (recent[-1][0] - recent[0][0]).total_seconds()
    return (recent[-1][1] - recent[0][1]) / seconds if seconds > 0 else None


def _is_progress(event: Mapping[str, Any]) -> bool:
    return bool(event["event"] == PROGRESS)


def _members(events: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """How far all evolutions of a comparison have come together."""
    return next((event["data"] for event in reversed(events) if event["event"] == "MembersUnderWay"), None)


def _told(events: Sequence[Mapping[str, Any]]) -> list[Told]:
    """What was said in words, in order."""
    return [
        Told(at=str(event["at"]), kind=str(event["event"]), lines=tuple(map(str, event["lines"])))
        for event in events
        if event.get("lines")
    ]
