"""What can be observed of a document: common observables, and OfficeQA's own, on names and on units and notes.

They see fields under the names that a variant shows: where a field is called otherwise or stands elsewhere, they see
nothing. The text of a result, of a search or a reading, is its field `text`; a window is what was read of a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from chase.benchmarks.corpus.observables import digit_sum, listed, of_text
from chase.benchmarks.officeqa.blocks import Kind, blocks
from chase.core.observables import ObservableFunction
from chase.core.values import Sighting


def _name_number(part: int) -> Callable[[Sighting], float | None]:
    """The year or the month in a name such as `treasury_bulletin_1980_04.txt`."""

    def read(shown: Sighting) -> float | None:
        found = re.search(r"(?<!\d)((?:1[789]|20)\d\d)[_-](\d\d)(?!\d)", shown.path)
        return float(found[part]) if found else None

    return read


Blocks = Sequence[tuple[Kind, int, int]]
"""Kind, first line, line after the last."""


def _of_blocks(measure: Callable[[Blocks], float | None]) -> Callable[[Sighting], float | None]:
    return of_text(lambda text: measure([(b.kind, b.start, b.end) for b in blocks(text.split("\n"))]))


def _count(kind: Kind) -> Callable[[Blocks], float]:
    return lambda found: float(sum(k == kind for k, _, _ in found))


def _units_before(found: Blocks) -> float | None:
    """The share of tables with a unit statement right before them; blank lines do not count."""
    kinds = [kind for kind, _, _ in found if kind != "blank"]
    before = [place > 0 and kinds[place - 1] == "unit" for place, kind in enumerate(kinds) if kind == "table"]
    return sum(before) / len(before) if before else None


OBSERVABLES: tuple[ObservableFunction, ...] = (
    *listed(("id-initial", "id-final", "listing-position", "hit-position", "window")),
    ObservableFunction("name-year", "the year in the document's name", _name_number(1)),
    ObservableFunction("name-month", "the month in the document's name", _name_number(2)),
    ObservableFunction("name-digits", "sum of the digits in the document's name", lambda s: digit_sum(s.path)),
    *listed(("passage-number", "passage-start", "text-size", "digit-share", "capital-share", "bar-share")),
    *listed(("year-count", "heading-count", "longest-line", "table-count", "table-rows")),
    *listed(("lines-before-table", "lines-after-table")),
    ObservableFunction("unit-count", "statements of a unit in the result's text", _of_blocks(_count("unit"))),
    ObservableFunction("unit-before-table", "share of its tables right after a unit", _of_blocks(_units_before)),
    ObservableFunction("note-count", "notes and sources in the result's text", _of_blocks(_count("note"))),
    *listed(("window-size", "window-digits", "window-bars")),
)
