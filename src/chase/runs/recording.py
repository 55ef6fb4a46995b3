"""What happens in a run, written down as it happens: whoever looks from another process can follow it.

`events.jsonl` in the run's folder: a line for each event, with its time, its fields and its words. A run that goes on
after an interruption tells everything again from its beginning, so the lines after the last `RunBegun` are all of it.
It is for people; nothing that is computed reads it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from chase.core.errors import DiskError
from chase.core.events import Event
from chase.core.outside import NotPlain, parse_json
from chase.runs.listening import Building, Listener, Loading, RunBegun
from chase.runs.narration import lines, stage
from chase.store.workspace import RunFiles

if TYPE_CHECKING:
    from chase.engine.rollout import Job
    from chase.engine.runner import ScoredRollout

EVENTS = "events.jsonl"
PROGRESS = "progress"
"""The event of how far the evaluations under way have come."""
PROGRESS_SECONDS = 1.0
"""Between two lines of progress."""
MOST_BYTES = 64 * 2**20
"""Of a journal that is read; of a longer one the end is."""


class Recorder:
    """A listener that writes down what it hears and passes it on. A disk that is full does not end the run here."""

    def __init__(self, listener: Listener, files: RunFiles) -> None:
        self._listener = listener
        self._files = files
        self._total = self._done = self._reused = self._failed = 0
        self._written = float("-inf")

    def started(self, *, total: int, reused: int) -> None:
        self._total += total
        self._done += reused
        self._reused += reused
        self._listener.started(total=total, reused=reused)
        self._progress()

    def finished(self, scored: ScoredRollout) -> None:
        self._done += 1
        self._listener.finished(scored)
        self._progress()

    def failed(self, job: Job, reason: str, *, again: bool) -> None:
        self._failed += 1
        self._listener.failed(job, reason, again=again)
        self._progress()

    def told(self, event: Event) -> None:
        self._listener.told(event)
        if isinstance(event, Building | Loading):  # told often, and by other threads
            return
        if isinstance(event, RunBegun):
            self._total = self._done = self._reused = self._failed = 0
        else:
            self._progress(now=True)
        said = {"stage": stage(event), "lines": list(lines(event)), "data": asdict(event)}
        self._append({"event": type(event).__name__, **said})

    def _progress(self, *, now: bool = False) -> None:
        """At most once a second, but for what comes before another event."""
        if now or time.monotonic() - self._written >= PROGRESS_SECONDS:
            self._written = time.monotonic()
            counts = {"total": self._total, "done": self._done, "reused": self._reused, "failed": self._failed}
            self._append({"event": PROGRESS, **counts})

    def _append(self, line: Mapping[str, Any]) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            self._files.append(EVENTS, json.dumps({"at": at, **line}, default=str) + "\n")
        except DiskError:
            return  # the store says so itself, with what to do


def read_events(files: RunFiles) -> list[dict[str, Any]]:
    """What was written down since the run began or last went on; empty where nothing was."""
    path = files.path / EVENTS
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - MOST_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    found = list(_objects(text))
    begun = [number for number, event in enumerate(found) if event.get("event") == RunBegun.__name__]
    return found[begun[-1] :] if begun else found


_KINDS = {"at": str, "event": str, "data": dict, "lines": list}


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The whole lines; one that is being written, or that somebody damaged, is passed over."""
    for line in text.splitlines():
        try:
            found = parse_json(line)
        except NotPlain:
            continue
        event = {"data": {}, "lines": [], **found} if isinstance(found, dict) else {}
        if all(isinstance(event.get(name), kind) for name, kind in _KINDS.items()):
            yield event


def rounds_told(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What selections and Challengers came to so far, each as the result's rounds will have it."""
    parts = {
        "Selected": "selection",
        "FinalSelected": "selection",
        "EpochSelected": "selection",
        "Challenged": "challenger",
    }
    return [{parts[event["event"]]: event["data"]} for event in events if event["event"] in parts]
