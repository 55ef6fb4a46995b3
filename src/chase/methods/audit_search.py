"""The search of an audit: a Challenger writes transformations in several rounds, on tasks kept for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from chase.core.events import AuditSearched, AuditSearchStarted, Tell
from chase.core.keyed import canonical_json
from chase.core.values import Json
from chase.methods.arena import Entrant, StoreArena, Variant
from chase.methods.counterfactuals import discover, estimate_json, proposal_of, screening_json
from chase.methods.desks import ChallengerDesk, archive_note
from chase.methods.reach import Reach
from chase.protocol.kit import ProtocolKit
from chase.protocol.screening import Screening
from chase.stats.estimates import Estimate

SEARCH, CONFIRM = "search", "confirm"
Searched = tuple[Screening, Estimate | None]
"""A transformation with its `Δ̂` on the search tasks; None where it was given."""
SEARCH_ROLES = ("evo", "disc")


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Settings of an audit's measurements and search."""

    rounds: int = 1
    """0: the battery alone."""
    proposals: int = 8
    evaluated: int = 2
    """Proposals evaluated in a round."""
    reduce: bool = True
    battery: bool = True
    whole: bool = False
    """The harness as a whole: its edits are not measured."""
    anyway: bool = False
    """Go on where the first tasks show a floor or a ceiling."""
    level: float = 0.95


@dataclass(kw_only=True)
class Search:
    """Searches for what destroys a pair's gain, and keeps a record of everything tried."""

    initial: Entrant
    harness: Entrant
    arena: StoreArena
    desk: ChallengerDesk
    kit: ProtocolKit
    released: Variant
    settings: SearchSettings
    reach: Reach
    tell: Tell
    tried: list[dict[str, Json]] = field(default_factory=list)

    async def run(self) -> list[Searched]:
        """One transformation of each round at most, without those that pad another."""
        pair = (self.harness, self.initial)
        tasks = self.arena.tasks(SEARCH)
        await self.arena.means(pair, [self.released], SEARCH)
        found: list[Searched] = []
        seen: set[str] = set()
        for t in range(1, self.settings.rounds + 1):
            self.tell(AuditSearchStarted(round=t))
            drafts = await self.desk.drafts(
                t, self.harness, self.initial, proposals=self.settings.proposals,
                evaluated=self.settings.evaluated, archived=seen,
            )  # fmt: skip
            drafts, idle = await self.reach.parted_drafts(drafts, self.kit, SEARCH)
            discovery = await discover(
                self.arena, self.kit, drafts, pair=pair, role=SEARCH, tasks=tasks, archived=frozenset(seen),
                count=self.settings.evaluated, reduce=self.settings.reduce,
            )  # fmt: skip
            evaluated = {proposal_of(s).transformation.hash: e for s, e in discovery.evaluated}
            tried = [screening_json(screened) for screened in (*discovery.screened, *idle)]
            drafted = {record["hash"] for record in tried}
            reduced = (screening_json(screened) for screened, _ in discovery.evaluated)
            tried += [record for record in reduced if record["hash"] not in drafted]
            for record in tried:
                record["destruction"] = (
                    estimate_json(evaluated[record["hash"]]) if record["hash"] in evaluated else None
                )
            self.tried += tried
            self.tell(AuditSearched(round=t, tried=tried))
            seen |= evaluated.keys()
            if discovery.frozen is not None and discovery.destruction is not None:
                found.append((discovery.frozen, discovery.destruction))
                note = {"name": f"c{t}", "round": t, "transformation": proposal_of(discovery.frozen).to_json()}
                self.desk.tree.add_entry(f"c{t}", archive_note(note, discovery.frozen.touched))
        return self._unpadded(distinct(found))

    def _unpadded(self, found: Sequence[Searched]) -> list[Searched]:
        """Drop findings whose operators add nothing; what is left out stays in the record with the reason."""
        kept: list[Searched] = []
        for screened, searched in found:
            shorter = next((s for s, e in found if _pads(screened, searched, s, e)), None)
            if shorter is None:
                kept.append((screened, searched))
                continue
            transformation, what = proposal_of(screened).transformation, proposal_of(shorter).transformation.describe()
            for record in self.tried:
                if record["hash"] == transformation.hash and record["destruction"]:
                    record["reason"] = f"not taken to confirmation: it destroys no more than {what} alone"
        return kept


def distinct(found: Sequence[Searched]) -> list[Searched]:
    """Each transformation once."""
    return list({proposal_of(s).transformation.hash: (s, e) for s, e in reversed(found)}.values())[::-1]


def _pads(longer: Screening, its: Estimate | None, shorter: Screening, other: Estimate | None) -> bool:
    """Check that a transformation has all operators of another and more, and destroyed no more in the search."""
    if its is None or other is None or its.value > other.value:
        return False
    return _operators(shorter) < _operators(longer)


def _operators(screened: Screening) -> Counter[str]:
    """The operators with their arguments; what they draw does not make them others."""
    operators = proposal_of(screened).transformation.operators
    return Counter(canonical_json({"name": o.name, "arguments": dict(o.arguments)}) for o in operators)
