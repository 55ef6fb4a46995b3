"""The steps that methods are made of: where an evolution stands, propose and select, the final selection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chase.core.events import FinalSelected, RoundStarted, Selected
from chase.methods.arena import Contender, Variant
from chase.methods.contract import World
from chase.methods.desks import Assignment
from chase.methods.evolution import EvolutionOutcome, Round, choose, distinct
from chase.methods.selection import SelectionRule
from chase.protocol.archive import Archive

EVO = "evo"
"""The role on which candidates are compared."""


@dataclass(kw_only=True)
class EvolutionState:
    """Where an evolution stands after round `t`."""

    line: list[Contender]
    """`H_0 … H_t`."""
    variants: list[Variant]
    """`A_t` as benchmarks, the released one first."""
    archive: Archive
    rounds: list[Round]
    """What is recorded of each round."""
    planned: int | None
    """How many rounds there will be, where that is known."""

    @classmethod
    def begin(cls, world: World[Any], planned: int | None = None) -> EvolutionState:
        """`H_0`, and `A_0 = {B_rel}`."""
        line, variants = [world.initial], [world.released]
        return cls(line=line, variants=variants, archive=world.archive, rounds=[], planned=planned)

    def open_round(self) -> Round:
        """The record of the next round."""
        self.rounds.append({"round": len(self.rounds) + 1})
        return self.rounds[-1]


async def propose_and_select(
    world: World[Any], state: EvolutionState, rule: SelectionRule, assignment: Assignment
) -> Contender:
    """`H_t` of the round that is open: from `H_{t-1}`, `H_0` and the Proposer's candidates, evaluated on `D_evo` under
    every benchmark of the archive.
    """
    h0, current, record = state.line[0], state.line[-1], state.rounds[-1]
    t = record["round"]
    archive = tuple(variant.name for variant in state.variants)
    world.tell(RoundStarted(round=t, rounds=state.planned, current=current.name, archive=archive))
    await world.arena.means(distinct([h0, current]), state.variants, EVO)
    candidates, refused = await world.proposer.candidates(t, current, h0, assignment, rule.gates)
    pool = distinct([h0, current, *candidates])
    means = await world.arena.means(pool, state.variants, EVO)
    choice = choose(pool, means, state.variants, rule)
    state.line.append(choice.harness)
    record["selection"] = {**choice.to_json(), "refused": refused}
    world.tell(Selected(round=t, pool=choice.pool, selected=choice.harness.name, refused=tuple(refused)))
    world.proposer.tree.add_round({"round": t, **record["selection"]})
    return choice.harness


async def conclude(
    world: World[Any], state: EvolutionState, rule: SelectionRule, warnings: tuple[str, ...] = ()
) -> EvolutionOutcome:
    """The final selection over `H_0 … H_T` under the whole archive."""
    pool = distinct(state.line)
    choice = choose(pool, await world.arena.means(pool, state.variants, EVO), state.variants, rule)
    world.tell(FinalSelected(pool=choice.pool, selected=choice.harness.name))
    return EvolutionOutcome(
        final=choice.harness,
        harnesses=tuple(state.line),
        archive=state.archive,
        variants=tuple(state.variants),
        rounds=tuple(state.rounds),
        selection=choice.to_json(),
        warnings=warnings,
    )
