"""Feedback from traces: how rollouts failed, and what goes with success. Observations, not hypotheses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chase.agents.reading import Reading, ranks
from chase.core.interfaces import Observable
from chase.core.values import Sighting
from chase.stats.estimates import z_score

ANSWERED_AS: Mapping[str, str | None] = {
    "hook failure": None,
    "limit reached": "no answer",
    "wrong query": "nothing matched",
    "not opened": "not found",
    "not read on": "left unread",
    "nothing matched": "nothing matched",
    "left unread": "left unread",
    "malformed answer": "no answer",
    "no answer": "no answer",
    "wrong answer": "wrong",
}
"""Cause of a failure group → the kind of failure that edits answer; None: no edit does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What the traces of one harness say."""

    failures: Mapping[str, float]
    """Kind of failure → its share among rollouts."""
    success: float
    leads: Mapping[str, float]
    """Observable → how much lower (−) or higher (+) the documents that led to success are, in standard errors."""
    bounds: Mapping[str, tuple[float, float]]
    """Observable → its low and high quartile over documents seen."""


def diagnose(readings: Sequence[Reading], observables: Mapping[str, Observable]) -> Diagnosis:
    """Proactive: how the harness makes the model behave. Hindsight: which behaviour goes with success or failure."""
    kinds: Counter[str] = Counter(kind for reading in readings if reading.score < 1 for kind in failure_kinds(reading))
    return Diagnosis(
        failures={kind: count / len(readings) for kind, count in kinds.items()},
        success=sum(reading.score for reading in readings) / len(readings),
        leads={name: _lead(observable, readings) for name, observable in observables.items()},
        bounds=quartiles([shown for reading in readings for shown in reading.seen.values()], observables),
    )


def told_failures(told: Mapping[str, Any]) -> dict[str, float]:
    """Kind of failure → its share among executions, as a method's failure groups say. They know more than a trace:
    what a reference did that the execution did not.
    """
    found: Counter[str] = Counter()
    for group in told["groups"]:
        if kind := ANSWERED_AS.get(group["cause"]):
            found[kind] += group["failures"]
    return {kind: count / told["executions"] for kind, count in found.items()}


def failure_kinds(reading: Reading) -> Iterable[str]:
    """What went wrong in a failed rollout, as far as it can be seen. Several may hold."""
    if reading.answered:
        yield "wrong"
        return
    yield "no answer"
    yield "not found"
    if reading.unfinished:
        yield "left unread"
    if not any(reading.coverages):
        yield "nothing matched"


def _lead(observable: Observable, readings: Sequence[Reading]) -> float:
    """Documents that successes opened against those they saw and left alone, by rank, as a z score.

    The agent's own taste is in it too: a miner takes what goes with success, whatever it comes from.
    """
    differences = []
    for reading in readings:
        if reading.score < 1:
            continue
        place = ranks(observable, reading.seen.values())
        opened = [place[d] for d in reading.opened if d in place]
        left = [rank for document, rank in place.items() if document not in reading.opened]
        if opened and left:
            differences.append(sum(opened) / len(opened) - sum(left) / len(left))
    return z_score(differences)


def quartiles(documents: Sequence[Sighting], observables: Mapping[str, Observable]) -> dict[str, tuple[float, float]]:
    """The low and the high quartile of each observable that differs between documents."""
    bounds = {}
    for name, observable in observables.items():
        values = sorted(value for shown in documents if (value := observable(shown)) is not None)
        if len(set(values)) > 1:
            bounds[name] = (values[len(values) // 4], values[3 * len(values) // 4])
    return bounds
