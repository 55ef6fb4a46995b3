"""Observables: named pure functions of what was shown of a document. A benchmark brings those that apply to it: the
common ones below, and its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chase.core.values import Origin, Sighting


@dataclass(frozen=True, slots=True)
class ObservableFunction:
    """An observable made from a function."""

    name: str
    description: str
    function: Callable[[Sighting], float | None]
    origin: Origin = "files"

    def __call__(self, shown: Sighting) -> float | None:
        return self.function(shown)


def _stem(shown: Sighting) -> str:
    return shown.path.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def _folder(shown: Sighting) -> str | None:
    return shown.path.split("/", 1)[0] if "/" in shown.path else None


def _initial(text: str | None) -> float | None:
    letter = next((c for c in (text or "").lower() if c.isascii() and c.isalpha()), None)
    return None if letter is None else float(ord(letter) - ord("a"))


def _first_lines(shown: Sighting) -> list[str]:
    """The lines of a document's first window, without their markup."""
    if shown.text is None or shown.window not in (None, 0):
        return []
    return [line.strip("#[]= \t") for line in shown.text.strip().splitlines()]


def _line(place: int) -> Callable[[Sighting], str | None]:
    """The first window's line of a place, from 0."""
    return lambda shown: next(iter(_first_lines(shown)[place:]), None)


def _heading(shown: Sighting) -> str | None:
    """The first line after a blank one: what stands over the records."""
    lines = _first_lines(shown)
    after = lines[lines.index("") :] if "" in lines else []
    return next((line for line in after if line), None)


_opening = _line(0)
_second = _line(1)


def _capitals(shown: Sighting) -> float | None:
    words = re.findall(r"[A-Za-z]{2,}", shown.text or "")
    return sum(word.isupper() for word in words) / len(words) if words else None


def _count(pattern: str) -> Callable[[Sighting], float | None]:
    compiled = re.compile(pattern, re.MULTILINE)
    return lambda shown: None if shown.text is None else float(len(compiled.findall(shown.text)))


def _preamble_lines(shown: Sighting) -> float | None:
    """Lines before the first blank line."""
    if shown.text is None or shown.window not in (None, 0):
        return None
    count = 0
    for line in shown.text.splitlines():
        if not line.strip():
            break
        count += 1
    return float(count)


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)


def _length(text: str | None) -> float | None:
    return None if text is None else float(len(text))


OBSERVABLES: dict[str, ObservableFunction] = {
    o.name: o
    for o in (
        ObservableFunction("name-length", "letters in the file's name", lambda s: float(len(_stem(s)))),
        ObservableFunction("name-initial", "first letter of the file's name", lambda s: _initial(_stem(s))),
        ObservableFunction(
            "name-digits", "digits in the file's name", lambda s: float(sum(c.isdigit() for c in _stem(s)))
        ),
        ObservableFunction("path-depth", "folders above the file", lambda s: float(s.path.count("/"))),
        ObservableFunction("folder-initial", "first letter of the top folder", lambda s: _initial(_folder(s))),
        ObservableFunction("folder-length", "letters in the top folder's name", lambda s: _length(_folder(s))),
        ObservableFunction(
            "extension-length",
            "letters in the file's extension",
            lambda s: float(len(s.path.rsplit("/", 1)[-1].partition(".")[2])),
        ),
        ObservableFunction("id-initial", "first letter of the document's id", lambda s: _initial(s.id), "tools"),
        ObservableFunction("id-final", "last letter of the document's id", lambda s: _initial(s.id[::-1]), "tools"),
        ObservableFunction("listing-position", "place in the listing", lambda s: _number(s.listing), "tools"),
        ObservableFunction("hit-position", "place in a search result", lambda s: _number(s.hit), "tools"),
        ObservableFunction("window", "which window of the document", lambda s: _number(s.window)),
        ObservableFunction("text-size", "characters of text, spaces left out", _count(r"\S")),
        ObservableFunction("line-count", "lines that are not blank", _count(r"^.*\S.*$")),
        ObservableFunction("bar-count", "vertical bars in the text", _count(r"\|")),
        ObservableFunction("preamble-lines", "lines before the first blank line", _preamble_lines),
        ObservableFunction("title-length", "letters in the first line", lambda s: _length(_opening(s))),
        ObservableFunction("title-initial", "first letter of the first line", lambda s: _initial(_opening(s))),
        ObservableFunction("second-initial", "first letter of the second line", lambda s: _initial(_second(s))),
        ObservableFunction("heading-initial", "first letter after a blank line", lambda s: _initial(_heading(s))),
        ObservableFunction("capital-words", "share of words in capitals", _capitals),
    )
}
"""The common ones by name. A benchmark may list them, leave them out, and bring others."""


def distinct_ranks(values: Sequence[float | None]) -> tuple[list[int | None], int]:
    """Each value's place among the distinct known values, lowest 0; and how many of those there are."""
    known = sorted({value for value in values if value is not None})
    place = {value: index for index, value in enumerate(known)}
    return [None if value is None else place[value] for value in values], len(known)
