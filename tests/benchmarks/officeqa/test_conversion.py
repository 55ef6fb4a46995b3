"""Parsed JSON as text: the published form, its spans and headers, and hostile input."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chase.benchmarks.officeqa.conversion import to_text
from chase.benchmarks.officeqa.html_tables import MOST_CELLS, UnreadableHtml, read_tables
from chase.core.markdown_tables import cells, table_spans


def parsed(*contents: Any, pages: tuple[Any, ...] = ()) -> dict[str, Any]:
    boxes = [[{"page_id": page}] for page in pages] or [[]] * len(contents)
    found = [{"type": "text", "content": c, "bbox": b} for c, b in zip(contents, boxes, strict=True)]
    return {"document": {"elements": found}}


def test_text_keeps_its_lines_and_a_blank_line_follows() -> None:
    assert to_text(parsed(" a\r\nb\rc \n", "d")) == "a\nb\nc\n\nd\n"


@pytest.mark.parametrize("content", [None, "", "  \n", 7, ["x"], {"a": 1}])
def test_an_element_without_text_is_skipped(content: Any) -> None:
    assert to_text(parsed(content, "a")) == "a\n"


def test_a_page_is_marked_where_it_changes_and_an_element_without_one_stays() -> None:
    text = to_text(parsed("a", "b", "c", "d", pages=(3, None, 3, 4)))
    assert text == "--- PAGE 3 ---\n\na\n\nb\n\nc\n\n\n--- PAGE 4 ---\n\nd\n"


def test_header_levels_are_joined_and_a_level_that_spans_rows_is_repeated() -> None:
    html = (
        "before<TABLE><thead><tr><th rowspan=2>Year</th><th colspan='2'>Receipts</th><th></th></tr>"
        "<tr><th>Customs</th><th>Other</th><th></th></tr></thead>"
        "<tr><td>1978<td>1,234<td>&nbsp;<td>a|b<br>c</table>after"
    )
    assert to_text(parsed(html)).split("\n") == [
        "| Year > Year | Receipts > Customs | Receipts > Other | col_4 |",
        "| --- | --- | --- | --- |",
        "| 1978 | 1,234 |  | a\\|b c |",
        "",
    ]


def test_spans_of_the_body_are_filled_in_and_short_rows_too() -> None:
    html = "<table><tr><th>A<th>B<th>C</tr><tr><td rowspan=2>x<td colspan=2>y</tr><tr><td>z</tr><tr></tr></table>"
    (table,) = read_tables(html)
    assert (table.header, table.body) == ((("A", "B", "C"),), (("x", "y", "y"), ("x", "z", "")))


def test_a_table_without_a_header_gets_numbers_and_repeated_names_get_a_number() -> None:
    assert to_text(parsed("<table><tr><td>a<td>b</table>")).startswith("| 0 | 1 |\n| --- | --- |\n| a | b |")
    repeated = "<table><tr><th>a<th>a<th>a_2<th>a</tr><tr><td>1</table>"
    assert to_text(parsed(repeated)).startswith("| a | a_3 | a_2 | a_4 |")
    assert to_text(parsed("<table><tr><th>a<th>a<th>a</tr><tr><td>1</table>")).startswith("| a | a_2 | a_3 |")


def test_several_tables_and_one_inside_another_are_all_written() -> None:
    tables = read_tables("<table><tr><td>a<table><tr><td>in</table> b</table><table><tr><td>c</table>")
    assert [table.body for table in tables] == [(("a b",),), (("in",),), (("c",),)]


@pytest.mark.parametrize("html", ["<table>", "<table></table>", "<TABLET>", "<table><tr></tr>"])
def test_what_holds_no_table_is_fenced_as_it_is(html: str) -> None:
    assert to_text(parsed(html)) == f"```html\n{html}\n```\n"


def test_a_fence_is_longer_than_any_in_it() -> None:
    assert to_text(parsed("<table>\n```")) == "````html\n<table>\n```\n````\n"


def test_spans_that_would_fill_memory_are_refused() -> None:
    rows = "".join("<tr>" + "<td rowspan=65534 colspan=1000>x" * 4 for _ in range(MOST_CELLS // 4000 + 2))
    with pytest.raises(UnreadableHtml, match="more than 1000000 cells"):
        read_tables(f"<table>{rows}</table>")
    ragged = f"<tr>{'<td colspan=1000>x' * 900}" + "<tr><td>y" * 10
    with pytest.raises(UnreadableHtml, match="a table of 11 rows and 900000 columns"):
        read_tables(f"<table>{ragged}</table>")


@pytest.mark.parametrize("span", ["-1", "0", "x", "", "1e9", "9" * 5000, "٣"])
def test_a_strange_span_is_no_failure(span: str) -> None:
    (table,) = read_tables(f'<table><tr><td colspan="{span}">a<td>b</tr></table>')
    assert table.body[0][0] == "a"


@pytest.mark.parametrize("document", [{}, {"document": None}, {"document": {"elements": {}}}, {"document": []}])
def test_a_document_without_elements_is_empty(document: dict[str, Any]) -> None:
    assert to_text(document) == ""


TAGS = (
    "<table,<table>,</table>,<tr>,</tr>,<td>,<th rowspan=3>,<td colspan=2>,<thead>,</thead>,<!--,<![x,<?x,|,```,\\"
).split(",")
markup = st.lists(st.sampled_from([*TAGS, "a", "\n", "&#", "<", ">", "\ud800"]) | st.text(max_size=3), max_size=30)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(markup.map("".join) | json_values, max_size=4), json_values)
def test_no_content_makes_it_fail_and_the_text_can_be_stored(contents: list[Any], box: Any) -> None:
    elements = [{"content": content, "bbox": box} for content in contents]
    assert isinstance(to_text({"document": {"elements": [*elements, box]}}).encode(), bytes)


words = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"], exclude_characters="<>&\\"), min_size=1
)


@given(st.lists(st.lists(words, min_size=2, max_size=4), min_size=2, max_size=5))
def test_plain_cells_survive(rows: list[list[str]]) -> None:
    width = max(map(len, rows))
    html = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    lines = to_text(parsed(f"<table>{html}</table>")).split("\n")
    assert [list(cells(line)) for line in lines[2:-1]] == [row + [""] * (width - len(row)) for row in rows]
    assert len(list(table_spans(lines))) >= 1
