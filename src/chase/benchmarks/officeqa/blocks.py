"""The lines of a document by kind: tables, unit statements, Note/Source lines, blank lines and the rest.

The rules are those of the paper's "Preprocessing and Task Allocation". Its patterns are not published; where its words
leave a choice, the docstrings here say what was chosen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from chase.core.markdown_tables import table_spans

Kind = Literal["table", "unit", "note", "blank", "text"]

_UNIT = (
    r"(?:hundreds|thousands|millions|billions|trillions|dollars?|cents?|percent(?:ages?)?|basis\ points|ounces|units)"
)
_QUALIFIER = r"(?:(?:fine|troy|current|constant|nominal|real|whole|U\.?S\.?|\d{4})\s+){0,2}"
_OF = r"(?:\s+of(?:\s+[\w.'’$-]+?){1,3})?"
_UNIT_STATEMENT = re.compile(
    rf"""
    \s*+(?:\#++\s*+)?                                           # heading markers
    (?:[\[(]\s*+)?                                              # an opening bracket
    (?:(?:All\s+)?(?:Dollar\s+amounts|Amounts|Figures)\s+)?     # a prefix
    (?:
        in\s+{_QUALIFIER}{_UNIT}\b{_OF}
        (?=\s*(?:$|[\]).;:,–—-])|\s+(?:or|and|per|except|unless|at|as)\b)
      |
        {_UNIT}\b(?:\s+in\s+{_UNIT}\b|\s+per\s+\w+(?:\s+\w+)?|{_OF})
        \s*(?:$|[\]);,]|\.(?:\s|$))
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NOTE = re.compile(r"\s*+(?:#++\s*+)?(?:notes?|sources?)\s*+[:.–—-]", re.IGNORECASE)


def is_unit_statement(line: str) -> bool:
    """Whether a line outside tables states a unit.

    The paper: lines "containing explicit numerical-scale or unit expressions involving hundreds, thousands,
    millions, billions, trillions, dollar(s), cent(s), percent/percentage(s), basis points, ounces, or units. Matching
    ignores case and allows leading heading markers, an opening bracket, and an Amounts, Figures, or Dollar Amounts
    prefix, optionally preceded by All."

    Chosen: that list of what may lead says that the expression opens the line. An expression is explicit as "in" and a
    unit ("In millions of dollars", "in fine troy ounces"), or as a unit that stands alone ("Percent", "Dollars in
    millions", "Cents per ounce"). Running text that only begins with such words is none.
    """
    return _UNIT_STATEMENT.match(line) is not None


def is_note(line: str) -> bool:
    """Whether a line is a Note/Source line.

    The paper: it "begins with either label and a colon, period, or dash, allowing plurals and leading heading markers".
    """
    return _NOTE.match(line) is not None


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring lines of one kind: from `start` up to, without, `end`, counted from 0.

    A table is one block, and so is each unit statement and each note. Blank lines and text come as runs.
    """

    kind: Kind
    start: int
    end: int


def blocks(lines: Sequence[str]) -> tuple[Block, ...]:
    """All lines in order, as blocks without gaps. `"\\n".join` of the blocks' lines is the document again."""
    return tuple(_blocks(lines))


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    place = 0
    for start, end in table_spans(lines):
        yield from _outside_tables(lines, place, start)
        yield Block("table", start, end)
        place = end
    yield from _outside_tables(lines, place, len(lines))


def _outside_tables(lines: Sequence[str], start: int, end: int) -> Iterator[Block]:
    place = start
    while place < end:
        kind, stop = _kind(lines[place]), place + 1
        if kind in ("blank", "text"):
            while stop < end and _kind(lines[stop]) == kind:
                stop += 1
        yield Block(kind, place, stop)
        place = stop


def _kind(line: str) -> Kind:
    if not line.strip():
        return "blank"
    if is_note(line):
        return "note"
    return "unit" if is_unit_statement(line) else "text"
