"""From cells to an answer in one line: units, the operation, rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from chase.models.lexical.lookup import Cell, every_row
from chase.models.lexical.operations import rounded, written
from chase.models.lexical.question import Asked, Wanted
from chase.models.lexical.units import scale_name
from chase.models.lexical.words import figure

_NOTED = frozenset(["sum", "average", "median", "difference"])


@dataclass(frozen=True, kw_only=True, slots=True)
class Answering:
    """Cells for the figures that are wanted, in their order; None where one was not found."""

    asked: Asked
    cells: Sequence[Cell | None]
    precise: bool
    """Whether figures keep all their digits until the end. Else each is noted down as it is asked for: rounded."""

    with_scale: bool = False
    """Whether a figure is written with its scale: `12.6 million`."""
    semicolons: bool = False
    """Whether several stand with semicolons between, not in brackets with commas."""

    def text(self, computed: str | None) -> str | None:
        """The answer; None where these cells give none. `computed` is a calculator's result."""
        operation, places = self.asked.operation, self.asked.places
        if operation.name == "value":
            return self._extreme() if operation.extreme else self._values()
        value = _number(computed)
        if value is None:
            value = None if None in self.cells else operation.of(self._amounts())
        elif operation.absolute:
            value = abs(value)
        if value is None:
            return None
        return f"{written(value, places)}%" if operation.in_percent else self._scaled(written(value, places))

    def expression(self) -> str | None:
        """What a calculator is asked; None where there is nothing to work out."""
        return None if None in self.cells else self.asked.operation.expression(self._amounts())

    def _found(self) -> list[Cell]:
        return [cell for cell in self.cells if cell is not None]

    def _amounts(self) -> list[Decimal]:
        """The figures in one unit, noted down with the places that are asked for unless it is to be precise."""
        places = self.asked.places
        values = [self._amount(cell) for cell in self._found()]
        if self.precise or places is None or self.asked.operation.name not in _NOTED:
            return values
        return [rounded(value, places) for value in values]

    def _amount(self, cell: Cell) -> Decimal:
        """A figure in the unit that is asked for; where none is, in that of the first figure. A figure whose unit is
        not known is taken to be in the right one.
        """
        unit = cell.unit
        if unit is None or unit.percent:
            return cell.value
        wanted = self.asked.unit
        if wanted is None or wanted.percent or self.asked.operation.name in ("ratio", "percent of", "percent change"):
            scales = [other.unit.scale for other in self._found() if other.unit is not None]
            return cell.value * unit.scale / scales[0]
        return cell.value * unit.scale / wanted.scale

    def _values(self) -> str | None:
        shown = [written(value, self.asked.places) for value in self._amounts()]
        if not shown:
            return None
        percent = all(cell.unit is not None and cell.unit.percent for cell in self._found())
        shown = [f"{text}%" if percent else self._scaled(text) for text in shown]
        if len(self.asked.wanted) == 1:
            return shown[0]
        return "; ".join(shown) if self.semicolons else f"[{', '.join(shown)}]"

    def _scaled(self, text: str) -> str:
        """A figure with its scale: the one that is asked for, else that of the first cell."""
        if not self.with_scale or self.asked.operation.name == "ratio":
            return text
        unit = self.asked.unit or next((cell.written_unit for cell in self._found()), None)
        return text if unit is None else f"{text}%" if unit.percent else f"{text} {scale_name(unit)}".rstrip()

    def _extreme(self) -> str | None:
        """The largest or smallest figure, or what it is of."""
        operation = self.asked.operation
        known = [(w, cell) for w, cell in zip(self.asked.wanted, self.cells, strict=True) if cell is not None]
        if len(known) == 1:
            wanted, cell = known[0]
            known = [(wanted, other) for other in self._rivals(wanted, cell)]
        if not known:
            return None
        sign = -1 if operation.extreme == "high" else 1
        ranked = sorted(known, key=lambda one: sign * self._amount(one[1]))[: operation.count]
        if not operation.gives_label:
            return self._scaled(written(self._amount(ranked[0][1]), self.asked.places))
        return "; ".join(self._label(wanted, cell) for wanted, cell in ranked)

    def _rivals(self, wanted: Wanted, cell: Cell) -> list[Cell]:
        """What a single cell is compared with: the other rows of its column, or the other periods of its row."""
        if self.asked.operation.over == "rows" or cell.row.period is not None:
            return every_row(wanted, cell.run, cell.table, strict=False) or [cell]
        others = [
            Cell(value, cell.row, column, cell.table, cell.run, cell.share, cell.sureness, cell.score)
            for column, text in zip(cell.table.columns, cell.row.cells, strict=False)
            if column.period is not None and (value := figure(text)) is not None
        ]
        return others or [cell]

    def _label(self, wanted: Wanted, cell: Cell) -> str:
        if self.asked.operation.over == "rows":
            return cell.row.label
        if len(self.asked.wanted) > 1 and wanted.period is not None:
            return wanted.period.in_words.title()
        column = cell.column.period if cell.column is not None else None
        period = cell.row.period.within(column) if cell.row.period is not None else column
        return period.in_words.title() if period is not None else cell.row.label


def _number(text: str | None) -> Decimal | None:
    try:
        return Decimal(text) if text else None
    except InvalidOperation:
        return None
