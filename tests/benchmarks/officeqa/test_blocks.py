"""The paper's matching rules on lines, and the blocks of a document."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.benchmarks.officeqa.blocks import Block, blocks, is_note, is_unit_statement

UNITS = """
In millions of dollars
(In millions of dollars)
[In thousands of dollars]
## In billions of dollars
### [In millions of dollars; see footnotes]
  (in thousands of fine troy ounces)
IN TRILLIONS
In hundreds of dollars
(In dollars)
(In cents per pound)
(In percent)
[In percentages]
(In basis points)
(In units)
(In fine troy ounces)
(In 1982 dollars)
Amounts in millions of dollars
All amounts in thousands
(Figures in billions)
All figures in millions of dollars
Dollar amounts in millions
[All Dollar Amounts in millions]
Percent
(Percent)
Percent per annum
(Percent of total)
Percentages
Cents per ounce
Thousands of dollars
(Dollars in millions)
Units
In millions of dollars or dollar equivalents
[In millions of dollars, except as noted]
""".strip().split("\n")

NOT_UNITS = """
The deficit rose by 3 million dollars in June.
In June 1980 receipts were 4 million dollars above those of May.
In the third quarter outlays rose by 12 percent.
Receipts (in millions of dollars)
Table FFO-1. Budget receipts in millions of dollars
Net amounts in millions of dollars
Dollar securities held by foreign governments
Percent change from the previous year
Millions were spent on defense.
Amounts outstanding
Figures are preliminary
All securities
In dollarization
Inmillions
| In millions of dollars |
- In millions of dollars
Unitsville
""".strip().split("\n")

NOTES = """
Note: Details may not add to totals because of rounding.
Note.—Figures are on a cash basis.
NOTE - revised
Notes: see text
Source: Daily Treasury Statement.
Sources. Bureau of the Fiscal Service
## Source: Office of Management and Budget
Source — Monthly statement
source–x
""".strip().split("\n")

NOT_NOTES = """
Note that figures are revised.
Notes
Noted: figures
Source of funds
Treasury notes: outstanding
1/ Note: a footnote
Footnote: x
Resources: x
Note 1: x
Note, revised
""".strip().split("\n")


@pytest.mark.parametrize("line", UNITS)
def test_a_unit_statement_is_recognised(line: str) -> None:
    assert is_unit_statement(line)


@pytest.mark.parametrize("line", NOT_UNITS)
def test_other_lines_state_no_unit(line: str) -> None:
    assert not is_unit_statement(line)


@pytest.mark.parametrize("line", NOTES)
def test_a_note_or_source_line_is_recognised(line: str) -> None:
    assert is_note(line)


@pytest.mark.parametrize("line", NOT_NOTES)
def test_other_lines_are_no_notes(line: str) -> None:
    assert not is_note(line)


def test_a_document_falls_into_blocks_and_a_table_is_one() -> None:
    lines = [
        "# Title",
        "prose",
        "",
        "(In millions)",
        "",
        "| a | b |",
        "| --- | --- |",
        "| In dollars | Percent |",
        "",
        "Note: x",
    ]
    assert blocks(lines) == (
        Block("text", 0, 2), Block("blank", 2, 3), Block("unit", 3, 4), Block("blank", 4, 5), Block("table", 5, 8),
        Block("blank", 8, 9), Block("note", 9, 10),
    )  # fmt: skip


def test_neighbouring_unit_statements_and_notes_stay_apart() -> None:
    assert [b.kind for b in blocks(["Percent", "In units", "Note: a", "Source: b"])] == ["unit", "unit", "note", "note"]


PIECES = ["", "text", "Percent", "Note: x", "| a | b |", "| --- | --- |", "a | b", "|", "   "]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=20)))
def test_blocks_cover_every_line_once_in_order(lines: list[str]) -> None:
    found = blocks(lines)
    assert [place for b in found for place in range(b.start, b.end)] == list(range(len(lines)))
    assert all(b.end - b.start >= 3 for b in found if b.kind == "table")
