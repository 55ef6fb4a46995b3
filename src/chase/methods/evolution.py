"""What an evolution ends with, and the choice of one harness from a pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

from chase.core.events import PoolEntry, Stopped
from chase.core.values import Json
from chase.methods.arena import Contender, Means, Variant, standing
from chase.methods.selection import SelectionRule, Standing, select
from chase.protocol.archive import Archive

Round = dict[str, Json]


@dataclass(frozen=True, kw_only=True)
class EvolutionOutcome:
    """What an evolution ended with."""

    final: Contender
    """`H*`."""
    harnesses: tuple[Contender, ...]
    """`H_0 … H_T`; the same harness may stand there more than once."""
    archive: Archive
    variants: tuple[Variant, ...]
    """The archive as benchmarks, the released one first."""
    rounds: tuple[Mapping[str, Json], ...]
    selection: Mapping[str, Json]
    """The final selection."""
    evaluation: Mapping[str, Json] = field(default_factory=dict)
    """How candidates were evaluated, and how many episodes that took; nothing where it was in full."""
    warnings: tuple[str, ...] = ()
    """What a reader of the result must know of how the method ran."""


def distinct(harnesses: Sequence[Contender]) -> list[Contender]:
    """Each harness once, under its first name."""
    found: dict[str, Contender] = {}
    for named in harnesses:
        found.setdefault(named.harness.hash, named)
    return list(found.values())


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A harness that was chosen, and the pool that it was chosen from."""

    harness: Contender
    pool: tuple[PoolEntry, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "pool": [entry_json(entry) for entry in self.pool],
            "selected": self.harness.name,
            "hash": self.harness.harness.hash,
        }


def entry_json(entry: PoolEntry) -> dict[str, Json]:
    """A row of a selection's table; one that was evaluated in full says nothing of a stop."""
    row = {**asdict(entry), "violates": list(entry.violates)}
    return {key: value for key, value in row.items() if key != "stopped" or value is not None}


def choose(pool: Sequence[Contender], means: Means, variants: Sequence[Variant], rule: SelectionRule) -> Choice:
    """What selection takes from a pool that begins with `H_0`."""
    standings = [standing(means, named.name, pool[0].name, variants) for named in pool]
    best = select(standings, rule)
    chosen = next(named for named in pool if named.name == best.name)
    entries = (entry_of(named, found, rule) for named, found in zip(pool, standings, strict=True))
    return Choice(harness=chosen, pool=tuple(entries))


def entry_of(
    named: Contender, found: Standing | None, rule: SelectionRule, stopped: Stopped | None = None
) -> PoolEntry:
    """A harness in the pool; `found` is of the variants on all of whose tasks it is known, None where the released one
    is not among them.
    """
    violations = () if found is None else rule.violations(found)
    broken = {stopped.by: None} if stopped is not None and stopped.why == "infeasible" else {}
    return PoolEntry(
        harness=named.name,
        hash=named.harness.hash,
        released=None if found is None else float(found.released),
        gain=None if found is None else float(found.gain),
        destruction={} if found is None else {name: float(delta) for name, delta in found.destruction.items()},
        violates={**broken, **{v.name: None if v.by is None else float(v.by) for v in violations}},
        stopped=stopped,
    )
