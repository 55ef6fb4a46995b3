"""What an evolution ends with, and the choice of one harness from a pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from chase.core.events import PoolEntry
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
        pool = [{**asdict(entry), "violates": list(entry.violates)} for entry in self.pool]
        return {"pool": pool, "selected": self.harness.name, "hash": self.harness.harness.hash}


def choose(pool: Sequence[Contender], means: Means, variants: Sequence[Variant], rule: SelectionRule) -> Choice:
    """What selection takes from a pool that begins with `H_0`."""
    standings = [standing(means, named.name, pool[0].name, variants) for named in pool]
    best = select(standings, rule)
    chosen = next(named for named in pool if named.name == best.name)
    entries = (_entry(named, found, rule) for named, found in zip(pool, standings, strict=True))
    return Choice(harness=chosen, pool=tuple(entries))


def _entry(named: Contender, found: Standing, rule: SelectionRule) -> PoolEntry:
    return PoolEntry(
        harness=named.name,
        hash=named.harness.hash,
        released=float(found.released),
        gain=float(found.gain),
        destruction={name: float(delta) for name, delta in found.destruction.items()},
        violates={v.name: None if v.by is None else float(v.by) for v in rule.violations(found)},
    )
