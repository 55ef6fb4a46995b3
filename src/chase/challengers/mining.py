"""The mining Challenger: ranks the observables on which `H_t`'s decisions lean more than `H_0`'s, and proposes to
reverse, permute or equalise them. No language model.

The lean is measured at the decision (which of the documents in view was opened, whether it was read on), not over
opened documents: whatever finds evidence leans to planted levels there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from chase.agents.history import RELEASED, History
from chase.agents.reading import DecisionKind, Reading, opening_lean, read_trace, reading_lean
from chase.core.agents import AnswersOnce, ChallengerContext, Draft, EpisodeBounds, OperatorEffect
from chase.core.interfaces import Observable
from chase.core.keyed import key_bits, uniform
from chase.harness.diff import diff_harnesses
from chase.harness.spec import Harness
from chase.protocol.kit import WINDOW
from chase.stats.estimates import z_score

MOST_SUSPECTS = 4
"""That are challenged together. Others are challenged alone, where there is room."""
SUSPICIOUS = 2.5
"""Standard errors from which on an observable that the diff does not name is challenged together with others."""
MILD_VERBS: Mapping[DecisionKind, tuple[str, ...]] = {
    "open": ("permute", "reverse", "equalise"),
    "read on": ("equalise", "permute", "reverse"),
}
"""What takes a lean away, the mildest first. A preference has no effect where all are alike, so order is taken from it
by chance; a condition holds nowhere or everywhere where all are alike. A reversal turns what `H_0` itself leans on
against it too, and so hits harnesses that gain by something else: it comes last."""
STRONG = 0.6
"""An operator that touches an observable less than this is no test of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspect:
    """An observable with how much more `H_t` leans on it than `H_0`, in standard errors."""

    observable: str
    z: float
    decision: DecisionKind
    """The kind of decision that leans most."""
    named: bool
    """Whether the diff from `H_0` to `H_t` names it."""

    @property
    def side(self) -> str:
        return "high" if self.z > 0 else "low"


class MiningChallenger(AnswersOnce):
    """Deterministic in the history and the seed. `use_diff` off: it looks at behaviour alone."""

    bounds = EpisodeBounds(operators=MOST_SUSPECTS)

    def __init__(self, *, use_diff: bool = True) -> None:
        self.use_diff = use_diff

    @property
    def name(self) -> str:
        return "mining" if self.use_diff else "mining:no-diff"

    async def challenge(self, context: ChallengerContext) -> Sequence[Draft]:
        history = History(context.history)
        suspects = self.suspects(history, context)
        plans = [plan for plan in _plans(suspects, context.effects) if len(plan) <= context.most_operators]
        archived = {frozenset(entry["touched"]) for entry in history.archive().values()}
        plans.sort(key=lambda plan: frozenset(_touched(plan)) in archived)  # what was not yet found comes first
        traces = tuple(path for path, _ in history.traces(context.current, RELEASED))[:3]
        drafts = []
        for place, plan in enumerate(plans[: context.proposals]):
            names = [s.observable for s in suspects if _touched(plan).get(s.observable, 0.0) >= STRONG]
            about = ", ".join(f"{s.side} {s.observable} (z = {s.z:+.1f})" for s in suspects if s.observable in names)
            drafts.append(
                Draft(
                    form={
                        "benchmark": context.benchmark,
                        "operators": [dict(effect.operator) for effect in plan],
                        "seed": key_bits("challenge", context.seed, context.round, place) & 0xFFFFFFFFFFFF,
                        "description": f"{context.current} may lean on {about or 'the protocol'} more than H_0",
                        "claims": ["the rule looks at the protocol alone", "contents and membership stay"],
                    },
                    suspected=tuple(names),
                    traces=traces,
                    replay={"round": context.round, "seed": context.seed},
                )
            )
        return drafts

    def suspects(self, history: History, context: ChallengerContext) -> list[Suspect]:
        """All observables that operators can touch, most suspicious first."""
        readings = [
            {path.rsplit("/", 1)[-1]: read_trace(trace) for path, trace in history.traces(name, RELEASED)}
            for name in (context.current, context.initial)
        ]
        shared = sorted(readings[0].keys() & readings[1].keys())
        pairs = [(readings[0][key], readings[1][key]) for key in shared]
        named: set[str] = set()
        if self.use_diff and not history.plays_itself(context.current):
            named = _named(history.harness(context.initial), history.harness(context.current), context.observables)
        reachable = {o for effect in context.effects for o in effect.touched}
        found = [
            _suspect(name, pairs, context.observables, named=name in named)
            for name in sorted(reachable, key=lambda name: uniform("suspects", context.seed, name))
        ]
        # Who reads on more than H_0 is at home where records come late: moving them there would be no challenge.
        suspects = [s for s in found if s.observable != WINDOW or s.side == "low"]
        return sorted(suspects, key=lambda s: (s.named, abs(s.z)), reverse=True)


