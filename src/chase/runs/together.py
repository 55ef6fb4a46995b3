"""Many evolutions at a time, heard as one: how many have ended, and how many rollouts were computed."""

from __future__ import annotations

import time

from chase.core.events import Event
from chase.engine.rollout import Job
from chase.engine.runner import ScoredRollout
from chase.runs.listening import Listener, MemberEnded, MembersUnderWay

PROGRESS_SECONDS = 2.0


class Together:
    """Hears of many evolutions at a time, and says how far all have come."""

    def __init__(self, listener: Listener, members: int) -> None:
        self._listener = listener
        self._members = members
        self._ended = self._rollouts = 0
        self._begun = self._said = time.monotonic()

    def started(self, *, total: int, reused: int) -> None: ...

    def finished(self, scored: ScoredRollout) -> None:
        self._rollouts += 1
        if time.monotonic() - self._said >= PROGRESS_SECONDS:
            self._say()

    def failed(self, job: Job, reason: str, *, again: bool) -> None:
        self._listener.failed(job, reason, again=again)

    def told(self, event: Event) -> None:
        if isinstance(event, MemberEnded):
            self._ended += 1
            self._listener.told(event)
            self._say()

    def _say(self) -> None:
        self._said = time.monotonic()
        self._listener.told(
            MembersUnderWay(
                ended=self._ended, members=self._members, rollouts=self._rollouts, seconds=self._said - self._begun
            )
        )
