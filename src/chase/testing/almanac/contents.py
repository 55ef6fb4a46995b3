"""What stands in the reports, apart from how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from chase.core.values import Json

Status = Literal["final", "preliminary"]
SCALES: Mapping[int, str] = {1: "", 100: "hundred", 1000: "thousand"}
"""What a table's figures are counted in, and its word."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Figures of one measure by district."""

    measure: str
    scale: int
    unit: str
    rows: tuple[tuple[str, str], ...]
    """(district, figure as written)."""
    remark: str

    def value(self, district: str) -> Decimal | None:
        """A district's figure in single units."""
        figure = dict(self.rows).get(district)
        return None if figure is None else Decimal(figure) * self.scale


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A report on a place and a year. Of each there is a preliminary one and a final one."""

    id: str
    place: str
    year: int
    opening: tuple[str, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    status: Status
    signer: str

    def pieces(self) -> list[tuple[Json, ...]]:
        """Its pieces of content in a fixed order: what must be the same however it is shown."""
        tables = [(t.measure, t.scale, t.unit, t.rows, t.remark) for t in self.tables]
        prose = [(line,) for line in (*self.opening, *self.notes)]
        return [(self.place, self.year, self.status, self.signer), *prose, *tables]

    def table(self, measure: str) -> Table | None:
        return next((table for table in self.tables if table.measure.lower() == measure.lower()), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One question with its answer and the task set that it belongs to. Host-side."""

    id: str
    role: str
    question: str
    answer: str
