"""HTML tables as grids of text: spans filled in, broken markup read as far as it goes.

A table inside a cell is a table of its own, in the order in which tables open.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

MOST_COLSPAN = 1_000
MOST_ROWSPAN = 65_534
"""As the HTML standard limits them."""
MOST_CELLS = 1_000_000
"""Of one table with its spans filled in."""
_COUNT = re.compile(r"\s*\+?0*([1-9][0-9]{0,5})")
_CELLS = ("td", "th")
_BREAKS = ("br", "p", "div", "li", "tr", "hr")
_UNSEEN = ("script", "style")


class UnreadableHtml(ValueError):
    """What was given cannot be read as tables."""


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A table: rows of its header and of its body, all of the same width."""

    header: tuple[tuple[str, ...], ...]
    body: tuple[tuple[str, ...], ...]


def read_tables(markup: str) -> tuple[HtmlTable, ...]:
    """Every table that has a cell. `UnreadableHtml` where there is none, or where spans would fill too much."""
    reader = _Reader()
    try:
        reader.feed(markup)
        reader.close()
    except (AssertionError, ValueError, IndexError, RecursionError) as error:
        raise UnreadableHtml(f"the parser gave up: {error}") from None
    tables = tuple(_grid(table) for table in reader.tables if any(row.cells for row in table.rows))
    if not tables:
        raise UnreadableHtml("no table with a cell")
    return tables


@dataclass(slots=True)
class _Cell:
    heading: bool
    columns: int
    rows: int
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.parts).split())


@dataclass(slots=True)
class _Row:
    in_head: bool
    cells: list[_Cell] = field(default_factory=list)


@dataclass(slots=True)
class _Table:
    rows: list[_Row] = field(default_factory=list)
    in_head: bool = False
    row_open: bool = False
    cell: _Cell | None = None


class _Reader(HTMLParser):
    """Collects tables; a tag that is missing is taken to be where the next one needs it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: list[_Table] = []
        self._open: list[_Table] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._open.append(_Table())
            self.tables.append(self._open[-1])
        if not self._open:
            return
        table = self._open[-1]
        if tag in ("thead", "tbody", "tfoot"):
            table.in_head, table.row_open, table.cell = tag == "thead", False, None
        elif tag == "tr":
            _start_row(table)
        elif tag in _CELLS:
            _start_cell(table, tag, dict(attrs))
        elif tag in _UNSEEN:
            self._unseen += 1
        elif tag in _BREAKS:
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if not self._open:
            return
        table = self._open[-1]
        if tag == "table":
            self._open.pop()
        elif tag in ("thead", "tbody", "tfoot"):
            table.in_head, table.row_open, table.cell = False, False, None
        elif tag == "tr":
            table.row_open, table.cell = False, None
        elif tag in _CELLS:
            table.cell = None
        elif tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag in _BREAKS:
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        if self._open and not self._unseen and (cell := self._open[-1].cell) is not None:
            cell.parts.append(data)


def _start_row(table: _Table) -> None:
    table.rows.append(_Row(table.in_head))
    table.row_open, table.cell = True, None


def _start_cell(table: _Table, tag: str, attributes: dict[str, str | None]) -> None:
    if not table.row_open:
        _start_row(table)
    columns, rows = _span(attributes.get("colspan"), MOST_COLSPAN), _span(attributes.get("rowspan"), MOST_ROWSPAN)
    table.cell = _Cell(tag == "th", columns, rows)
    table.rows[-1].cells.append(table.cell)


def _span(written: str | None, most: int) -> int:
    found = _COUNT.match(written or "")
    return min(int(found[1]), most) if found else 1


def _grid(table: _Table) -> HtmlTable:
    """Header and body with every span filled in, and short rows with empty cells."""
    rows = [row for row in table.rows if row.cells]
    filled = _filled(rows)
    width = max(map(len, filled))
    if width * len(filled) > MOST_CELLS:
        raise UnreadableHtml(f"a table of {len(filled)} rows and {width} columns")
    even = [tuple(row + [""] * (width - len(row))) for row in filled]
    heads = _header_rows(rows)
    return HtmlTable(tuple(even[:heads]), tuple(even[heads:]))


def _header_rows(rows: list[_Row]) -> int:
    """How many rows at the top are the header: those of a `thead`, else those that have `th` cells alone."""
    in_head = next((i for i, row in enumerate(rows) if not row.in_head), len(rows))
    if in_head:
        return in_head
    return next((i for i, row in enumerate(rows) if not all(cell.heading for cell in row.cells)), len(rows))


def _filled(rows: list[_Row]) -> list[list[str]]:
    """Each row's texts, with those of cells that reach down into it from above."""
    reaching: dict[int, tuple[str, int]] = {}
    """By column: the text, and how many more rows it reaches into."""
    found: list[list[str]] = []
    count = 0
    for row in rows:
        count += len(reaching) + sum(cell.columns for cell in row.cells)
        if count > MOST_CELLS:
            raise UnreadableHtml(f"more than {MOST_CELLS} cells")
        texts = {column: text for column, (text, _) in reaching.items()}
        reaching = {column: (text, more - 1) for column, (text, more) in reaching.items() if more > 1}
        _fill(row, texts, reaching)
        found.append([texts.get(place, "") for place in range(max(texts) + 1)])
    return found


def _fill(row: _Row, texts: dict[int, str], reaching: dict[int, tuple[str, int]]) -> None:
    """Puts a row's cells into the columns that are free, and what reaches on down into `reaching`."""
    column = 0
    for cell in row.cells:
        while column in texts:
            column += 1
        for place in range(column, column + cell.columns):
            texts.setdefault(place, cell.text)
            if cell.rows > 1:
                reaching[place] = (cell.text, cell.rows - 1)
        column += cell.columns
