"""Construction audits: canonical neutralisations and placebos. Host-only and in no allowlist.

Their operators are bound to what the generator knows (levels under `B_0`, evidence), which is why they live in
the namespace `construction.` and can be reached by name on the host, never by a Challenger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from chase.benchmarks.syn_ledger import vocabulary as words
from chase.benchmarks.syn_ledger.features import HALF, Change
from chase.benchmarks.syn_ledger.manifest import DocumentProtocol, Manifest
from chase.core.keyed import key_bits
from chase.protocol.transformation import OperatorList


@dataclass(frozen=True, kw_only=True)
class Neutralise:
    """`Φ_j`: gives every document the level of one feature that it has under `B_0`."""

    feature: str
    changes: Mapping[str, Change] = field(repr=False)
    """document id → the fields' values under `B_0`."""
    name: str = "construction.neutralise"
    version: int = 1
    seeded: bool = False

    @property
    def arguments(self) -> Mapping[str, str]:
        return {"feature": self.feature}

    @property
    def in_words(self) -> str:
        return f"{self.feature} made neutral"

    @cached_property
    def fields(self) -> frozenset[str]:
        return frozenset(name for change in self.changes.values() for name in change)

    def apply(self, state: Manifest, *, seed: int) -> Manifest:
        return state.update(self.changes)

    def inverse(self) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class Placebo:
    """A change of a presentation detail that has nothing to do with evidence."""

    kind: str
    evidence: frozenset[str] = field(repr=False)
    name: str = "construction.placebo"
    version: int = 1
    seeded: bool = False

    @property
    def arguments(self) -> Mapping[str, str]:
        return {"kind": self.kind}

    @property
    def in_words(self) -> str:
        return f"placebo: {self.kind.replace('-', ' ')} changed"

    @property
    def fields(self) -> frozenset[str]:
        return frozenset({PLACEBOS[self.kind][0]})

    def apply(self, state: Manifest, *, seed: int) -> Manifest:
        return state.update(PLACEBOS[self.kind][1](state, self.evidence))

    def inverse(self) -> None:
        return None


def _for_each(
    change: Callable[[DocumentProtocol], Change],
) -> Callable[[Manifest, frozenset[str]], Mapping[str, Change]]:
    return lambda manifest, _: {protocol.id: change(protocol) for protocol in manifest}


def _rotate_metadata(protocol: DocumentProtocol) -> Change:
    return {"metadata": protocol.metadata[1:] + protocol.metadata[:1]}


def _next_section(protocol: DocumentProtocol) -> Change:
    labels = words.SECTION_LABELS
    return {"section": labels[(labels.index(protocol.section) + 1) % len(labels)]}


def _reorder_low_distractors(manifest: Manifest, evidence: frozenset[str]) -> Mapping[str, Change]:
    """Low-ranked distractors exchange their sort keys, so every evidence document keeps its rank."""
    low = [p for p in manifest.ranked() if p.rank >= HALF and p.id not in evidence]
    shuffled = sorted(low, key=lambda p: key_bits("low-rank-distractor-order", p.id))
    return {p.id: {"rank": other.rank} for p, other in zip(low, shuffled, strict=True)}


PLACEBOS: Mapping[str, tuple[str, Callable[[Manifest, frozenset[str]], Mapping[str, Change]]]] = {
    "line-endings": ("newline", _for_each(lambda _: {"newline": "\r\n"})),
    "metadata-order": ("metadata", _for_each(_rotate_metadata)),
    "trailing-whitespace": ("trailing", _for_each(lambda _: {"trailing": "  "})),
    "distractor-order": ("rank", _reorder_low_distractors),
    "section-labels": ("section", _for_each(_next_section)),
}
"""kind → (the protocol field it changes, how)."""


def constructions(
    planted: Sequence[str], changes: Mapping[str, Mapping[str, Change]], evidence: frozenset[str]
) -> dict[str, OperatorList[Manifest]]:
    """Every construction by its variant name: released, neutral, one neutralisation per feature, placebos."""
    neutralise = {name: Neutralise(feature=name, changes=changes[name]) for name in planted}
    variants: dict[str, OperatorList[Manifest]] = {
        "released": OperatorList(),
        "neutral": OperatorList(operators=tuple(neutralise.values())),
    }
    variants |= {f"neutralise-{name}": OperatorList(operators=(op,)) for name, op in neutralise.items()}
    variants |= {
        f"placebo-{kind}": OperatorList(operators=(Placebo(kind=kind, evidence=evidence),)) for kind in PLACEBOS
    }
    return variants
