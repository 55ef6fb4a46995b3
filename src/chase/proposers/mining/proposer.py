"""The mining Proposer: estimates from traces what goes with success, and writes three candidates.

A "bad genius" by nature: it takes any correlation that pays, protocol or content. It learns from a broken constraint:
the repaired harness, without the offending edit, is then among its candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chase.agents.history import RELEASED, History
from chase.agents.reading import read_trace
from chase.core.agents import AnswersOnce, Candidate, CandidateTrack, ProposerContext
from chase.core.errors import choose
from chase.core.keyed import uniform
from chase.core.values import Json
from chase.harness.folder import render_files
from chase.proposers.mining.diagnosis import Diagnosis, diagnose
from chase.proposers.mining.edits import Edit, combine, every_edit, from_json, vocabulary


@dataclass(frozen=True, kw_only=True, slots=True)
class Hindsight:
    """What earlier rounds taught."""

    gains: Mapping[str, float]
    """Edit → the mean gain of the candidates that brought it in, over the harness they came from."""
    offending: frozenset[str]
    """Observables that archived counterfactuals touch and a violating harness leant on."""
    repaired: tuple[Edit, ...] | None
    """The best harness that broke a constraint, without the edits that broke it."""
    base: tuple[Edit, ...] | None
    """The current harness without the edits that broke a constraint; None where it broke none."""


class MiningProposer(AnswersOnce):
    """Deterministic in the history and the seed."""

    def __init__(self, prior: str = "even") -> None:
        self.prior = choose("prior", prior, vocabulary()["priors"])

    @property
    def name(self) -> str:
        return f"mining:{self.prior}"

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        history = History(context.history)
        form = context.answer_form.pattern
        readings = [read_trace(trace, form) for _, trace in history.traces(context.current, RELEASED)]
        diagnosis = diagnose(readings, context.observables)
        hindsight = _hindsight(history, context)
        current = _edits_of(history, context.current)
        sound = current if hindsight.base is None else list(hindsight.base)
        placeholders = list(context.placeholders)
        space = every_edit(_shuffled(context), diagnosis.bounds, placeholders, space=context.edit_space.name)
        weights = self._weights(space, diagnosis, hindsight)

        def drawn(track: str, taken: Iterable[Edit]) -> list[Edit]:
            """Edits of a track, drawn without replacement by weight (Gumbel's trick, keyed by seed and round)."""
            free = [e for e in space if e.track == track and not any(e.conflicts(t) for t in taken)]
            key = ("edit", context.seed, context.round, track)
            free.sort(key=lambda e: math.log(weights[e.name]) - math.log(-math.log(uniform(*key, e.name) or 1e-12)))
            return free[: -1 - vocabulary()["learning"]["edits_per_track"] : -1]

        def kept(track: str) -> list[Edit]:
            """The current edits as a candidate of one track may leave them: it can repair its own track only."""
            return [edit for edit in current if edit in sound or edit.track != track]

        structural, guidance = (drawn(track, current) for track in ("structural", "guidance"))
        plans: dict[CandidateTrack, list[Edit]] = {
            "structural": [*kept("structural"), *structural],
            "guidance": [*kept("guidance"), *guidance],
            "integrated": self._integrate(sound, structural, guidance, weights, hindsight),
        }
        return [self._candidate(history, context, track, plan, diagnosis) for track, plan in plans.items()]

    def _weights(self, space: Sequence[Edit], diagnosis: Diagnosis, hindsight: Hindsight) -> dict[str, float]:
        """Prior × how much of the failures an edit answers, shared among the forms of one entry by their evidence."""
        learning = vocabulary()["learning"]
        evidence = {edit.name: _evidence(edit, diagnosis, hindsight) for edit in space}
        forms: dict[str, float] = {}
        for edit in space:
            forms[edit.entry] = forms.get(edit.entry, 0.0) + evidence[edit.name]
        weights = {}
        for edit in space:
            answers = max(diagnosis.failures.get(edit.answers, 0.0), learning["least_evidence"])
            share = evidence[edit.name] / forms[edit.entry] if forms[edit.entry] else 0.0
            weights[edit.name] = vocabulary()["priors"][self.prior][edit.family] * answers * share
            if edit.name in hindsight.gains:
                weights[edit.name] *= learning["tried_well" if hindsight.gains[edit.name] > 0 else "tried_in_vain"]
        return weights

    @staticmethod
    def _integrate(
        current: Sequence[Edit],
        structural: Sequence[Edit],
        guidance: Sequence[Edit],
        weights: Mapping[str, float],
        hindsight: Hindsight,
    ) -> list[Edit]:
        """R³. Revision: start from the repaired harness where a constraint was broken. Recombination: the best of
        both tracks. Refinement: what was tried in vain is left out.
        """
        base = list(current) if hindsight.repaired is None else list(hindsight.repaired)
        in_vain = {name for name, gain in hindsight.gains.items() if gain < 0}
        best = [max(track, key=lambda e: weights[e.name]) for track in (structural, guidance) if track]
        return [*base, *(edit for edit in best if edit.name not in in_vain)]

    @staticmethod
    def _candidate(
        history: History, context: ProposerContext, track: CandidateTrack, plan: Sequence[Edit], diagnosis: Diagnosis
    ) -> Candidate:
        harness, edits = combine(history.harness(context.initial), plan, context.bounds)
        before = {edit.name for edit in _edits_of(history, context.current)}
        new = [edit for edit in edits if edit.name not in before]
        record: dict[str, Json] = {
            "edits": [edit.to_json() for edit in edits],
            "new": [edit.name for edit in new],
            "dropped": sorted(before - {edit.name for edit in edits}),
            "from": context.current,
            "targets": {e.answers: round(diagnosis.failures.get(e.answers, 0.0), 4) for e in new},
            "activation": "always",
            "stopping": "the harness's own: answer when found",
            "expected_calls": sum(edit.calls for edit in new),
            "risks": sorted({edit.risk for edit in new}),
        }
        return Candidate(track=track, files=render_files(harness), record=record)


def _evidence(edit: Edit, diagnosis: Diagnosis, hindsight: Hindsight) -> float:
    """What the traces say for an edit; for one that leans on an observable, how far success goes with that side."""
    learning = vocabulary()["learning"]
    if edit.observable is None:
        return 1.0
    lead = diagnosis.leads[edit.observable] * (-1 if edit.side == "low" else 1)
    return max(lead, float(learning["least_evidence"])) * (
        learning["offending"] if edit.observable in hindsight.offending else 1.0
    )


def _shuffled(context: ProposerContext) -> list[str]:
    """The observables in an order that the run's seed decides: none comes first by its place in a list."""
    return sorted(context.observables, key=lambda name: uniform("observables", context.seed, name))


def _edits_of(history: History, name: str) -> list[Edit]:
    return [from_json(edit) for edit in history.record(name).get("edits", [])]


def _hindsight(history: History, context: ProposerContext) -> Hindsight:
    gains: dict[str, list[float]] = {}
    for name in history.harnesses():
        record = history.record(name)
        mean, base = history.mean(name, RELEASED), history.mean(record.get("from", ""), RELEASED)
        if mean is not None and base is not None:
            for edit in record.get("new", []):
                gains.setdefault(edit, []).append(mean - base)
    broken = {} if context.epsilon is None else _violations(history, context.initial, float(context.epsilon))
    best = max(broken, key=lambda name: (history.mean(name, RELEASED) or 0.0, name), default=None)
    offending: set[str] = set()
    for name, entries in broken.items():
        touched = {o for entry in entries for o in entry["touched"]}
        offending |= {e.observable for e in _edits_of(history, name) if e.observable is not None} & touched
    repaired = None if best is None else _repaired(_edits_of(history, best), broken[best])
    return Hindsight(
        gains={edit: sum(values) / len(values) for edit, values in gains.items()},
        offending=frozenset(offending),
        repaired=None if repaired is None else tuple(repaired),
        base=tuple(_repaired(_edits_of(history, context.current), broken[context.current]) or ())
        if context.current in broken
        else None,
    )


def _violations(history: History, initial: str, epsilon: float) -> dict[str, list[dict[str, Any]]]:
    """Harness → the archived counterfactuals under which it lost more than epsilon of its gain."""
    broken: dict[str, list[dict[str, Any]]] = {}
    for entry, described in history.archive().items():
        for name in history.harnesses():
            delta = history.destruction(name, initial, entry)
            if delta is not None and delta > epsilon + 1e-9:
                broken.setdefault(name, []).append(described)
    return broken


def _repaired(edits: Sequence[Edit], entries: Sequence[Mapping[str, Any]]) -> list[Edit] | None:
    """The edits without those that lean on what the counterfactuals touch; without the last one if none does."""
    touched = {observable for entry in entries for observable in entry["touched"]}
    kept = [edit for edit in edits if edit.observable not in touched]
    if len(kept) == len(edits):
        kept = list(edits[:-1])
    return kept or None
