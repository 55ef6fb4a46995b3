"""The steps that methods are made of: where an evolution stands, propose and select, the final selection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chase.methods.arena import Named, Variant
from chase.methods.contract import World
from chase.methods.desks import Assignment
from chase.methods.evolution import Evolved, Round, choose, distinct
from chase.methods.selection import SelectionRule
from chase.protocol.archive import Archive

EVO = "evo"
"""The role on which candidates are compared."""


@dataclass(kw_only=True)
class EvolutionState:
    """Where an evolution stands after round `t`."""

    line: list[Named]
    """`H_0 … H_t`."""
    variants: list[Variant]
    """`A_t` as benchmarks, the released one first."""
    archive: Archive
    rounds: list[Round]
    """What is recorded of each round."""

    @classmethod
    def begin(cls, world: World[Any]) -> EvolutionState:
        """`H_0`, and `A_0 = {B_rel}`."""
        return cls(line=[world.initial], variants=[world.released], archive=world.archive, rounds=[])

    def open_round(self) -> Round:
        """The record of the next round."""
        self.rounds.append({"round": len(self.rounds) + 1})
        return self.rounds[-1]


async def propose_and_select(
    world: World[Any], state: EvolutionState, rule: SelectionRule, assignment: Assignment
) -> Named:
    """`H_t` of the round that is open: from `H_{t-1}`, `H_0` and the Proposer's candidates, evaluated on `D_evo` under
    every benchmark of the archive.
    """
    h0, current, record = state.line[0], state.line[-1], state.rounds[-1]
    t = record["round"]
    world.tell("round", {"round": t, "current": current.name, "archive": [v.name for v in state.variants]})
    await world.arena.means(distinct([h0, current]), state.variants, EVO)
    candidates, refused = await world.proposer.candidates(t, current, h0, assignment)
    pool = distinct([h0, current, *candidates])
    means = await world.arena.means(pool, state.variants, EVO)
    chosen, selection = choose(pool, means, state.variants, rule)
    state.line.append(chosen)
    record["selection"] = {**selection, "refused": refused}
    world.tell("selection", record["selection"])
    world.proposer.tree.add_round({"round": t, **record["selection"]})
    return chosen


async def conclude(
    world: World[Any], state: EvolutionState, rule: SelectionRule, warnings: tuple[str, ...] = ()
) -> Evolved:
    """The final selection over `H_0 … H_T` under the whole archive."""
    pool = distinct(state.line)
    final, selection = choose(pool, await world.arena.means(pool, state.variants, EVO), state.variants, rule)
    world.tell("final", selection)
    return Evolved(
        final=final,
        harnesses=tuple(state.line),
        archive=state.archive,
        variants=tuple(state.variants),
        rounds=tuple(state.rounds),
        selection=selection,
        warnings=warnings,
    )
