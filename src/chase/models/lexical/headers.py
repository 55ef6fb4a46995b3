"""The header of a table: its first row and those after it that still say what columns hold."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chase.models.lexical.units import stated_unit
from chase.models.lexical.words import figure

MOST_ROWS = 4
"""Rows of a header, at most."""
_YEAR = re.compile(r"(?:FY\s*)?(?:19|20)\d\d(?!\d)", re.IGNORECASE)


def header_rows(rows: Sequence[tuple[str, ...]]) -> int:
    """How many rows belong to the header: the first, and what follows it with years or words over the columns.

    A row is one of them where none of its cells but the first holds a figure that is no year, some cell does say
    something, and nothing stands in its first cell but, with years over the columns, what figures are in or of when.
    """
    count, dated = 1, bool(rows) and _has_years(rows[0])
    for row in rows[1:MOST_ROWS]:
        said = [cell for cell in row[1:] if cell]
        years = _has_years(row)
        plain = all(figure(cell) is None or _YEAR.match(cell) for cell in said)
        if not said or not plain or (years and dated) or (row[0] and not (years and _is_aside(row[0]))):
            break
        count, dated = count + 1, dated or years
    return count if count < len(rows) else 1


def joined(rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The rows of a header as one: what stands over several columns is said of each of them."""
    width = max(map(len, rows), default=0)
    spread = [_spread((*row, *[""] * (width - len(row)))) for row in rows[:-1]]
    last = (*rows[-1], *[""] * (width - len(rows[-1]))) if rows else ()
    levels = [*spread, _spread(last) if len([cell for cell in last[1:] if cell]) == 1 and width > 2 else last]
    return tuple(" > ".join(dict.fromkeys(level[place] for level in levels if level[place])) for place in range(width))


def _spread(row: tuple[str, ...]) -> tuple[str, ...]:
    """A row whose empty cells are said by the cell before them; a single one speaks for all columns."""
    said = [cell for cell in row[1:] if cell]
    if len(said) == 1:
        return row[0], *said * (len(row) - 1)
    filled, last = [row[0]], ""
    for cell in row[1:]:
        last = cell or last
        filled.append(last)
    return tuple(filled)


def _has_years(row: Sequence[str]) -> bool:
    return any(_YEAR.search(cell) for cell in row[1:])


def _is_aside(cell: str) -> bool:
    """Whether a first cell names no row: it states a unit, stands in brackets, or ends like a heading of dates."""
    return stated_unit(cell) is not None or cell.startswith("(") or cell.endswith((":", ","))
