"""Meta-Harness, the plain optimiser: three candidates a round, selected by released score alone. Holds `evo` only."""

from __future__ import annotations

from dataclasses import dataclass, field

from chase.methods.arena import Arena, Named, Variant
from chase.methods.desks import ProposerDesk
from chase.methods.evolution import Evolved, Round, Tell, choose, conclude, distinct
from chase.protocol.archive import Archive


@dataclass(kw_only=True)
class MetaHarness:
    """One run of the method."""

    initial: Named
    arena: Arena
    proposer: ProposerDesk
    archive: Archive
    rounds: int
    tell: Tell
    released: Variant
    variants: list[Variant] = field(default_factory=list)

    async def evolve(self) -> Evolved:
        h0, self.variants = self.initial, [self.released]
        line: list[Named] = [h0]
        rounds: list[Round] = []
        for t in range(1, self.rounds + 1):
            current = line[-1]
            self.tell("round", {"round": t, "current": current.name, "archive": [self.released.name]})
            await self.arena.means(distinct([h0, current]), self.variants, "evo")
            candidates, refused = await self.proposer.candidates(t, current, h0)
            pool = distinct([h0, current, *candidates])
            means = await self.arena.means(pool, self.variants, "evo")
            chosen, selection = choose(pool, means, self.variants, epsilon=None)
            selection |= {"refused": refused}
            self.proposer.tree.add_round({"round": t, **selection})
            self.tell("selection", selection)
            rounds.append({"round": t, "selection": selection})
            line.append(chosen)
        return await conclude(
            self.arena, line, self.variants, epsilon=None, archive=self.archive, rounds=rounds, tell=self.tell
        )
