"""A run on stderr as it goes on: rollouts that finish, what agents and methods do, outages."""

from __future__ import annotations

from chase.cli.output import Steps
from chase.cli.progress import RolloutProgress, clear_line, say_aside
from chase.core.events import Event
from chase.engine.rollout import Job
from chase.engine.runner import ScoredRollout
from chase.runs.listening import Building, Loading, MembersUnderWay, RunBegun, RunEnded, Scanning
from chase.runs.narration import lines, stage


class Watch:
    """Says on stderr what a run does: one live line on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        self._progress = RolloutProgress("")
        self._steps = Steps("")
        self._members = Steps("", plain_seconds=10.0)

    def started(self, *, total: int, reused: int) -> None:
        self._progress.started(total=total, reused=reused)

    def finished(self, scored: ScoredRollout) -> None:
        self._progress.finished(scored)

    def failed(self, job: Job, reason: str, *, again: bool) -> None:
        self._progress.failed(job, reason, again=again)

    def told(self, event: Event) -> None:
        if isinstance(event, Building):
            self._steps(f"building {event.benchmark}: {event.step}")
        elif isinstance(event, Scanning):
            self._steps(f"scanning {event.benchmark}: {event.step}")
        elif isinstance(event, MembersUnderWay):
            rate = event.rollouts / max(event.seconds, 1e-6)
            self._members(f"{event.ended} of {event.members} evolutions, {event.rollouts} rollouts, {rate:.0f}/s")
        elif isinstance(event, Loading):
            self._steps(event.message)
        elif isinstance(event, RunEnded):
            clear_line()
        elif isinstance(event, RunBegun):
            # An evolution and a repair make many short evaluations and tell what they are for.
            label = event.run if event.command == "evolve" else event.label
            self._progress = RolloutProgress(label, brief=event.command in ("evolve", "repair"))
        if (under_way := stage(event)) is not None:
            self._progress.label = under_way
        for line in lines(event):
            say_aside(line)
