"""What can be observed of a document: common observables, and Almanac's own, which look at fields of results.

They see fields under the names that a variant shows: where a field is called otherwise, they see nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from chase.core.observables import OBSERVABLES as COMMON
from chase.core.observables import ObservableFunction
from chase.core.values import Json, Sighting
from chase.testing.almanac.rendering import UNIT

_COMMON = (
    "name-length",
    "name-initial",
    "id-initial",
    "id-final",
    "hit-position",
    "window",
    "text-size",
    "title-length",
    "title-initial",
    "capital-words",
)


def _field(shown: Sighting, name: str) -> Json:
    return shown.fields.get(name)


def _lines(shown: Sighting) -> tuple[int, int] | None:
    """The lines of a passage."""
    found = re.fullmatch(r"(\d{1,9})-(\d{1,9})", str(_field(shown, "lines")))
    return (int(found[1]), int(found[2])) if found else None


def _start(shown: Sighting) -> float | None:
    lines = _lines(shown)
    return None if lines is None else float(lines[0])


def _length(shown: Sighting) -> float | None:
    lines = _lines(shown)
    return None if lines is None else float(lines[1] - lines[0] + 1)


def _passage(shown: Sighting) -> float | None:
    number = _field(shown, "passage")
    return float(number) if isinstance(number, int) and abs(number) < 1e9 else None


def _snippet(count: Callable[[str], int]) -> Callable[[Sighting], float | None]:
    def counted(shown: Sighting) -> float | None:
        snippet = _field(shown, "snippet")
        return float(count(snippet)) if isinstance(snippet, str) else None

    return counted


def _figures(shown: Sighting) -> float | None:
    return None if shown.text is None else float(len(re.findall(r"\d\.\d", shown.text)))


def _unit_line(shown: Sighting) -> float | None:
    """Where the first unit is stated; None where there is none."""
    lines = [] if shown.text is None else shown.text.splitlines()
    return next((float(place) for place, line in enumerate(lines) if UNIT.fullmatch(line)), None)


OBSERVABLES: tuple[ObservableFunction, ...] = (
    *(COMMON[name] for name in _COMMON),
    ObservableFunction("name-hyphens", "hyphens in the document's name", lambda s: float(s.path.count("-"))),
    ObservableFunction("passage-number", "which passage of its document", _passage, "tools"),
    ObservableFunction("passage-start", "the passage's first line", _start, "tools"),
    ObservableFunction("passage-length", "lines in the passage", _length, "tools"),
    ObservableFunction("snippet-length", "letters in the snippet", _snippet(len)),
    ObservableFunction("snippet-digits", "digits in the snippet", _snippet(lambda s: sum(c.isdigit() for c in s))),
    ObservableFunction("snippet-words", "words in the snippet", _snippet(lambda s: len(s.split()))),
    ObservableFunction("figure-count", "figures with a decimal in the text", _figures),
    ObservableFunction("unit-line", "line at which a unit is stated", _unit_line),
)
