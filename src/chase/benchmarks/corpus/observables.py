"""What can be observed of a result over any corpus: on its fields and on the shape of its text.

Observables see fields under the names that a variant shows: where a field is called otherwise or stands elsewhere, they
see nothing. The text of a result, of a search or a reading, is its field `text`; a window is what was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from chase.core.markdown_tables import table_spans
from chase.core.observables import OBSERVABLES as COMMON
from chase.core.observables import ObservableFunction
from chase.core.values import Sighting

LONGEST = 40_000
"""Characters of a text that are looked at: more than any tool shows."""
_YEAR = re.compile(r"(?<!\d)(?:1[789]|20)\d\d(?!\d)")
Measure = Callable[[str], float | None]


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


def of_text(measure: Measure) -> Callable[[Sighting], float | None]:
    def measured(shown: Sighting) -> float | None:
        text = _text(shown)
        return None if text is None else measure(text)

    return measured


def _share(pattern: str) -> Measure:
    compiled = re.compile(pattern)
    return lambda text: len(compiled.findall(text)) / len(text) if text else None


def _longest(text: str) -> float:
    return float(max(map(len, text.split("\n"))))


def _letters(text: str) -> float:
    return float(len(text))


def _years(text: str) -> float:
    return float(len(set(_YEAR.findall(text))))


def digit_sum(text: str) -> float | None:
    digits = [int(c) for c in text if c in "0123456789"]
    return float(sum(digits)) if digits else None


def _of_window(measure: Measure) -> Callable[[Sighting], float | None]:
    return lambda shown: None if shown.text is None else measure(shown.text[:LONGEST])


def _bars(text: str) -> float:
    return float(text.count("|"))


def _headings(text: str) -> float:
    return float(len(re.findall("(?m)^#", text)))


def _of_tables(measure: Callable[[list[tuple[int, int]], int], float | None]) -> Measure:
    """Of the tables in a text, as (first line, line after the last), and of its number of lines."""

    def measured(text: str) -> float | None:
        lines = text.split("\n")
        return measure(list(table_spans(lines)), len(lines))

    return measured


def _table_count(tables: list[tuple[int, int]], lines: int) -> float:
    return float(len(tables))


def _table_rows(tables: list[tuple[int, int]], lines: int) -> float:
    return float(sum(end - start for start, end in tables))


def _before(tables: list[tuple[int, int]], lines: int) -> float | None:
    return float(tables[0][0]) if tables else None


def _after(tables: list[tuple[int, int]], lines: int) -> float | None:
    return float(lines - tables[-1][1]) if tables else None


OF_RESULTS: dict[str, ObservableFunction] = {
    observable.name: observable
    for observable in (
        ObservableFunction("passage-number", "which passage of its document", lambda s: _number(s, "passage"), "tools"),
        ObservableFunction("passage-start", "the first line of the passage", _start, "tools"),
        ObservableFunction("text-size", "letters in the result's text", of_text(_letters)),
        ObservableFunction("digit-share", "share of digits in the result's text", of_text(_share(r"\d"))),
        ObservableFunction("capital-share", "share of capitals in the result's text", of_text(_share("[A-Z]"))),
        ObservableFunction("bar-share", "share of vertical bars in the result's text", of_text(_share(r"\|"))),
        ObservableFunction("year-count", "different years in the result's text", of_text(_years)),
        ObservableFunction("heading-count", "lines of the result's text that begin with #", of_text(_headings)),
        ObservableFunction("longest-line", "letters in the longest line of the result's text", of_text(_longest)),
        ObservableFunction("table-count", "tables in the result's text", of_text(_of_tables(_table_count))),
        ObservableFunction("table-rows", "rows of tables in the result's text", of_text(_of_tables(_table_rows))),
        ObservableFunction(
            "lines-before-table", "lines before the first table of the result's text", of_text(_of_tables(_before))
        ),
        ObservableFunction(
            "lines-after-table", "lines after the last table of the result's text", of_text(_of_tables(_after))
        ),
        ObservableFunction("window-size", "letters in what was read", _of_window(_letters)),
        ObservableFunction("window-digits", "share of digits in what was read", _of_window(_share(r"\d"))),
        ObservableFunction("window-bars", "vertical bars in what was read", _of_window(_bars)),
    )
}
"""By name. A benchmark lists those that apply to it, and brings others."""


def listed(names: Iterable[str]) -> tuple[ObservableFunction, ...]:
    """Observables by name: those of results, and the common ones of `chase.core`."""
    return tuple(OF_RESULTS.get(name) or COMMON[name] for name in names)
