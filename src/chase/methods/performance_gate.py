"""HarnessEvolve's performance gate: no worse on the current batch, hardly worse on each of the last rounds' batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from chase.core.events import PoolEntry
from chase.core.values import Json
from chase.methods.arena import Contender
from chase.methods.batches import Batch, Training
from chase.methods.evolution import distinct, entry_json
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

    @property
    def beyond(self) -> Fraction:
        """How far it falls beyond what is tolerated."""
        return self.current - self.candidate - Fraction(self.tolerance)

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
    """The same as the candidate where there is none: then nothing is accepted."""
    compared: tuple[Compared, ...]

    @property
    def accepted(self) -> bool:
        return self.candidate is not self.current and all(found.passed for found in self.compared)

    @property
    def pool(self) -> tuple[PoolEntry, ...]:
        """Both harnesses with their scores on the current batch, and what the candidate fails."""
        here, entries = self.compared[0], [_entry(self.current, self.compared[0].current)]
        if self.candidate is not self.current:
            beyond = {found.batch.name: float(found.beyond) for found in self.compared if not found.passed}
            entries.append(_entry(self.candidate, here.candidate, here.candidate - here.current, beyond))
        return tuple(entries)

    def to_json(self) -> dict[str, Json]:
        """In the form that every method's selection has."""
        selected = self.candidate if self.accepted else self.current
        return {
            "pool": [entry_json(entry) for entry in self.pool],
            "selected": selected.name,
            "hash": selected.harness.hash,
            "accepted": self.accepted,
            "performance_gate": [found.to_json() for found in self.compared],
        }


async def performance_gate(
    training: Training, candidate: Contender, current: Contender, batch: Batch, earlier: Sequence[Batch], epsilon: str
) -> Verdict:
    """The candidate against `H_{t-1}`: on the current batch it may not be lower, on earlier ones by `ε_HE` at most."""
    tried = [(batch, "0")]
    if candidate is not current:
        tried += [(before, epsilon) for before in earlier]
    compared: list[Compared] = []
    for where, tolerance in tried:
        scores = await training.scores(distinct([current, candidate]), where)
        both = {"current": scores[current.name], "candidate": scores[candidate.name]}
        compared.append(Compared(batch=where, tolerance=tolerance, **both))
        if not compared[-1].passed:
            break
    return Verdict(candidate=candidate, current=current, compared=tuple(compared))


def _entry(
    named: Contender, score: Fraction, gain: Fraction = Fraction(0), violates: Mapping[str, float] | None = None
) -> PoolEntry:
    """A harness with its score on a batch, and what it gains over `H_{t-1}` there."""
    return PoolEntry(
        harness=named.name,
        hash=named.harness.hash,
        released=float(score),
        gain=float(gain),
        destruction={},
        violates=violates or {},
    )
