"""Markdown tables in lines of text."""

from __future__ import annotations

import pytest

from chase.core.markdown_tables import cells, is_delimiter, is_row, table_spans

TEXT = """Heading
| Year | Total |
| --- | --- |
| 1980 | 12 |
| 1981 |  |

a | b
| One |
| --- |
| 1 |
| A | B |
| --- | --- |
| C | D |
|:---|---:|
| 1 | 2 |
| Lonely | header |
| --- | --- |
""".split("\n")


def test_tables_have_a_header_a_delimiter_a_data_row_and_two_columns() -> None:
    assert [TEXT[start:end][0] for start, end in table_spans(TEXT)] == ["| Year | Total |", "| C | D |"]
    assert [end - start for start, end in table_spans(TEXT)] == [4, 3]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("| a | b |", ("a", "b")),
        ("a|b", ("a", "b")),
        (r"| a \| b |  | c |", ("a | b", "", "c")),
        ("|  |  |", ("", "")),
        ("| a |  |", ("a", "")),
        ("", ()),
    ],
)
def test_cells_are_stripped_and_bars_unescaped(line: str, expected: tuple[str, ...]) -> None:
    assert cells(line) == expected


def test_a_delimiter_is_no_row_of_words() -> None:
    assert is_delimiter("| --- | :---: |")
    assert is_delimiter("---|---")
    assert not is_delimiter("| a | --- |")
    assert not is_delimiter("--- PAGE 3 ---")
    assert is_row("| a | b |")
    assert not is_row(r"a \| b")
