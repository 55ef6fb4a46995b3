"""Rows of a scan, one for each test, and the findings that they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from chase.core.values import ORIGINS, Json, Origin

Measure = Literal["superiority", "correlation"]
MIDDLE: Mapping[Measure, float] = {"superiority": 0.5, "correlation": 0.0}
"""The value of no association."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One observable held against one target."""

    target: str
    """`evidence`, `window of evidence`, `answer`, or one answer."""
    observable: str
    measure: Measure
    effect: float
    low: float
    high: float
    """The intervals of all rows hold together."""
    p: float
    origin: Origin
    """Of the observable."""
    adjusted: float = 1.0
    """By Holm's procedure over all rows."""
    n: int
    """Tasks, documents or groups of tasks that say something."""
    mean_evidence: float | None = None
    mean_others: float | None = None

    @property
    def distance(self) -> float:
        """From where nothing goes with anything."""
        return abs(self.effect - MIDDLE[self.measure])

    @property
    def order(self) -> tuple[int, float, str]:
        """Cause before symptom, then the strongest."""
        return ORIGINS.index(self.origin), -self.distance, self.observable

    @property
    def key(self) -> tuple[str, str]:
        return self.target, self.observable


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """Rows that hold up and show one feature: those of the files before those of tools, then the strongest first."""

    rows: tuple[Row, ...]
    follows: tuple[Row, ...] = ()
    """What holds up by itself, is most like this finding, and no longer holds up where the findings are taken out: a
    size that follows from a format and a title, say."""
    beside: tuple[str, ...] = ()
    """Observables that rank documents like these, and are another feature: what takes one away leaves the other."""

    @property
    def first(self) -> Row:
        """The observable that it is named after."""
        return self.rows[0]

    @property
    def order(self) -> tuple[int, float]:
        """Cause before symptom, then the strongest."""
        return self.first.order[0], -max(row.distance for row in self.rows)

    @property
    def keys(self) -> frozenset[tuple[str, str]]:
        return frozenset(row.key for row in self.rows)

    @property
    def observables(self) -> tuple[str, ...]:
        return tuple(row.observable for row in self.rows)

    def to_json(self) -> dict[str, Json]:
        return {
            "target": self.first.target,
            "observables": list(self.observables),
            "follows": [row.observable for row in self.follows],
            "beside": list(self.beside),
            "rows": [asdict(row) for row in self.rows],
        }


@dataclass(frozen=True, kw_only=True)
class Scan:
    """All rows under one variant, and what they come to."""

    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    """Findings that hold up, observables of one feature together, in the order of their first rows."""
    unseen: frozenset[str]
    """Observables that nothing in view has a value of: no folder is left, or a field is called otherwise."""
    alpha: float

    @property
    def explained(self) -> tuple[Row, ...]:
        """Rows that follow from the findings and add nothing to them."""
        return tuple(row for finding in self.findings for row in finding.follows)

    @property
    def significant(self) -> frozenset[tuple[str, str]]:
        return frozenset(row.key for row in self.rows if row.adjusted <= self.alpha)

    def row(self, key: tuple[str, str]) -> Row | None:
        return next((row for row in self.rows if row.key == key), None)
