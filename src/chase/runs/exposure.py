"""The ledger of confirmation tasks: which earlier runs of a harness's lineage have used the tasks of a run.

Derived from the rollouts that runs used; nothing is recorded for it. A run *judges* the harnesses that it evaluated,
except its baseline. Two runs are of one *lineage* if one judged a harness that the other evaluated, if one is the
repair of the other's audit, or if a chain of such runs connects them. A shared baseline alone connects nothing. Only
runs that were begun earlier count, so going on with a run changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from chase.core.values import Json
from chase.store.reader import Reader
from chase.store.records import Run

MOST_NAMED = 3
"""Earlier runs that a sentence names."""


@dataclass(frozen=True, kw_only=True)
class EarlierRun:
    """A run that used some of the tasks before."""

    run: str
    command: str
    tasks: int
    same_harness: bool
    """It evaluated the very harness; otherwise one of its lineage."""

    @property
    def text(self) -> str:
        return f"{self.run} of {'this harness' if self.same_harness else 'its lineage'}"

    def to_json(self) -> dict[str, Json]:
        return {"run": self.run, "command": self.command, "tasks": self.tasks, "same_harness": self.same_harness}


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """A run's tasks with the earlier runs of its lineage that used them."""

    per_task: Mapping[str, tuple[str, ...]]
    """Task → those runs, oldest first."""
    by: tuple[EarlierRun, ...]
    """Oldest first."""

    @property
    def tasks(self) -> int:
        return len(self.per_task)

    @property
    def seen(self) -> int:
        """Tasks that some earlier run used."""
        return sum(bool(runs) for runs in self.per_task.values())

    @property
    def text(self) -> str:
        """ "fresh", or "seen once by audit-ab12 of this harness"."""
        if not self.by:
            return "fresh"
        times = "once" if len(self.by) == 1 else "twice" if len(self.by) == 2 else f"{len(self.by)} times"
        named = [earlier.text for earlier in self.by[:MOST_NAMED]]
        if more := len(self.by) - len(named):
            named.append(f"{more} more")
        runs = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
        if self.seen == self.tasks and all(earlier.tasks == self.tasks for earlier in self.by):
            return f"seen {times} by {runs}"
        return f"{self.seen} of {self.tasks} seen by {runs}"

    def to_json(self) -> dict[str, Json]:
        return {
            "text": self.text,
            "tasks": self.tasks,
            "seen": self.seen,
            "by": [earlier.to_json() for earlier in self.by],
        }


def exposure_of(store: Reader, run: str, roles: Collection[str]) -> Exposure:
    """The exposure of the tasks of these roles that a run has used so far."""
    runs = _judging(store.runs(), run)
    own = runs[-1]
    used = store.harnesses_used([known.id for known in runs])
    lineage = _lineage(runs, used)
    seen = store.tasks_used([own.id, *(earlier.id for earlier in lineage)], roles)
    tasks = seen.get(own.id, set())
    shared = {earlier.id: tasks & seen.get(earlier.id, set()) for earlier in lineage}
    mine = _subject(own)
    return Exposure(
        per_task={task: tuple(name for name, common in shared.items() if task in common) for task in sorted(tasks)},
        by=tuple(
            EarlierRun(
                run=earlier.id,
                command=str(_config(earlier)["command"]),
                tasks=len(shared[earlier.id]),
                same_harness=mine in used.get(earlier.id, set()) - {_baseline(earlier)},
            )
            for earlier in lineage
            if shared[earlier.id]
        ),
    )


def _judging(runs: list[Run], run: str) -> list[Run]:
    """A run and the earlier ones on its benchmark that judge a harness against a baseline, oldest first."""
    place = next(place for place, known in enumerate(runs) if known.id == run)
    mine = _config(runs[place]).get("content_hash")
    before = [
        known for known in runs[:place] if _baseline(known) is not None and _config(known).get("content_hash") == mine
    ]
    return [*before, runs[place]]


def _lineage(runs: list[Run], used: Mapping[str, set[str]]) -> list[Run]:
    """The runs that are connected with the last one, without it."""
    *waiting, own = runs
    reached, lineage = [own], set[str]()
    while reached:
        known = reached.pop()
        new = [other for other in waiting if _connected(known, other, used)]
        waiting = [other for other in waiting if other not in new]
        lineage |= {other.id for other in new}
        reached += new
    return [known for known in runs if known.id in lineage]


def _connected(one: Run, other: Run, used: Mapping[str, set[str]]) -> bool:
    if one.id == _config(other).get("audit") or other.id == _config(one).get("audit"):
        return True
    evaluated = [used.get(run.id, set()) for run in (one, other)]
    judged = [found - {_baseline(run)} for run, found in zip((one, other), evaluated, strict=True)]
    return not judged[0].isdisjoint(evaluated[1]) or not judged[1].isdisjoint(evaluated[0])


def _config(run: Run) -> Mapping[str, Any]:
    return run.config if isinstance(run.config, Mapping) else {}


def _baseline(run: Run) -> str | None:
    """The harness that others are judged against; None for a run that judges nothing."""
    config = _config(run)
    return config.get("baseline") or config.get("initial")


def _subject(run: Run) -> str | None:
    """The harness that a run is about."""
    return _config(run).get("harness")
