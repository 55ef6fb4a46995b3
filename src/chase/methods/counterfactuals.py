"""The host's half of a Challenger round: screen, rank, evaluate on `D_disc`, reduce, freeze."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

from chase.agents.history import RELEASED
from chase.core.agents import MOST_OPERATORS, Draft
from chase.core.values import Json
from chase.methods.arena import Arena, Entrant, Variant, gain_destruction
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal
from chase.protocol.screening import Screening, screen_draft, screen_drafts, shortlist
from chase.stats.bounded import DESTRUCTIONS
from chase.stats.estimates import Estimate, PerTask, estimate, mean

EVALUATED = 2
"""Proposals of a round that are evaluated."""
KEEPS = Fraction(4, 5)
"""The share of `Δ̂` on `D_disc` that a reduced composition must keep."""
MOST_REDUCED = 2
"""Operators of a reduced composition: what names more than two cues names none."""
Evaluated = tuple[Screening, PerTask]
"""A transformation with its `Δ̂`, task by task."""


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """What a Challenger round found on `D_disc`."""

    screened: Sequence[Screening]
    evaluated: Sequence[tuple[Screening, Estimate]]
    """The preselected ones with their `Δ̂`, in the order of the ranking; reductions after them."""
    frozen: Screening | None
    """The one with the largest `Δ̂`, the shortest of equal ones, reduced; fixed before confirmation."""
    destruction: Estimate | None


def proposal_of(screened: Screening) -> Proposal[Any]:
    """The proposal of a draft that passed the screens."""
    if screened.proposal is None:
        raise ValueError("a refused draft has no proposal")
    return screened.proposal


async def discover(
    arena: Arena,
    kit: ProtocolKit,
    drafts: Sequence[Draft],
    *,
    pair: tuple[Entrant, Entrant],
    role: str,
    tasks: Sequence[str],
    archived: frozenset[str],
    count: int = EVALUATED,
    reduce: bool = True,
    most_operators: int = MOST_OPERATORS,
) -> Discovery:
    """Screen all drafts, evaluate at most `count` of them, and reduce the best to the operators that matter."""
    screened = screen_drafts(kit, drafts, archived=archived, discovery=tasks, most_operators=most_operators)
    evaluated: list[Evaluated] = []
    for chosen in shortlist(screened, count):
        evaluated.append((chosen, await _destruction(arena, kit, pair, chosen, role)))
    if not evaluated:
        return Discovery(screened=screened, evaluated=(), frozen=None, destruction=None)
    best, delta = _strongest(evaluated)
    if reduce and mean(delta) > 0:
        evaluated, (best, delta) = await _reduced(arena, kit, evaluated, pair=pair, role=role, archived=archived)
    return Discovery(
        screened=screened,
        evaluated=[(s, estimate(d, DESTRUCTIONS)) for s, d in evaluated],
        frozen=best,
        destruction=estimate(delta, DESTRUCTIONS),
    )


def _strongest(evaluated: Sequence[Evaluated]) -> Evaluated:
    """The largest `Δ̂`; where it ties, the one with fewer operators, then the better-ranked."""
    return max(evaluated, key=lambda found: (mean(found[1]), -found[0].operators))


async def _reduced(
    arena: Arena,
    kit: ProtocolKit,
    evaluated: Sequence[Evaluated],
    *,
    pair: tuple[Entrant, Entrant],
    role: str,
    archived: frozenset[str],
) -> tuple[list[Evaluated], Evaluated]:
    """Everything evaluated, parts of the strongest included, and what is frozen: where a part keeps enough, the
    strongest of all that are no longer than it.
    """
    found = list(evaluated)
    whole, delta = _strongest(found)
    for size in range(1, min(whole.operators, MOST_REDUCED + 1)):
        parts = {_hash(part): part for part in _parts(kit, whole, size, found, archived)}
        known = {_hash(other) for other, _ in found}
        for part in (part for name, part in parts.items() if name not in known):
            found.append((part, await _destruction(arena, kit, pair, part, role)))
        if any(mean(d) >= KEEPS * mean(delta) for part, d in found if _hash(part) in parts):
            return found, _strongest([other for other in found if other[0].operators <= size])
    return found, (whole, delta)


def _hash(screened: Screening) -> str:
    return proposal_of(screened).transformation.hash


def most_parts(operators: int) -> int:
    """Most parts that the reduction of a composition of so many operators evaluates."""
    if operators <= MOST_REDUCED:
        return operators if operators == MOST_REDUCED else 0
    # Singles and the pairs with the best of them; where no single is valid, all pairs.
    return max(operators + operators - 1, comb(operators, MOST_REDUCED))


def _parts(
    kit: ProtocolKit,
    whole: Screening,
    size: int,
    evaluated: Sequence[Evaluated],
    archived: frozenset[str],
) -> Iterator[Screening]:
    """Parts of a composition with so many operators, around its best smaller part; those that pass the screens."""
    form = proposal_of(whole).to_json()
    smaller = [(mean(d), proposal_of(f).to_json()["operators"]) for f, d in evaluated if f.operators == size - 1]
    own = [(d, operators) for d, operators in smaller if all(o in form["operators"] for o in operators)]
    anchor = max(own, key=lambda found: found[0])[1] if own else []
    for part in combinations(form["operators"], size):
        if all(operator in part for operator in anchor):
            reduced = {key: value for key, value in form.items() if key != "declared"} | {"operators": list(part)}
            screened = screen_draft(kit, replace(whole.draft, form=reduced), archived=archived)
            if screened.verdict == "valid":
                yield screened


async def _destruction(
    arena: Arena, kit: ProtocolKit, pair: tuple[Entrant, Entrant], screened: Screening, role: str
) -> PerTask:
    """`Δ̂_b(H; H_0)` task by task of a draft that passed the screens."""
    transformation = proposal_of(screened).transformation
    on_trial = Variant(name=transformation.hash, transformation=transformation, told=False)
    return await destruction_under(arena, kit, pair, on_trial, role)


async def destruction_under(
    arena: Arena,
    kit: ProtocolKit,
    pair: tuple[Entrant, Entrant],
    on_trial: Variant,
    role: str,
    rollouts: int | None = None,
) -> PerTask:
    """`Δ̂_b(H; H_0)` task by task, both harnesses under `B_rel` and `B_b`; of all rollouts or the first so many."""
    harness, initial = pair
    released = Variant(name=RELEASED, transformation=kit.identity)
    means = await arena.means(pair, [released, on_trial], role, rollouts=rollouts)
    return gain_destruction(means, harness.name, initial.name, on_trial.name)


def screening_json(screened: Screening) -> dict[str, Json]:
    """A screened draft for a run's record."""
    proposal = screened.proposal
    return {
        "verdict": screened.verdict,
        "reason": screened.reason,
        "what": proposal.transformation.describe() if proposal else "",
        "symbols": proposal.transformation.symbols() if proposal else "",
        "hash": proposal.transformation.hash if proposal else None,
        "operators": screened.operators,
        "suspected": list(screened.draft.suspected),
        "touched": {name: round(value, 3) for name, value in screened.touched.items()},
        "traces": list(screened.draft.traces),
        "replay": dict(screened.draft.replay),
        "description": proposal.description if proposal else "",
    }


def estimate_json(found: Estimate) -> dict[str, Json]:
    return asdict(found)
