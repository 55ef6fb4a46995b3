"""The mining Challenger: ranks the observables on which `H_t`'s decisions lean more than `H_0`'s, and proposes to
reverse, permute or equalise them. No language model.

The lean is measured at the decision (which of the documents in view was opened, whether it was read on), not over
opened documents: whatever finds evidence leans to planted levels there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chase.agents.history import RELEASED, History
from chase.agents.reading import Reading, lean, read_trace
from chase.core.agents import AnswersOnce, ChallengerContext, Draft, EpisodeBounds, OperatorEffect
from chase.core.interfaces import Observable
from chase.core.keyed import key_bits, uniform
from chase.harness.diff import diff_harnesses
from chase.harness.spec import Harness
from chase.protocol.kit import WINDOW
from chase.stats.estimates import z_score

MOST_SUSPECTS = 4
"""That are challenged together. Others are challenged alone, where there is room."""
STRONG = 0.6
"""An operator that touches an observable less than this is no test of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspect:
    """An observable with how much more `H_t` leans on it than `H_0`, in standard errors."""

    observable: str
    z: float
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
        plans = _plans(suspects, context.effects)
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
        if self.use_diff:
            named = _named(history.harness(context.initial), history.harness(context.current), context.observables)
        reachable = {o for effect in context.effects for o in effect.touched}
        found = [
            Suspect(observable=name, z=_excess(name, pairs, context.observables), named=name in named)
            for name in sorted(reachable, key=lambda name: uniform("suspects", context.seed, name))
        ]
        return sorted(found, key=lambda s: (s.named, abs(s.z)), reverse=True)


def _excess(name: str, pairs: Sequence[tuple[Reading, Reading]], observables: Mapping[str, Observable]) -> float:
    """How much more the first of each pair leans on an observable than the second: the stronger of the two kinds of
    decision, as a z score over pairs."""
    observable = None if name == WINDOW else observables[name]
    return max((_z(observable, kind, pairs) for kind in ("open", "read on")), key=abs)


def _z(observable: Observable | None, kind: str, pairs: Sequence[tuple[Reading, Reading]]) -> float:
    differences = []
    for mine, initial in pairs:
        leans = [_lean(observable, kind, reading) for reading in (mine, initial)]
        if leans[0] is not None and leans[1] is not None:
            differences.append(leans[0] - leans[1])
    return z_score(differences)


def _lean(observable: Observable | None, kind: str, reading: Reading) -> float | None:
    """The lean on an observable; without one, on reading on at all."""
    decisions = [decision for decision in reading.decisions if decision.kind == kind]
    if observable is None:
        taken = [decision.taken for decision in decisions if decision.kind == "read on"]
        return sum(taken) / len(taken) - 0.5 if taken else None
    return lean(observable, decisions)


def _named(initial: Harness, current: Harness, observables: Iterable[str]) -> set[str]:
    """Observables that the diff spells out."""
    texts = [f"{change.new} {' '.join(change.lines)}" for change in diff_harnesses(initial, current).changes]
    return {name for name in observables if any(name in text for text in texts)}


# From suspects to transformations

Plan = tuple[OperatorEffect, ...]


def _plans(suspects: Sequence[Suspect], effects: Sequence[OperatorEffect]) -> list[Plan]:
    """Distinct plans in the order of interest: the first suspects reversed together and alone, then equalised and
    permuted; then the same with the suspects that follow, one by one."""
    plans: list[Plan] = []
    first, rest = suspects[:MOST_SUSPECTS], suspects[MOST_SUSPECTS:]
    by_name = {verb: _best(effects, suspects, verb) for verb in ("reverse", "permute", "equalise", "")}

    def chosen(verb: str, of: Sequence[Suspect]) -> list[OperatorEffect]:
        fallback = by_name[""] if verb == "reverse" else {}
        found = [by_name[verb].get(s.observable) or fallback.get(s.observable) for s in of]
        return list({str(e.operator): e for e in found if e is not None}.values())

    reversals = chosen("reverse", first)
    plans += [_together(reversals[:count]) for count in range(2, len(reversals) + 1)]
    plans += [(effect,) for effect in reversals[:3]]
    for verb in ("equalise", "permute"):
        plans += [(effect,) for effect in chosen(verb, first)[:1]]
        plans.append(_together(chosen(verb, first)[:2]))
    plans += [(effect,) for effect in reversals[3:]]
    for verb in ("reverse", "equalise", "permute"):
        plans += [(effect,) for effect in chosen(verb, first)]
    for verb in ("reverse", "equalise"):
        plans += [(effect,) for effect in chosen(verb, rest)]
    return list({str([e.operator for e in plan]): plan for plan in plans if plan}.values())


def _best(effects: Sequence[OperatorEffect], suspects: Sequence[Suspect], verb: str) -> Mapping[str, OperatorEffect]:
    """For each suspect the operator (of a name) that turns it round most and touches least beside."""
    best: dict[str, OperatorEffect] = {}
    for suspect in suspects:
        fitting = [
            effect
            for effect in effects
            if effect.operator["name"].startswith(verb) and effect.touched.get(suspect.observable, 0.0) >= STRONG
        ]
        if fitting:
            best[suspect.observable] = max(
                fitting, key=lambda e: (round(e.touched[suspect.observable], 1), -len(e.touched))
            )
    return best


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
