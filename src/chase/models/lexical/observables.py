"""What the program can be told to lean on: the common observables, and some of its own about passages and tables.

They are its own reading of the names. A benchmark that lists observables under the same names computes them itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from chase.core.markdown_tables import is_row
from chase.core.observables import OBSERVABLES
from chase.core.values import Sighting
from chase.models.lexical.periods import MONTHS
from chase.models.lexical.results import read_item
from chase.models.lexical.tables import Table, is_note, tables_in
from chase.models.lexical.units import stated_unit

Level = Callable[[Sighting], float | None]


def _of_lines(level: Callable[[tuple[str, ...]], float]) -> Level:
    """A level of the lines that were shown; None where none were."""
    remembered = lru_cache(maxsize=1024)(lambda text: level(tuple(text.split("\n"))))
    return lambda shown: None if not shown.text else remembered(shown.text)


def _share(pattern: str) -> Level:
    compiled = re.compile(pattern)
    return _of_lines(lambda lines: len(compiled.findall("\n".join(lines))) / max(1, len("\n".join(lines))))


def _lines(kind: Callable[[str], bool]) -> Level:
    return _of_lines(lambda lines: float(sum(map(kind, lines))))


def _of_tables(level: Callable[[tuple[str, ...], tuple[Table, ...]], float]) -> Level:
    return _of_lines(lambda lines: level(lines, tables_in(lines)))


def _units_before(lines: tuple[str, ...], tables: tuple[Table, ...]) -> float:
    """The share of tables whose unit stands right before them."""
    before = ([line for line in lines[: table.first] if line.strip()][-1:] for table in tables)
    return sum(bool(last) and stated_unit(last[0]) is not None for last in before) / max(1, len(tables))


def _start(shown: Sighting) -> float | None:
    item = read_item(shown.fields)
    return float(item.start) if item is not None and item.start is not None else None


def _name_year(shown: Sighting) -> float | None:
    found = re.search(r"(?<!\d)(?:1[789]|20)\d\d(?!\d)", shown.path)
    return float(found[0]) if found else None


def _name_month(shown: Sighting) -> float | None:
    named = (n for n, month in enumerate(MONTHS, start=1) if month[:3] in shown.path.lower())
    found = re.search(r"(?<!\d)(0[1-9]|1[0-2])(?!\d)", shown.path)
    return float(found[1]) if found else next((float(n) for n in named), None)


LEVELS: Mapping[str, Level] = {
    **OBSERVABLES,
    "name-year": _name_year,
    "name-month": _name_month,
    "passage-start": _start,
    "digit-share": _share(r"\d"),
    "capital-share": _share("[A-Z]"),
    "bar-share": _share(r"\|"),
    "year-count": _of_lines(lambda lines: float(len(set(re.findall(r"\b(?:1[789]|20)\d\d\b", "\n".join(lines)))))),
    "heading-count": _lines(lambda line: line.startswith("#")),
    "longest-line": _of_lines(lambda lines: float(max(map(len, lines)))),
    "table-count": _of_tables(lambda _, tables: float(len(tables))),
    "table-rows": _lines(is_row),
    "lines-before-table": _of_tables(lambda lines, tables: float(tables[0].first if tables else len(lines))),
    "lines-after-table": _of_tables(lambda lines, tables: float(len(lines) - 1 - (tables[-1].last if tables else -1))),
    "unit-count": _lines(lambda line: stated_unit(line) is not None),
    "unit-before-table": _of_tables(_units_before),
    "note-count": _lines(is_note),
}
"""By name."""
