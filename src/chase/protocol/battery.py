"""A benchmark's battery: fixed counterfactuals that an audit measures before anything is searched for.

Made from the allowlist alone: the neutral forms that operator kinds declare, composed. The *probe* neutralises
everything at once, at both levels and with several draws; each *aspect* is also neutralised alone. Nothing is selected,
so nothing is inflated, and what the battery covers can be said in words.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from chase.core.agents import MOST_OPERATORS
from chase.core.interfaces import OperatorKind
from chase.core.keyed import key_bits
from chase.core.values import Json, Neutral
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal
from chase.protocol.screening import is_active

Level = Literal["low", "high"]
LEVELS: tuple[Level, ...] = ("low", "high")
"""At one level alone a condition such as "where the extension is short" holds everywhere, and is none."""
DRAWS = 2
"""Of whatever can only be drawn anew: a single draw leaves half of the noise of a cue."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One counterfactual of the battery: a few draws of one composition, measured together."""

    name: str
    what: str
    draws: tuple[Proposal[Any], ...]


@dataclass(frozen=True, kw_only=True)
class Battery:
    """Everything neutral at once, and each aspect alone."""

    probes: tuple[Probe, ...]
    """Everything at once, by level. They decide."""
    aspects: tuple[Probe, ...]
    """Each aspect alone. They name what a shortcut rests on, and decide nothing."""
    equal: tuple[str, ...]
    """Aspects in which all documents become alike, in words."""
    redrawn: tuple[str, ...]
    """Aspects whose values are drawn anew."""
    untested: tuple[str, ...]
    """Untouched: operator kinds of the allowlist, and aspects that cannot reach who is tested."""
    invalid: Mapping[str, tuple[str, ...]]
    """Parts that were left out because the firewall refuses them → the checks that they fail."""

    @cached_property
    def covers(self) -> str:
        """ "names, folders and records": what a verdict is against, in words."""
        return in_words((*self.equal, *self.redrawn))

    def without_reach(self, aspects: Collection[str], reason: str) -> Battery:
        """Without aspects that reach nobody who is tested: they are not covered. With none left there is no probe."""
        equal = tuple(name for name in self.equal if name not in aspects)
        redrawn = tuple(name for name in self.redrawn if name not in aspects)
        return replace(
            self,
            probes=self.probes if equal or redrawn else (),
            aspects=tuple(aspect for aspect in self.aspects if aspect.what not in aspects),
            equal=equal,
            redrawn=redrawn,
            untested=(*self.untested, *(f"{name} ({reason})" for name in aspects)),
        )

    def checked(self, failed: Callable[[Proposal[Any]], tuple[str, ...]]) -> Battery:
        """Without the draws that the firewall refuses on other tasks. A probe with none left is left out, with the
        checks that it fails; with no probe left nothing is covered.
        """
        valid = [tuple(draw for draw in probe.draws if not failed(draw)) for probe in self.probes]
        probes = tuple(replace(probe, draws=draws) for probe, draws in zip(self.probes, valid, strict=True) if draws)
        kept = {probe.name for probe in probes}
        refused = {probe.what: failed(probe.draws[0]) for probe in self.probes if probe.name not in kept}
        left = replace(self, probes=probes, invalid={**self.invalid, **refused})
        if probes:
            return left
        return replace(left, equal=(), redrawn=(), untested=(*self.untested, *self.equal, *self.redrawn))

    def to_json(self) -> dict[str, Json]:
        return {
            "equal": list(self.equal),
            "redrawn": list(self.redrawn),
            "untested": list(self.untested),
            "invalid": {name: list(failed) for name, failed in self.invalid.items()},
        }


@dataclass(frozen=True, kw_only=True)
class _Part:
    """One neutral form of one operator kind."""

    kind: str
    neutral: Neutral

    def form(self, level: Level) -> dict[str, Json]:
        return {"name": self.kind, "arguments": dict(self.neutral.low if level == "low" else self.neutral.high)}


