"""Layouts: lines are re-rendered from the released ones, and what they say can be read back from every layout."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given, settings
from hypothesis import strategies as st

from chase.benchmarks.officeqa.protocol import LayoutProtocol
from chase.benchmarks.officeqa.rendering import RELEASED, lay_out, pieces

UNIT, NOTE = "(In millions of dollars)", "Note: Interfund payments are left out."
TABLE = ["| Year | Sum |", "| --- | --- |", "| 1980 | 1,234 |"]
DOCUMENT = ["## Receipts", UNIT, "", *TABLE, "", NOTE, "", "Text that follows."]
PLACES = ("released", "before", "after", "other side")
STYLES = ("released", "markdown", "compact", "bare")
LAYOUTS = [
    LayoutProtocol(unit_place=unit, note_place=note, table_style=style)
    for unit, note, style in product(PLACES, PLACES, STYLES)
]


def test_units_go_behind_their_table_with_their_gap() -> None:
    shown = lay_out(DOCUMENT, LayoutProtocol(unit_place="after"))
    assert shown == ("## Receipts", *TABLE, "", UNIT, "", NOTE, "", "Text that follows.")
    assert shown == lay_out(DOCUMENT, LayoutProtocol(unit_place="other side"))


def test_notes_go_before_their_table_and_stand_farther_than_units() -> None:
    shown = lay_out(DOCUMENT, LayoutProtocol(note_place="before"))
    assert shown == ("## Receipts", NOTE, "", UNIT, "", *TABLE, "", "Text that follows.")


def test_each_table_keeps_its_own_unit() -> None:
    other = "Percent"
    shown = lay_out(["Text", UNIT, *TABLE, other, *TABLE, "End"], LayoutProtocol(unit_place="after"))
    assert shown == ("Text", *TABLE, UNIT, *TABLE, other, "End")


def test_tables_are_written_in_three_styles() -> None:
    table = ["| Year | Sum |", "| --- | --- |", "| 1980 | a \\| b |", "| | 5 |", "| x\\ | 1 |"]
    styles = {style: lay_out(table, LayoutProtocol(table_style=style)) for style in ("markdown", "compact", "bare")}
    assert styles["compact"] == ("|Year|Sum|", "|---|---|", "|1980|a \\| b|", "||5|", "| x\\ | 1 |")
    assert styles["bare"] == ("Year | Sum", "--- | ---", "1980 | a \\| b", "|  | 5 |", "| x\\ | 1 |")
    assert styles["markdown"] == ("| Year | Sum |", "| --- | --- |", "| 1980 | a \\| b |", "|  | 5 |", "| x\\ | 1 |")


def test_the_released_layout_is_the_released_lines() -> None:
    assert lay_out(DOCUMENT, RELEASED) == tuple(DOCUMENT)
    assert pieces(DOCUMENT, RELEASED) == [
        "## Receipts",
        {"unit": [UNIT], "note": [NOTE], "rows": [["Year", "Sum"], ["---", "---"], ["1980", "1,234"]]},
        "Text that follows.",
    ]


_LINES = st.sampled_from(
    ["", "", UNIT, "Percent", NOTE, "Source: Treasury.", "Text.", "a | b", "Note: a | b", "| --- | --- |", " ",
     "| 1 | 2 |", "|", "| | x", "a\\|b | c", "| y\\ | z |", "| Head | Sum |"]
)  # fmt: skip
_TABLES = st.sampled_from([TABLE, [*TABLE, "| | 7 |"], ["h | k", "---|---", "1 | 2"]])


@example([TABLE, [UNIT], ["| --- | --- |"], ["| --- | --- |"]], LayoutProtocol(unit_place="before"))
@example([[UNIT], TABLE, ["a | b"], ["| --- | --- |"]], LayoutProtocol(unit_place="after"))
@example([["Text."], [UNIT], TABLE, TABLE, ["Percent"], ["Text."]], LayoutProtocol(unit_place="other side"))
@example([["Text."], [NOTE], TABLE, TABLE, [NOTE], ["Text."]], LayoutProtocol(note_place="other side"))
@settings(max_examples=300, deadline=None)
@given(st.lists(_LINES.map(lambda line: [line]) | _TABLES, max_size=14), st.sampled_from(LAYOUTS))
def test_what_lines_say_is_the_same_in_every_layout(parts: list[list[str]], layout: LayoutProtocol) -> None:
    lines = [line for part in parts for line in part]
    shown = lay_out(lines, layout)
    assert len(shown) == len(lines)
    assert pieces(shown, layout) == pieces(lines, RELEASED)
