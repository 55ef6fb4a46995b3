"""From edits and their weights to a round's candidates, each as the list of edits that it is made of."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from chase.core.agents import CandidateTrack, ProposerContext
from chase.core.keyed import uniform
from chase.harness.spec import Harness
from chase.proposers.mining.edits import Edit, combine, vocabulary
from chase.proposers.mining.hindsight import Hindsight, generalised

TRACKS = ("structural", "guidance")
Plan = Sequence[Edit]


@dataclass(frozen=True, kw_only=True)
class Planner:
    """What a round's candidates are made of. After a broken constraint the repaired harness by itself and the
    generalised edit are among them, each once: what was evaluated is not offered again.
    """

    context: ProposerContext
    start: Harness
    """What edits are applied to."""
    current: Plan
    """The edits of the current harness."""
    space: Plan
    weights: Mapping[str, float]
    hindsight: Hindsight
    spent: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Track → edits that were drawn in this round and refused: the next best are drawn."""
    whole: bool = False
    """Whether the integrated candidate takes over all of both tracks: where the best of each was refused."""

    def by_track(self) -> dict[CandidateTrack, Plan]:
        structural, guidance = (self.drawn(track, (track,), self.current) for track in TRACKS)
        return {
            "structural": self.on_track("structural", structural),
            "guidance": self.on_track("guidance", guidance),
            "integrated": self.integrated(structural, guidance),
        }

    def free(self) -> list[Plan]:
        """As many as are due, on both tracks at once."""
        offered = [self.repaired, self.general(TRACKS)]
        plans = [plan for plan in offered if plan is not None][: self.context.candidates]
        plans += [self.free_one(place) for place in range(len(plans), self.context.candidates)]
        return plans

    def free_one(self, place: int) -> Plan:
        """New edits on both tracks; another place draws others."""
        return [*self.sound, *self.drawn(str(place), TRACKS, self.sound)]

    @property
    def sound(self) -> Plan:
        """The current edits without those that broke a constraint."""
        return self.current if self.hindsight.base is None else self.hindsight.base

    @property
    def repaired(self) -> Plan | None:
        """R³'s revision: the best violator without the offending edits, and nothing new."""
        plan = self.hindsight.repaired
        return plan if plan is not None and self._hash(plan) not in self.hindsight.evaluated else None

    def general(self, tracks: Collection[str]) -> Plan | None:
        """The current edits with the offending ones of these tracks in their general form."""
        plan = generalised(self.current, self.hindsight.offenders, tracks, self.space)
        if plan is None or self._hash(plan) in self.hindsight.evaluated:
            return None
        return plan if self.repaired is None or self._hash(plan) != self._hash(self.repaired) else None

    def on_track(self, track: str, new: Plan) -> Plan:
        """The generalised edit where one of this track broke a constraint; else new edits on top of the current ones.
        A candidate can repair its own track only.
        """
        kept = [edit for edit in self.current if edit in self.sound or edit.track != track]
        return self.general((track,)) or [*kept, *new]

    def integrated(self, structural: Plan, guidance: Plan) -> Plan:
        """R³. Revision: the repaired harness by itself; once that was evaluated, start from it. Recombination: the
        best of both tracks. Refinement: what was tried in vain is left out.
        """
        if self.repaired is not None:
            return self.repaired
        base = self.sound if self.hindsight.repaired is None else self.hindsight.repaired
        in_vain = {name for name, gain in self.hindsight.gains.items() if gain < 0}
        if self.whole:
            return [*base, *structural, *guidance]
        best = [max(track, key=lambda e: self.weights[e.name]) for track in (structural, guidance) if track]
        return [*base, *(edit for edit in best if edit.name not in in_vain)]

    def drawn(self, kind: str, tracks: Collection[str], taken: Iterable[Edit]) -> Plan:
        """Edits of tracks, drawn without replacement by weight (Gumbel's trick, keyed by seed, round and kind)."""
        taken = list(taken)
        spent = self.spent.get(kind, frozenset())
        free = [e for e in self.space if e.track in tracks and not any(e.conflicts(t) for t in taken)]
        free = [e for e in free if e.name not in spent]
        key = ("edit", self.context.seed, self.context.round, kind)
        free.sort(key=lambda e: math.log(self.weights[e.name]) - math.log(-math.log(uniform(*key, e.name) or 1e-12)))
        return free[: -1 - vocabulary()["learning"]["edits_per_track"] : -1]

    def made_by(self, plan: Plan) -> tuple[Harness, list[Edit]]:
        """The harness that a plan makes, and the edits of it that are compatible and within bounds."""
        return combine(self.start, plan, self.context.bounds)

    def _hash(self, plan: Plan) -> str:
        return self.made_by(plan)[0].hash