def _suspect(
    name: str, pairs: Sequence[tuple[Reading, Reading]], observables: Mapping[str, Observable], *, named: bool
) -> Suspect:
    """How much more the first of each pair leans on an observable than the second, as a z score over pairs, in the kind
    of decision in which that is strongest."""
    observable = None if name == WINDOW else observables[name]
    scores = {kind: _z(observable, kind, pairs) for kind in MILD_VERBS}
    strongest = max(scores, key=lambda kind: abs(scores[kind]))
    return Suspect(observable=name, z=scores[strongest], decision=strongest, named=named)


def _z(observable: Observable | None, kind: str, pairs: Sequence[tuple[Reading, Reading]]) -> float:
    differences = []
    for mine, initial in pairs:
        # As many decisions of each: who reads on opens fewer documents, and the first that are opened are the best.
        count = min(sum(d.kind == kind for d in reading.decisions) for reading in (mine, initial))
        leans = [_lean(observable, kind, reading, count) for reading in (mine, initial)]
        if leans[0] is not None and leans[1] is not None:
            differences.append(leans[0] - leans[1])
    return z_score(differences)


def _lean(observable: Observable | None, kind: str, reading: Reading, count: int) -> float | None:
    """The lean on an observable in the first decisions of a kind; without one, on reading on at all."""
    decisions = [decision for decision in reading.decisions if decision.kind == kind][:count]
    if observable is not None:
        return (opening_lean if kind == "open" else reading_lean)(observable, decisions)
    taken = [decision.taken for decision in decisions if kind == "read on"]
    return sum(taken) / len(taken) - 0.5 if taken else None


def _named(initial: Harness, current: Harness, observables: Iterable[str]) -> set[str]:
    """Observables that the diff spells out."""
    texts = [f"{change.new} {' '.join(change.lines)}" for change in diff_harnesses(initial, current).changes]
    return {name for name in observables if any(name in text for text in texts)}


# From suspects to transformations

Plan = tuple[OperatorEffect, ...]
_OTHER: Mapping[DecisionKind, DecisionKind] = {"open": "read on", "read on": "open"}


def _plans(suspects: Sequence[Suspect], effects: Sequence[OperatorEffect]) -> list[Plan]:
    """Distinct plans in the order of interest: the strong suspects together and alone, in the way that fits their
    decisions and in the way of the other kind. Where there are none, each suspect by itself, as mildly as that goes.
    """
    strong = [s for s in suspects if s.named] or [s for s in suspects if abs(s.z) >= SUSPICIOUS]
    plans: list[Plan] = []
    first = strong[:MOST_SUSPECTS]
    for of in (first, [replace(s, decision=_OTHER[s.decision]) for s in first]):
        challenges = _challenges(of, effects)
        plans += [_together(challenges[:count]) for count in range(2, len(challenges) + 1)]
        plans += [(effect,) for effect in challenges]
    if not strong:
        plans += [(effect,) for effect in _challenges([replace(s, decision="read on") for s in suspects], effects)]
    return list({str([e.operator for e in plan]): plan for plan in plans if plan}.values())


def _challenges(suspects: Sequence[Suspect], effects: Sequence[OperatorEffect]) -> list[OperatorEffect]:
    """For each suspect the operator that takes away what its decisions lean on; each once."""
    found: dict[str, OperatorEffect] = {}
    for suspect in suspects:
        candidates = (_best(effects, suspect, verb) for verb in (*MILD_VERBS[suspect.decision], ""))
        if (effect := next((effect for effect in candidates if effect is not None), None)) is not None:
            found.setdefault(str(effect.operator), effect)
    return list(found.values())


def _best(effects: Sequence[OperatorEffect], suspect: Suspect, verb: str) -> OperatorEffect | None:
    """The operator (of a name) that changes an observable most and touches least beside."""
    fitting = [
        effect
        for effect in effects
        if effect.operator["name"].startswith(verb) and effect.touched.get(suspect.observable, 0.0) >= STRONG
    ]
    return max(fitting, key=lambda e: (round(e.touched[suspect.observable], 1), -len(e.touched)), default=None)


def _together(chosen: Sequence[OperatorEffect]) -> Plan:
    """The operators in one list, each once, without those whose observables are all touched already."""
    plan: list[OperatorEffect] = []
    for effect in chosen:
        if effect not in plan and not effect.touched.keys() <= _touched(plan).keys():
            plan.append(effect)
    return tuple(plan)


def _touched(plan: Sequence[OperatorEffect]) -> dict[str, float]:
    touched: dict[str, float] = {}
    for effect in plan:
        for name, strength in effect.touched.items():
            touched[name] = max(strength, touched.get(name, 0.0))
    return touched
