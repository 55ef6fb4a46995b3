"""Why did this task fail? What was expected and which evidence was not read, for the owner of a finished run.

Printed and never stored: nothing that an agent can read holds any of it. Of sealed tasks it is said only where the run
itself opened them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, HasEvidence
from chase.core.values import Json
from chase.store.records import Run, StoredRollout
from chase.store.store import Store


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What a rollout should have found."""

    expected: Json
    unread: Mapping[str, str] | None
    """Evidence document → what of it was not read; None where the benchmark does not say where evidence is."""


def require_owner(store: Store, run: Run) -> None:
    """Refuse whoever does not own the store, and a run that is not over: its agents may still be at work."""
    if hasattr(os, "getuid") and store.workspace.database.stat().st_uid != os.getuid():
        raise UserError(f"expected answers are for the owner of {store.workspace.database} alone.")
    if run.status != "finished":
        raise UserError(f"run '{run.id}' is not finished: expected answers are shown of finished runs alone.")


def explain(
    store: Store, run: Run, benchmark: Benchmark[Any], rollouts: Sequence[StoredRollout]
) -> dict[str, Explanation]:
    """Digest → explanation; of sealed tasks only where the run opened them, of another benchmark's none."""
    opened = bool(store.seals(run.id))
    found = {}
    for rollout in rollouts:
        key = rollout.key
        sealed = key.role in benchmark.sealed or key.task in _sealed_tasks(benchmark)
        if key.benchmark == benchmark.content_hash and (opened or not sealed):
            expected = benchmark.subject.answer(key.task)
            unread = None
            if isinstance(benchmark, HasEvidence):
                unread = _unread(benchmark.evidence(key.task), store.trace(rollout.trace_digest))
            found[rollout.digest] = Explanation(expected=expected, unread=unread)
    return found


def _sealed_tasks(benchmark: Benchmark[Any]) -> set[str]:
    return {task for role in benchmark.sealed for task in benchmark.tasks(role)}


def _unread(evidence: Mapping[str, int], trace: Mapping[str, Any]) -> dict[str, str]:
    """Evidence that was never opened, or not to its end, by the path that it was shown under."""
    paths: dict[str, str] = {}
    windows: dict[str, set[int]] = {}
    for event in trace.get("events", ()):
        for item in event.get("items", ()) if event["event"] == "tool" else ():
            paths.setdefault(item["id"], item["path"])
            if "window" in item:
                windows.setdefault(item["id"], set()).add(item["window"])
    unread = {}
    for document, count in evidence.items():
        read = len(windows.get(document, ()))
        if not read:
            unread[paths.get(document, document)] = "never opened" if document in paths else "never seen"
        elif read < count:
            unread[paths[document]] = f"{read} of {count} parts read"
    return unread