def battery_of(kit: ProtocolKit, *, seed: int, draws: int = DRAWS) -> Battery:
    """The battery of a benchmark, the same for a seed. Only what is valid and active is in it."""
    allowlist = kit.benchmark.allowlist
    invalid: dict[str, tuple[str, ...]] = {}
    parts = [part for part in _parts(allowlist) if _works(kit, part, seed, invalid)]
    made = [_everything(kit, parts, level, seed, draws) for level in _levels(parts)] if parts else []
    probes = [probe for probe in made if _valid(kit, probe, invalid)]
    covered = [part.neutral for part in parts] if probes else []
    fields = frozenset().union(*(proposal.declared for probe in probes for proposal in probe.draws))
    return Battery(
        probes=tuple(probes),
        aspects=tuple(_alone(kit, part, seed) for part in parts),
        equal=tuple(dict.fromkeys(neutral.aspect for neutral in covered if neutral.equal)),
        redrawn=tuple(dict.fromkeys(neutral.aspect for neutral in covered if not neutral.equal)),
        untested=tuple(name for name, kind in allowlist.items() if not _fields(kind) <= fields),
        invalid=invalid,
    )


def in_words(names: Sequence[str]) -> str:
    """ "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _parts(allowlist: Mapping[str, OperatorKind[Any]]) -> Iterator[_Part]:
    for name, kind in allowlist.items():
        for neutral in kind.neutral:
            yield _Part(kind=name, neutral=neutral)


def _levels(parts: Sequence[_Part]) -> tuple[Level, ...]:
    """Both, or one where they are the same."""
    return LEVELS if any(part.neutral.low != part.neutral.high for part in parts) else LEVELS[:1]


def _everything(kit: ProtocolKit, parts: Sequence[_Part], level: Level, seed: int, draws: int) -> Probe:
    if len(parts) > MOST_OPERATORS:
        raise ValueError(f"{len(parts)} neutral forms are more than a transformation may hold ({MOST_OPERATORS})")
    made = [_made(kit, parts, level, key_bits("battery", seed, level, draw)) for draw in range(draws)]
    levels = f" ({level})" if len(_levels(parts)) > 1 else ""
    return Probe(name=f"neutral-{level}", what=f"everything neutral at once{levels}", draws=_distinct(made))


def _alone(kit: ProtocolKit, part: _Part, seed: int) -> Probe:
    """One aspect, at both levels."""
    neutral = part.neutral
    name = neutral.aspect.replace(" ", "-")
    made = [_made(kit, [part], level, key_bits("battery", seed, name, level)) for level in LEVELS]
    return Probe(name=name, what=neutral.aspect, draws=_distinct(made))


def _made(kit: ProtocolKit, parts: Sequence[_Part], level: Level, bits: int) -> Proposal[Any]:
    forms = [part.form(level) for part in parts]
    return kit.parse({"benchmark": kit.benchmark.base, "operators": forms, "seed": bits & 0xFFFFFFFFFFFF})


def _distinct(made: Sequence[Proposal[Any]]) -> tuple[Proposal[Any], ...]:
    return tuple({proposal.transformation.hash: proposal for proposal in made}.values())


def _works(kit: ProtocolKit, part: _Part, seed: int, invalid: dict[str, tuple[str, ...]]) -> bool:
    """Check that an aspect can be neutralised here: valid at each level, and not without any effect."""
    probe = _alone(kit, part, seed)
    return _valid(kit, probe, invalid) and any(is_active(kit.lift(p), kit.subject) for p in probe.draws)


def _valid(kit: ProtocolKit, probe: Probe, invalid: dict[str, tuple[str, ...]]) -> bool:
    for proposal in probe.draws:
        record = kit.run_checks(proposal)
        if not record.valid:
            invalid[probe.what] = record.failed
            return False
    return True


def _fields(kind: OperatorKind[Any]) -> frozenset[str]:
    return frozenset().union(*(operator.fields for operator in kind.forms()))
