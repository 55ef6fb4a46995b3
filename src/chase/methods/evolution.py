"""What an evolution ends with, and the choice of one harness from a pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from chase.core.values import Json
from chase.methods.arena import Means, Named, Variant, standing
from chase.methods.selection import SelectionRule, Standing, select
from chase.protocol.archive import Archive

Tell = Callable[[str, Mapping[str, Json]], None]
"""Hears what happens as it happens: the kind of event and its details."""
Round = dict[str, Json]


@dataclass(frozen=True, kw_only=True)
class Evolved:
    """What an evolution ended with."""

    final: Named
    """`H*`."""
    harnesses: tuple[Named, ...]
    """`H_0 … H_T`; the same harness may stand there more than once."""
    archive: Archive
    variants: tuple[Variant, ...]
    """The archive as benchmarks, the released one first."""
    rounds: tuple[Mapping[str, Json], ...]
    selection: Mapping[str, Json]
    """The final selection."""
    warnings: tuple[str, ...] = ()
    """What a reader of the result must know of how the method ran."""


def distinct(harnesses: Sequence[Named]) -> list[Named]:
    """Each harness once, under its first name."""
    found: dict[str, Named] = {}
    for named in harnesses:
        found.setdefault(named.harness.hash, named)
    return list(found.values())


def choose(
    pool: Sequence[Named], means: Means, variants: Sequence[Variant], rule: SelectionRule
) -> tuple[Named, dict[str, Json]]:
    """The harness that selection takes from a pool that begins with `H_0`, and the table it was taken from."""
    standings = [standing(means, named.name, pool[0].name, variants) for named in pool]
    best = select(standings, rule)
    chosen = next(named for named in pool if named.name == best.name)
    table = [_json(s, rule) for s in standings]
    return chosen, {"pool": table, "selected": chosen.name, "hash": chosen.harness.hash}


def _json(found: Standing, rule: SelectionRule) -> dict[str, Json]:
    return {
        "harness": found.name,
        "released": float(found.released),
        "gain": float(found.gain),
        "destruction": {name: float(delta) for name, delta in found.destruction.items()},
        "violates": [violation.name for violation in rule.violations(found)],
    }
