"""A document's elements as bulletin text, or as the parsed JSON that Pro V2 ships."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator

from chase.benchmarks.officeqa.sample.elements import TABLES_OF_PAGE, Element, Grid
from chase.core.values import Json

HEADINGS = {"title": "# ", "section_header": "## ", "caption": "### "}
BOX = [100, 100, 2000, 400]


def as_text(elements: Iterable[Element]) -> str:
    """Markdown, a blank line after each element."""
    return "\n".join(line for element in elements for line in (*_text_lines(element), ""))


def _text_lines(element: Element) -> Iterator[str]:
    if element.grid is None:
        yield HEADINGS.get(element.kind, "") + element.text
        return
    yield f"| {' | '.join(element.grid.header)} |"
    yield f"|{' --- |' * len(element.grid.header)}"
    for row in element.grid.rows:
        yield f"| {' | '.join(row)} |"


def as_parsed_json(elements: Iterable[Element]) -> str:
    """The published form: elements with type, content and the page they stand on; tables are HTML."""
    return json.dumps({"document": {"elements": list(_parsed(elements))}}, ensure_ascii=False)


def _parsed(elements: Iterable[Element]) -> Iterator[Json]:
    page, tables = 1, 0
    for element in elements:
        content = element.text if element.grid is None else _html(element.grid)
        yield {"type": element.kind, "content": content, "bbox": [{"page_id": page, "coord": BOX}]}
        tables += element.grid is not None
        if element.grid is not None and tables % TABLES_OF_PAGE == 0:
            yield {"type": "page_number", "content": str(page), "bbox": [{"page_id": page, "coord": BOX}]}
            page += 1


def _html(grid: Grid) -> str:
    """A table whose header levels are rows of their own: groups span columns, and short paths span rows."""
    paths = [name.split(" > ") for name in grid.header]
    depth = max(map(len, paths))
    head = "".join(f"<tr>{''.join(_header_row(paths, level, depth))}</tr>" for level in range(depth))
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in grid.rows)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _header_row(paths: list[list[str]], level: int, depth: int) -> Iterator[str]:
    place = 0
    while place < len(paths):
        path, end = paths[place], place + 1
        if level >= len(path):
            place = end
            continue
        last = level == len(path) - 1
        while (
            not last
            and end < len(paths)
            and paths[end][: level + 1] == path[: level + 1]
            and len(paths[end]) > level + 1
        ):
            end += 1
        spans = (f' colspan="{end - place}"' if end - place > 1 else "") + (
            f' rowspan="{depth - level}"' if last and depth - level > 1 else ""
        )
        yield f"<th{spans}>{html.escape(path[level])}</th>"
        place = end
