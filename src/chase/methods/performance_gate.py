"""HarnessEvolve's performance gate: no worse on the current batch, hardly worse on each of the last rounds' batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from chase.core.events import PoolEntry
from chase.core.values import Json
from chase.methods.arena import Contender
from chase.methods.batches import Batch, batch_scores
from chase.methods.contract import World
from chase.stats.destruction import within


@dataclass(frozen=True, kw_only=True)
class Compared:
    """`H_{t-1}` and the candidate on one batch."""

    batch: Batch
    current: Fraction
    candidate: Fraction
    tolerance: str
    """How much lower the candidate may be."""

    @property
    def passed(self) -> bool:
        return within(self.current - self.candidate, self.tolerance)

    def to_json(self) -> dict[str, Json]:
        return {
            "round": self.batch.round,
            "current": float(self.current),
            "candidate": float(self.candidate),
            "tolerance": self.tolerance,
            "passed": self.passed,
        }


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the gate found, batch by batch, the current one first. After a failure nothing more is evaluated."""

    candidate: Contender
    current: Contender
    compared: tuple[Compared, ...]

    @property
    def accepted(self) -> bool:
        return all(found.passed for found in self.compared)

    @property
    def pool(self) -> tuple[PoolEntry, ...]:
        """Both harnesses with their scores on the current batch, and what the candidate fails."""
        here = self.compared[0]
        beyond = {
            c.batch.name: float(c.current - c.candidate - Fraction(c.tolerance)) for c in self.compared if not c.passed
        }
        entry = pool_entry(self.candidate, here.candidate, here.candidate - here.current)
        return pool_entry(self.current, here.current), replace(entry, violates=beyond)


async def performance_gate(
    world: World[Any],
    candidate: Contender,
    current: Contender,
    batches: tuple[Batch, Sequence[Batch]],
    *,
    epsilon: str,
    rollouts: int,
) -> Verdict:
    """The candidate against `H_{t-1}` on the current batch and on earlier ones, the latest first."""
    here, earlier = batches
    compared: list[Compared] = []
    for batch, tolerance in [(here, "0"), *((batch, epsilon) for batch in reversed(earlier))]:
        scores = await batch_scores(world, [current, candidate], batch, rollouts)
        compared.append(
            Compared(batch=batch, current=scores[current.name], candidate=scores[candidate.name], tolerance=tolerance)
        )
        if not compared[-1].passed:
            break
    return Verdict(candidate=candidate, current=current, compared=tuple(compared))


def pool_entry(named: Contender, score: Fraction, gain: Fraction = Fraction(0)) -> PoolEntry:
    """A harness with its score on a batch, and what it gains over `H_{t-1}` there."""
    return PoolEntry(
        harness=named.name,
        hash=named.harness.hash,
        released=float(score),
        gain=float(gain),
        destruction={},
        violates={},
    )
