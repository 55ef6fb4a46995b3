"""The steps that methods are made of: where an evolution stands, propose and select, the final selection."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chase.core.events import FinalSelected, PoolEntry, Repaired, RepairStarted, RoundStarted, Selected
from chase.core.values import Json
from chase.methods.arena import Contender, Variant
from chase.methods.contract import World
from chase.methods.desks import Assignment
from chase.methods.evaluation import Evaluation
from chase.methods.evolution import Choice, EvolutionOutcome, Round, distinct
from chase.methods.repair import MOST_CELLS, RepairLimits, RepairOutcome, search_repair
from chase.methods.selection import SelectionRule
from chase.protocol.archive import Archive
from chase.stats.estimates import mean

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
    evaluation: Evaluation
    """On `D_evo`."""
    unseen: tuple[Variant, ...] = ()
    """Benchmarks that only selection looks at: no agent is told of them, and they are in no archive."""
    repair: bool = False
    """Whether the host takes shortcuts out of promising harnesses (beyond the paper)."""

    @classmethod
    def begin(
        cls, world: World[Any], planned: int | None = None, *, repair: bool = False, unseen: tuple[Variant, ...] = ()
    ) -> EvolutionState:
        """`H_0`, and `A_0 = {B_rel}`."""
        line, variants = [world.initial], [world.released]
        return cls(
            line=line,
            variants=variants,
            archive=world.archive,
            rounds=[],
            planned=planned,
            evaluation=Evaluation.of(world, EVO),
            repair=repair,
            unseen=unseen,
        )

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
    await state.evaluation.in_full(distinct([h0, current]), state.variants)
    candidates, refused = await world.proposer.candidates(t, current, h0, assignment, rule.gates)
    choice, repairs = await _select(world, state, rule, distinct([h0, current, *candidates]), t)
    state.line.append(choice.harness)
    record["selection"] = {**choice.to_json(), **repairs, "refused": refused}
    world.tell(Selected(round=t, pool=choice.pool, selected=choice.harness.name, refused=tuple(refused)))
    untold = {variant.name for variant in (*state.variants, *state.unseen) if not variant.told}
    world.proposer.tree.add_round({"round": t, **_told(record["selection"], untold)})
    return choice.harness


def _told(selection: Mapping[str, Json], untold: Collection[str]) -> dict[str, Json]:
    """A selection as the Proposer reads of it: nothing under benchmarks that it is not told of, and then not why a
    harness was stopped either, which may be for its scores there.
    """
    pool = [
        {
            **{key: value for key, value in row.items() if key != "stopped" or not untold},
            "destruction": {name: delta for name, delta in row["destruction"].items() if name not in untold},
            "violates": [name for name in row["violates"] if name not in untold],
        }
        for row in selection["pool"]
    ]
    return {**selection, "pool": pool}


async def conclude(
    world: World[Any], state: EvolutionState, rule: SelectionRule, warnings: tuple[str, ...] = ()
) -> EvolutionOutcome:
    """The final selection over `H_0 … H_T` under the whole archive."""
    choice, repairs = await _select(world, state, rule, distinct(state.line))
    world.tell(FinalSelected(pool=choice.pool, selected=choice.harness.name))
    return EvolutionOutcome(
        final=choice.harness,
        harnesses=tuple(state.line) if choice.harness in state.line else (*state.line, choice.harness),
        archive=state.archive,
        variants=tuple(state.variants),
        rounds=tuple(state.rounds),
        selection={**choice.to_json(), **repairs},
        evaluation=state.evaluation.record,
        warnings=warnings,
    )


async def _select(
    world: World[Any], state: EvolutionState, rule: SelectionRule, pool: list[Contender], round: int | None = None
) -> tuple[Choice, dict[str, Json]]:
    """What is selected from a pool that begins with `H_0`, under the whole archive; and what was repaired for it."""
    variants = [*state.variants, *state.unseen]
    choice = await state.evaluation.choose(pool, variants, rule)
    if not state.repair:
        return choice, {}
    repairs = await _repair(world, state, rule, pool, choice, round)  # beyond the paper
    pool = distinct([*pool, *(found.repaired for found in repairs if found.repaired is not None)])
    choice = await state.evaluation.choose(pool, state.variants, rule)
    return choice, {"repairs": [found.to_json() for found in repairs]} if repairs else {}


# Beyond the paper: harnesses that would have been selected but for a broken constraint


async def _repair(
    world: World[Any],
    state: EvolutionState,
    rule: SelectionRule,
    pool: Sequence[Contender],
    choice: Choice,
    round: int | None,
) -> list[RepairOutcome]:
    """Repair the most promising harness of a pool so that it can be selected; the next one where that does not succeed,
    within the same number of cells. `round` is None in the final selection.
    """
    name = "final-repair" if round is None else f"r{round}-repair"
    released = await world.arena.means([choice.harness], [world.released], EVO)
    found: list[RepairOutcome] = []
    for entry in _promising(choice):
        left = MOST_CELLS - sum(outcome.cells for outcome in found)
        if left < len(state.variants):  # too few to show of anything that it keeps all constraints
            break
        world.tell(RepairStarted(round=round, of=entry.harness, breaks=tuple(entry.violates)))
        broken = [variant for variant in state.variants if variant.name in entry.violates]
        limits = RepairLimits(
            more_than=mean(released[choice.harness.name, world.released.name]),
            cells=left,
            observables=[observable.name for observable in world.kit.benchmark.observables],
            suspected={o for v in broken for o in world.kit.touched(v.transformation, world.kit.example)},
            check=world.proposer.check,
        )
        violator = next(named for named in pool if named.name == entry.harness)
        outcome = await search_repair(
            world.arena, pool[0], violator, state.variants, rule, EVO, name=name, limits=limits, known=pool
        )
        found.append(outcome)
        world.tell(_repaired_event(round, outcome))
        if outcome.repaired is not None:
            world.proposer.evaluated.setdefault(outcome.repaired.harness.hash, name)
            break
    return found


def _promising(choice: Choice) -> list[PoolEntry]:
    """Harnesses that score more than the selected one and break a constraint, those first of which most would be left:
    by their score less what they have beyond the constraints.
    """
    selected = next(entry for entry in choice.pool if entry.harness == choice.harness.name)
    scores = {entry.harness: entry.released or 0.0 for entry in choice.pool}
    better = [entry for entry in choice.pool if entry.violates and scores[entry.harness] > scores[selected.harness]]
    return sorted(better, key=lambda entry: max(by or 0.0 for by in entry.violates.values()) - scores[entry.harness])


def _repaired_event(round: int | None, outcome: RepairOutcome) -> Repaired:
    best = outcome.best
    return Repaired(
        round=round,
        of=outcome.of.name,
        repaired=None if outcome.repaired is None else outcome.repaired.name,
        dropped=() if best is None else best.dropped,
        generalised=() if best is None else best.generalised,
        tried=len(outcome.attempts),
        cells=outcome.cells,
    )
