"""What can be observed of a document: common observables, and OfficeQA's own, on fields of results and on the text.

They see fields under the names that a variant shows: where a field is called otherwise or stands elsewhere, they see
nothing. The text of a result, of a search or a reading, is its field `text`; a window is what was read of a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from chase.benchmarks.officeqa.blocks import Kind, blocks
from chase.core.observables import OBSERVABLES as COMMON
from chase.core.observables import ObservableFunction
from chase.core.values import Sighting

_COMMON = ("id-initial", "id-final", "listing-position", "hit-position", "window")
LONGEST = 40_000
"""Characters of a text that are looked at: more than any tool shows."""
_YEAR = re.compile(r"(?<!\d)(?:1[789]|20)\d\d(?!\d)")


def _text(shown: Sighting) -> str | None:
    text = shown.fields.get("text")
    return text[:LONGEST] if isinstance(text, str) else None


def _number(shown: Sighting, name: str) -> float | None:
    value = shown.fields.get(name)
    return float(value) if isinstance(value, int) and abs(value) < 1e9 else None


def _lines(shown: Sighting) -> tuple[int, int] | None:
    found = re.fullmatch(r"(\d{1,9})-(\d{1,9})", str(shown.fields.get("lines")))
    return (int(found[1]), int(found[2])) if found else None


def _start(shown: Sighting) -> float | None:
    lines = _lines(shown)
    return None if lines is None else float(lines[0])


def _name_number(part: int) -> Callable[[Sighting], float | None]:
    """The year or the month in a name such as `treasury_bulletin_1980_04.txt`."""

    def read(shown: Sighting) -> float | None:
        found = re.search(r"(?<!\d)((?:1[789]|20)\d\d)[_-](\d\d)(?!\d)", shown.path)
        return float(found[part]) if found else None

    return read


def _of_text(measure: Callable[[str], float | None]) -> Callable[[Sighting], float | None]:
    def measured(shown: Sighting) -> float | None:
        text = _text(shown)
        return None if text is None else measure(text)

    return measured


Blocks = Sequence[tuple[Kind, int, int]]
"""Kind, first line, line after the last."""


def _of_blocks(measure: Callable[[Blocks], float | None]) -> Callable[[Sighting], float | None]:
    return _of_text(lambda text: measure([(b.kind, b.start, b.end) for b in blocks(text.split("\n"))]))


def _share(pattern: str) -> Callable[[str], float | None]:
    compiled = re.compile(pattern)
    return lambda text: len(compiled.findall(text)) / len(text) if text else None


def _count(kind: Kind) -> Callable[[Blocks], float]:
    return lambda found: float(sum(k == kind for k, _, _ in found))


def _table_rows(found: Blocks) -> float:
    return float(sum(end - start for kind, start, end in found if kind == "table"))


def _before(found: Blocks) -> float | None:
    return next((float(start) for kind, start, _ in found if kind == "table"), None)


def _after(found: Blocks) -> float | None:
    ends = [end for kind, _, end in found if kind == "table"]
    return float(found[-1][2] - ends[-1]) if ends else None


def _units_before(found: Blocks) -> float | None:
    """The share of tables with a unit statement right before them; blank lines do not count."""
    kinds = [kind for kind, _, _ in found if kind != "blank"]
    before = [place > 0 and kinds[place - 1] == "unit" for place, kind in enumerate(kinds) if kind == "table"]
    return sum(before) / len(before) if before else None


def _longest(text: str) -> float:
    return float(max(map(len, text.split("\n"))))


def _letters(text: str) -> float:
    return float(len(text))


def _years(text: str) -> float:
    return float(len(set(_YEAR.findall(text))))


def _digit_sum(text: str) -> float | None:
    digits = [int(c) for c in text if c in "0123456789"]
    return float(sum(digits)) if digits else None


def _of_window(measure: Callable[[str], float | None]) -> Callable[[Sighting], float | None]:
    return lambda shown: None if shown.text is None else measure(shown.text[:LONGEST])


def _bars(text: str) -> float:
    return float(text.count("|"))


def _headings(text: str) -> float:
    return float(len(re.findall("(?m)^#", text)))


OBSERVABLES: tuple[ObservableFunction, ...] = (
    *(COMMON[name] for name in _COMMON),
    ObservableFunction("name-year", "the year in the document's name", _name_number(1)),
    ObservableFunction("name-month", "the month in the document's name", _name_number(2)),
    ObservableFunction("name-digits", "sum of the digits in the document's name", lambda s: _digit_sum(s.path)),
    ObservableFunction("passage-number", "which passage of its document", lambda s: _number(s, "passage")),
    ObservableFunction("passage-start", "the first line of the passage", _start),
    ObservableFunction("text-size", "letters in the result's text", _of_text(_letters)),
    ObservableFunction("digit-share", "share of digits in the result's text", _of_text(_share(r"\d"))),
    ObservableFunction("capital-share", "share of capitals in the result's text", _of_text(_share("[A-Z]"))),
    ObservableFunction("bar-share", "share of vertical bars in the result's text", _of_text(_share(r"\|"))),
    ObservableFunction("year-count", "different years in the result's text", _of_text(_years)),
    ObservableFunction("heading-count", "lines of the result's text that begin with #", _of_text(_headings)),
    ObservableFunction("longest-line", "letters in the longest line of the result's text", _of_text(_longest)),
    ObservableFunction("table-count", "tables in the result's text", _of_blocks(_count("table"))),
    ObservableFunction("table-rows", "rows of tables in the result's text", _of_blocks(_table_rows)),
    ObservableFunction("lines-before-table", "lines before the first table of the result's text", _of_blocks(_before)),
    ObservableFunction("lines-after-table", "lines after the last table of the result's text", _of_blocks(_after)),
    ObservableFunction("unit-count", "statements of a unit in the result's text", _of_blocks(_count("unit"))),
    ObservableFunction("unit-before-table", "share of its tables right after a unit", _of_blocks(_units_before)),
    ObservableFunction("note-count", "notes and sources in the result's text", _of_blocks(_count("note"))),
    ObservableFunction("window-size", "letters in what was read", _of_window(_letters)),
    ObservableFunction("window-digits", "share of digits in what was read", _of_window(_share(r"\d"))),
    ObservableFunction("window-bars", "vertical bars in what was read", _of_window(_bars)),
)
