"""Documents as lines of text. Nothing in them is executed, fetched or followed.

Text and Markdown stay as they are. A CSV is shown as a Markdown table, JSON indented, HTML as its text, with its tables
as Markdown tables. The text depends on the file alone.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from html.parser import HTMLParser

from chase.core.outside import NotPlain, parse_json

VERSION = 1
MOST_CELLS = 200
"""Columns of a CSV: more is no table."""
_SKIPPED = frozenset({"script", "style", "template", "noscript", "head"})
_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p "
    "pre section table tr ul".split()
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}


class Unreadable(ValueError):
    """A file is not what its suffix says. The message says why, with the line where it is known."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line


def _as_it_is(text: str) -> str:
    return text


def _of_csv(text: str) -> str:
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [row for row in table if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise Unreadable(f"the CSV cannot be read: {error}. Mend the quotes of this row.", table.line_num) from None
    if not rows:
        return ""
    width = max(map(len, rows))
    if width > MOST_CELLS:
        raise Unreadable(f"a row has {width} cells, and {MOST_CELLS} are the most. Divide the table.")
    return "\n".join(markdown_table([[*row, *[""] * (width - len(row))] for row in rows]))


def _of_json(text: str) -> str:
    try:
        return json.dumps(parse_json(text), ensure_ascii=False, indent=1) if text.strip() else ""
    except NotPlain as error:
        raise Unreadable(f"it is {error}. Mend it, or name it .txt.") from None


def markdown_table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as a Markdown table, the first its header."""
    header, *body = ([" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in rows)
    lines = [header, ["---"] * len(header), *body]
    return [f"| {' | '.join(cells)} |" for cells in lines]


class _Page(HTMLParser):
    """A page's text, block by block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self._text: list[str] = []
        self._skipped = 0
        self._rows: list[list[str]] | None = None
        self._cell = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in _SKIPPED:
            self._skipped += 1
        if tag == "table" and self._rows is None:
            self._end_block()
            self._rows = []
        elif self._rows is not None and tag == "tr":
            self._rows.append([])
        elif self._rows is not None and tag in ("td", "th"):
            self._end_cell()
            self._cell = True
        elif tag in _BLOCKS and self._rows is None:
            self._end_block()
            self._text += [f"{_HEADINGS[tag]} "] if tag in _HEADINGS else ["- "] if tag == "li" else []

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipped = max(0, self._skipped - 1)
        if self._rows is not None and tag in ("td", "th", "tr"):
            self._end_cell()
        elif self._rows is not None and tag == "table":
            self._end_cell()
            self._end_table(self._rows)
        elif tag in _BLOCKS and self._rows is None:
            self._end_block()

    def handle_data(self, data: str) -> None:
        if not self._skipped and (self._rows is None or self._cell):
            self._text.append(data)

    def finish(self) -> list[str]:
        self._end_cell()
        if self._rows is not None:
            self._end_table(self._rows)
        self._end_block()
        return self.lines

    def _end_block(self) -> None:
        line = " ".join("".join(self._text).split())
        self._text = []
        if line.strip("#- "):
            self.lines += [line, ""]

    def _end_cell(self) -> None:
        if self._cell and self._rows is not None:
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append(" ".join("".join(self._text).split()))
            self._text = []
        self._cell = False

    def _end_table(self, rows: list[list[str]]) -> None:
        self._rows = None
        held = [row for row in rows if row]
        if held:
            width = max(map(len, held))
            self.lines += [*markdown_table([*row, *[""] * (width - len(row))] for row in held), ""]


def _of_html(text: str) -> str:
    page = _Page()
    try:
        page.feed(text)
        page.close()
    except (AssertionError, ValueError, RecursionError) as error:
        raise Unreadable(f"the HTML cannot be read ({error}). Save it as text.") from None
    return "\n".join(page.finish()).rstrip("\n")


CONVERTERS: Mapping[str, Callable[[str], str]] = {
    ".txt": _as_it_is,
    ".md": _as_it_is,
    ".markdown": _as_it_is,
    ".csv": _of_csv,
    ".json": _of_json,
    ".html": _of_html,
    ".htm": _of_html,
}
"""Suffix → how a file's text becomes a document's."""


def to_text(suffix: str, text: str) -> str:
    """The document of a file's text; `Unreadable` where it is not what its suffix says."""
    return CONVERTERS[suffix.lower()](text)
