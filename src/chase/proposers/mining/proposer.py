"""The mining Proposer: estimates from traces what goes with success, and writes candidates.

A "bad genius" by nature: it takes any correlation that pays, protocol or content. It learns from a broken constraint:
the repaired harness, without the offending edit, and that edit without its condition are then among its candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from chase.agents.history import RELEASED, History
from chase.agents.reading import read_trace
from chase.core.agents import FAILURE_GROUPS, Candidate, CandidateTrack, EpisodeBounds, ProposerContext, Refusal
from chase.core.errors import choose
from chase.core.keyed import uniform
from chase.core.values import Json
from chase.harness.folder import GUIDANCE, render_files
from chase.proposers.mining.diagnosis import Diagnosis, diagnose, told_failures
from chase.proposers.mining.edits import Edit, combine, every_edit, from_json, vocabulary
from chase.proposers.mining.hindsight import Hindsight, edits_of, look_back
from chase.proposers.mining.plans import TRACKS, Plan, Planner


@dataclass(kw_only=True)
class _Round:
    """What was made of a round's history, and what was handed in."""

    planner: Planner
    diagnosis: Diagnosis
    given: dict[str, Candidate] = field(default_factory=dict)
    """The last candidate of each track."""
    answers: int = 0


class MiningProposer:
    """Deterministic in the history, the seed and what was refused."""

    bounds = EpisodeBounds()

    def __init__(self, prior: str = "even") -> None:
        self.prior = choose("prior", prior, vocabulary()["priors"])
        self._round: _Round | None = None

    @property
    def name(self) -> str:
        return f"mining:{self.prior}"

    async def propose(self, context: ProposerContext) -> Sequence[Candidate]:
        history = History(context.history)
        form = context.answer_form.pattern
        readings = [read_trace(trace, form) for _, trace in history.traces(context.current, RELEASED)]
        diagnosis = diagnose(readings, context.observables)
        if told := context.briefs.get(FAILURE_GROUPS):
            diagnosis = replace(diagnosis, failures=told_failures(told))
        hindsight = look_back(history, context)
        placeholders = list(context.placeholders)
        space = every_edit(_shuffled(context), diagnosis.bounds, placeholders, space=context.edit_space.name)
        start, current = history.harness(context.initial), edits_of(history, context.current)
        as_it_is = history.harness(context.current)
        if combine(start, current, context.bounds)[0].hash != as_it_is.hash:
            # Somebody else's: it is built upon whole, since nothing is known of the edits it is made of.
            start, current = as_it_is, []
            hindsight = replace(hindsight, repaired=None, base=None, offenders=())
        planner = Planner(
            context=context,
            start=start,
            current=current,
            space=space,
            weights=self._weights(space, diagnosis, hindsight),
            hindsight=hindsight,
        )
        self._round = _Round(planner=planner, diagnosis=diagnosis)
        plans: list[tuple[CandidateTrack | None, Plan]] = [(None, plan) for plan in planner.free()]
        if context.tracks:
            plans = [(track, plan) for track, plan in planner.by_track().items() if track in context.tracks]
        return self._handed(self._round, plans)

    async def revise(self, context: ProposerContext, refused: Sequence[Refusal]) -> Sequence[Candidate]:
        """Where a gate says what a candidate must be: the next best draws in place of the edits at fault. Without one,
        what was refused stays refused.
        """
        if self._round is None or not context.contracts:
            return ()
        if not context.tracks:
            first = self._round.answers
            again = [(None, self._round.planner.free_one(first + place)) for place in range(len(refused))]
            return self._handed(self._round, again)
        reasons = {refusal.name.rpartition("-")[2]: refusal.reason for refusal in refused}
        planner, given = self._round.planner, self._round.given
        spent = {t: planner.spent.get(t, frozenset()) | _at_fault(given[t], reasons[t]) for t in TRACKS if t in reasons}
        self._round.planner = replace(planner, spent={**planner.spent, **spent}, whole=not spent)
        plans = [(track, plan) for track, plan in self._round.planner.by_track().items() if track in reasons]
        return self._handed(self._round, plans)

    def _handed(self, made: _Round, plans: Sequence[tuple[CandidateTrack | None, Plan]]) -> list[Candidate]:
        candidates = [self._candidate(made.planner, track, plan, made.diagnosis) for track, plan in plans]
        made.given |= {candidate.track: candidate for candidate in candidates if candidate.track is not None}
        made.answers += len(candidates)
        return candidates

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
    def _candidate(planner: Planner, track: CandidateTrack | None, plan: Plan, diagnosis: Diagnosis) -> Candidate:
        harness, edits = planner.made_by(plan)
        before = {edit.name for edit in planner.current}
        new = [edit for edit in edits if edit.name not in before]
        record: dict[str, Json] = {
            "edits": [edit.to_json() for edit in edits],
            "new": [edit.name for edit in new],
            "dropped": sorted(before - {edit.name for edit in edits}),
            "from": planner.context.current,
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


def _at_fault(candidate: Candidate, reason: str) -> frozenset[str]:
    """The edits that a candidate brought in and whose place a refusal names; all of them where it names none."""
    new = [edit for edit in map(from_json, candidate.record["edits"]) if edit.name in candidate.record["new"]]
    named = [edit.name for edit in new if (edit.set or f"{GUIDANCE}/{edit.name}.md") in reason]
    return frozenset(named or candidate.record["new"])


def _shuffled(context: ProposerContext) -> list[str]:
    """The observables in an order that the run's seed decides: none comes first by its place in a list."""
    return sorted(context.observables, key=lambda name: uniform("observables", context.seed, name))
