"""Our tables on a terminal."""

from __future__ import annotations

from typing import Literal

from rich.table import Table as RichTable
from rich.text import Text

from chase.cli.output import printable
from chase.runs.tables import Table

_JUSTIFY: dict[str, Literal["right", "center"]] = {"r": "right", "c": "center"}


def rich_table(table: Table) -> RichTable:
    """The table, with every cell as plain text: what a model wrote steers no terminal and is no markup."""
    made = RichTable(title=Text(printable(table.title)), title_justify="left")
    for heading, letter in zip(table.headings, table.aligned, strict=True):
        made.add_column(Text(printable(heading)), justify=_JUSTIFY.get(letter, "left"), overflow="fold")
    for row in table.rows:
        made.add_row(*(Text(printable(cell)) for cell in row))
    return made
