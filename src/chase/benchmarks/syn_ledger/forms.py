"""The forms in which Syn-Ledger is generated: the paper's, and a small one for small models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chase.benchmarks.syn_ledger.contents import DISTRACTORS, Kind
from chase.benchmarks.syn_ledger.families import FAMILIES, SMALL_FAMILIES, Family


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """What the contents of a Syn-Ledger are made of. Features, `B_0`, task sets and operators are the same in all."""

    families: tuple[Family, ...]
    distractors: Mapping[Kind, int]
    """Kind → how many in a task: one, or as many for the one evidence document as for the other."""
    absent: tuple[str, ...] = ()
    """Fields that records do not have."""

    @property
    def decoys(self) -> int:
        """Distractors of a task: an even number, half on each side under `B_0`."""
        return sum(self.distractors.values())

    @property
    def documents(self) -> int:
        return 2 + self.decoys


FORMS: Mapping[str, Form] = {
    "": Form(families=FAMILIES, distractors=DISTRACTORS),
    "small": Form(
        families=SMALL_FAMILIES,
        distractors={"irrelevant-category": 4},
        absent=("period", "status", "version", "basis"),
    ),
}
"""By what stands after `syn-ledger-` in a name; the paper's has no word."""
