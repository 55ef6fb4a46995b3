"""A run in one line: what a list of runs shows of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chase.core.errors import ChaseError, IntegrityError
from chase.models.config import embedded_note
from chase.runs.folder import RunFolder
from chase.runs.rendering import percent, points
from chase.store.lock import writer_pid
from chase.store.reader import Reader
from chase.store.records import Run
from chase.store.workspace import Workspace

SIMULATED = "simulated reader"
MEMBER = "compare-member"
"""The command of a run that belongs to a comparison."""
SHOWN_RUNS = 50
MALFORMED = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError)
"""What reading a record raises that is not as this version writes it."""
Found = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class RunHead:
    """What a run is, how far it is, and in a few words what came of it."""

    id: str
    command: str
    method: str | None
    benchmark: str
    model: str
    seed: str
    """One, or those of a comparison."""
    status: str
    """`running`, `paused`, `finished`, or `stopped`."""
    created_at: str
    conclusion: str
    note: str | None
    """What whoever reads its scores has to know: that the model is simulated, say."""

    @property
    def finished(self) -> bool:
        return self.status == "finished"

    @property
    def simulated(self) -> bool:
        return self.note is not None and self.note.startswith(SIMULATED)


@dataclass(frozen=True, kw_only=True)
class WantedRuns:
    """Which runs are asked for; what is None is not asked."""

    command: str | None = None
    method: str | None = None
    benchmark: str | None = None
    """The name, or its beginning, as is `model`."""
    model: str | None = None
    status: str | None = None
    members: bool = False
    """Whether the members of comparisons are listed too."""

    def takes(self, run: Run) -> bool:
        """Whether a run is one of them by its identity."""
        config = run.config
        if config.get("command") == MEMBER and not self.members and self.command != MEMBER:
            return False
        asked = ((self.command, config.get("command")), (self.method, config.get("method")))
        benchmark = str(config.get("benchmark", ""))
        return all(wanted in (None, known) for wanted, known in asked) and benchmark.startswith(self.benchmark or "")


def run_heads(store: Reader, wanted: WantedRuns | None = None, *, limit: int = SHOWN_RUNS) -> tuple[list[RunHead], int]:
    """The newest runs that are wanted, newest first, and how many there are in all. Results are read of those alone."""
    wanted, workspace = wanted or WantedRuns(), store.workspace
    chosen = [run for run in reversed(store.runs()) if isinstance(run.config, Mapping) and wanted.takes(run)]
    if wanted.status is not None:
        chosen = [run for run in chosen if state_of(workspace, run) == wanted.status]
    if wanted.model is not None:
        chosen = [run for run in chosen if model_of(workspace, run).startswith(wanted.model)]
    return [head_of(workspace, run) for run in chosen[:limit]], len(chosen)


def head_of(workspace: Workspace, run: Run) -> RunHead:
    """One run's."""
    return _head(workspace, run, model_of(workspace, run))


def state_of(workspace: Workspace, run: Run) -> str:
    """A run's status; `stopped` where it did not end and nobody is at work in the workspace."""
    return "stopped" if run.status == "running" and writer_pid(workspace) is None else run.status


def model_of(workspace: Workspace, run: Run) -> str:
    """The name of the model that rollouts ask: where the run's identity has a fingerprint alone, its settings know."""
    if isinstance(name := run.config.get("model"), str):
        return name
    folder = RunFolder(workspace, _parent(run) or run.id)
    try:
        known = folder.read_settings() if folder.has_settings else {}
        found = known if "model" in known or run.status != "finished" else folder.read_result()
        return str(found.get("model", ""))
    except ChaseError:
        return ""


def _parent(run: Run) -> str | None:
    """The comparison that a run belongs to."""
    found = run.config.get("of")
    return None if found is None else str(found)


def _head(workspace: Workspace, run: Run, model: str) -> RunHead:
    config = run.config
    seeds = config.get("seeds")
    return RunHead(
        id=run.id,
        command=str(config.get("command", "")),
        method=config.get("method"),
        benchmark=str(config.get("benchmark", "")),
        model=model,
        seed=", ".join(map(str, seeds)) if isinstance(seeds, list) else str(config.get("seed", "")),
        status=state_of(workspace, run),
        created_at=run.created_at,
        conclusion=_conclusion(workspace, run),
        note=embedded_note(model) if model else None,
    )


def _conclusion(workspace: Workspace, run: Run) -> str:
    """In a few words; of a run that is not over how far it came."""
    if run.status != "finished":
        return "not finished"
    try:
        return in_a_few_words(RunFolder(workspace, run.id).read_result())
    except (IntegrityError, *MALFORMED):
        return "its result cannot be read"


def in_a_few_words(found: Found) -> str:
    """What a result comes to: told by what it has."""
    if "verdict" in found:
        return f"{found['verdict']}, gain {points(found['g_rel']['value'])}"
    if "methods" in found or "members" in found:
        methods = f"{len(found['features'])} methods, {len(found['seeds'])} seeds"
        return methods if found["certified"] else f"{methods}, not certified"
    if "outcome" in found:
        return str(found["outcome"])
    if "score" in found:
        return percent(found["score"]["value"])
    return _of_evolution(found)


def _of_evolution(found: Found) -> str:
    final, certified = found.get("final"), found.get("certification")
    if final is None:
        return ""
    if not final["changes"]:
        return "H* is H_0"
    if certified is None:
        return f"H* = {final['name']}, not certified"
    word = (found.get("conclusion") or {}).get("word") or "gain"
    gain, least = certified["gains"]["released"]["value"], certified["g_min"]["value"]
    archived = f", {points(least)} left at worst" if found["archive"] else ""
    return f"{word} {points(gain)}{archived}"
