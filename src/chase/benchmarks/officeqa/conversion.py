"""Parsed JSON as text: our own converter in place of the released functions, which is a declared departure.

It follows what the released converter does: elements in order whatever their type, HTML tables as Markdown, header
levels joined by " > " (a level that spans rows is repeated, "Year > Year"), page marks where the page changes.

The released converter reads tables through a data frame, which has effects on cells. Of these we keep that spans are
filled in, that a table without a header gets 0, 1, 2 … as names, and that white space collapses: they are how such a
table becomes a Markdown table at all. We do not keep those that change what is printed: a missing value is empty and
not `nan`, "1,234" stays as it is, and whole numbers do not become decimals beside a gap. A reader who compares a
figure with the document then finds it as it was printed.

The text depends on the parsed document alone. No input makes it fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from chase.benchmarks.officeqa.html_tables import HtmlTable, UnreadableHtml, read_tables
from chase.core.values import Json

VERSION = 1
_TABLE = re.compile(r"<table", re.IGNORECASE)
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BACKTICKS = re.compile(r"`{3,}")


def to_text(parsed: Mapping[str, Json]) -> str:
    """The text of a parsed document; empty where it has no elements with content."""
    text = "\n".join(_lines(parsed))
    return _LONE_SURROGATE.sub("\ufffd", text)


def _lines(parsed: Mapping[str, Json]) -> Iterator[str]:
    page: int | None = None
    for content, stands_on in _contents(parsed):
        if stands_on is not None and stands_on != page:
            if page is not None:
                yield ""
            page = stands_on
            yield from (f"--- PAGE {page} ---", "")
        yield from _element_lines(content)


def _contents(parsed: Mapping[str, Json]) -> Iterator[tuple[str, int | None]]:
    """(content, page) of every element whose content is a non-blank string."""
    document = parsed.get("document")
    elements = document.get("elements") if isinstance(document, Mapping) else None
    for element in elements if isinstance(elements, list) else ():
        content = element.get("content") if isinstance(element, Mapping) else None
        if isinstance(content, str) and content.strip():
            yield content, _page(element.get("bbox"))


def _page(boxes: Json) -> int | None:
    """The page of an element's first box; None where it has none, and it stays on the current page."""
    first = boxes[0] if isinstance(boxes, list) and boxes else None
    number = first.get("page_id") if isinstance(first, Mapping) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def _element_lines(content: str) -> Iterator[str]:
    content = content.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not _TABLE.search(content):
        yield from (*content.split("\n"), "")
        return
    try:
        tables = read_tables(content)
    except UnreadableHtml:
        yield from (*_fenced(content), "")
        return
    for table in tables:
        yield from (*markdown(table), "")


def _fenced(markup: str) -> Iterator[str]:
    """Raw HTML in a fence that nothing in it closes."""
    fence = "`" * max([3, *(len(run) + 1 for run in _BACKTICKS.findall(markup))])
    yield f"{fence}html"
    yield from markup.split("\n")
    yield fence


def markdown(table: HtmlTable) -> Iterator[str]:
    """The rows of a Markdown table."""
    names = column_names(table)
    yield _row(names)
    yield _row(["---"] * len(names))
    for row in table.body:
        yield _row(row)


def column_names(table: HtmlTable) -> list[str]:
    """One name for each column, no name twice."""
    width = len((*table.header, *table.body)[0])
    if not table.header:
        return [str(i) for i in range(width)]
    paths = (" > ".join(filter(None, levels)) for levels in zip(*table.header, strict=True))
    return _distinct([path or f"col_{i}" for i, path in enumerate(paths, 1)])


def _distinct(names: Sequence[str]) -> list[str]:
    """A repeated name gets _2, _3 …, or the next number that is free."""
    found: list[str] = []
    taken = set(names)
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = number = seen.get(name, 0) + 1
        while number > 1 and f"{name}_{number}" in taken:
            number += 1
        found.append(name if seen[name] == 1 else f"{name}_{number}")
        taken.add(found[-1])
        seen[name] = number
    return found


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
