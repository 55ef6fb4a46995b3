"""Files become text by their suffix; nothing in them is run, and what is not what it says is told."""

from __future__ import annotations

import pytest

from chase.benchmarks.documents.conversion import MOST_CELLS, Unreadable, to_text


def test_text_and_markdown_stay_as_they_are() -> None:
    text = "# A  title\n\n| a |\n<b>not a tag</b>\t\n"
    assert to_text(".txt", text) == to_text(".MD", text) == text


def test_a_csv_becomes_a_table_of_even_rows() -> None:
    shown = to_text(".csv", 'year,"salt, tonnes",note\r\n1991,7\r\n,,\r\n1992,8,"a | b\nc"\r\n')
    assert shown.splitlines() == [
        "| year | salt, tonnes | note |",
        "| --- | --- | --- |",
        "| 1991 | 7 |  |",
        "| 1992 | 8 | a \\| b c |",
    ]


def test_json_is_indented_in_its_own_order_and_letters() -> None:
    assert to_text(".json", '{"ø":[1.50,null],"a":true}') == '{\n "ø": [\n  1.5,\n  null\n ],\n "a": true\n}'


def test_html_becomes_its_text_with_headings_lists_and_tables_and_without_code() -> None:
    page = """<!doctype html><html><head><title>T</title><style>p {color: red}</style></head><body>
    <h2>Salt &amp; rope</h2><script>alert("x")</script><p>Shipped <b>in</b>
    1991.<br>Weighed twice.</p><ul><li>one<li>two</ul><!-- hidden -->
    <table><tr><th>year<th>tonnes</tr><tr><td>1991</td><td>7 <i>final</i></td></tr><tr><td>1992</td></tr></table>
    <p>After.</body></html>"""
    assert [line for line in to_text(".html", page).splitlines() if line] == [
        "## Salt & rope",
        "Shipped in 1991.",
        "Weighed twice.",
        "- one",
        "- two",
        "| year | tonnes |",
        "| --- | --- |",
        "| 1991 | 7 final |",
        "| 1992 |  |",
        "After.",
    ]


@pytest.mark.parametrize(
    "page", ["<table><tr><td>7</td><td>8", "<td>7", "<p>7</div></p></table>", "<script></script></script>7"]
)
def test_html_that_ends_in_the_middle_loses_no_text(page: str) -> None:
    assert "7" in to_text(".htm", page)


@pytest.mark.parametrize(
    ("suffix", "text", "said", "line"),
    [
        (".csv", 'a,b\n1,2\n3,"4', "cannot be read", 3),
        (".csv", ",".join("x" * (MOST_CELLS + 1)), f"{MOST_CELLS} are the most", None),
        (".json", '{"a": }', "Mend it", None),
        (".json", '{"a": NaN}', "Mend it", None),
    ],
)
def test_what_is_not_what_its_suffix_says_is_told(suffix: str, text: str, said: str, line: int | None) -> None:
    with pytest.raises(Unreadable, match=said) as told:
        to_text(suffix, text)
    assert told.value.line == line
