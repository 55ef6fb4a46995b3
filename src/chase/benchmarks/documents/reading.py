"""`benchmark.toml` read as data: everything that is wrong with it at once, with line numbers and nearest matches."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from chase.benchmarks.documents.description import FILE, SCORERS, TABLES, Description
from chase.benchmarks.documents.problems import Problem

_HEADER = re.compile(r"\s*\[\[?\s*([\w.\"'-]+)\s*\]\]?")
_KEY = re.compile(r"\s*([\w\"'-]+)\s*=")
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_SHOWN = 60


def read_text(path: Path, name: str) -> tuple[str | None, list[Problem]]:
    """A UTF-8 text; where it is none, the line of the first byte that is not."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None, [Problem(file=name, what="it is missing. `chase bench init DIR` writes a working example.")]
    except OSError as error:
        return None, [Problem(file=name, what=f"it cannot be read ({error.strerror}). Make it readable.")]
    return decode(content, name)


def decode(content: bytes, name: str) -> tuple[str | None, list[Problem]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = f"byte {content[error.start]:#04x}"
        what = f"it is not UTF-8 ({byte} at position {error.start}). Save it with the encoding UTF-8."
        return None, [Problem(file=name, line=line, what=what)]
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        return None, [Problem(file=name, line=line, what="it holds zero bytes: it is no text. Save it as UTF-8 text.")]
    return text, []


def read_description(folder: Path) -> tuple[Description | None, list[Problem]]:
    """The description, or everything that is wrong with it."""
    text, problems = read_text(folder / FILE, FILE)
    if text is None:
        return None, problems
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        what = f"it is no TOML: {_AT_LINE.sub('', str(error)).strip()}. Mend this line."
        return None, [Problem(file=FILE, line=int(found[1]) if found else None, what=what)]
    try:
        return Description.model_validate(data), []
    except ValidationError as error:
        lines = key_lines(text)
        return None, [_problem(details, data, lines) for details in error.errors()]


def key_lines(text: str) -> Mapping[str, int]:
    """Dotted key or table → the line where it stands; entries of lists of tables are numbered from 0."""
    found: dict[str, int] = {}
    table, counts = "", dict[str, int]()
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            table = header[1].replace('"', "").replace("'", "")
            if line.lstrip().startswith("[["):
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}.{counts[table]}"
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            bare = key[1].strip("\"'")
            found.setdefault(f"{table}.{bare}" if table else bare, number)
    return found


def _problem(details: ErrorDetails, data: Mapping[str, Any], lines: Mapping[str, int]) -> Problem:
    place = [str(part) for part in details["loc"] if str(part) not in SCORERS]
    line = next((lines[key] for key in _prefixes(place) if key in lines), None)
    return Problem(file=FILE, line=line, what=_sentence(details, place, data))


def _prefixes(place: Sequence[str]) -> Iterator[str]:
    for length in range(len(place), 0, -1):
        yield ".".join(place[:length])


def _sentence(details: ErrorDetails, place: Sequence[str], data: Mapping[str, Any]) -> str:
    key, kind = ".".join(place), details["type"]
    if kind == "extra_forbidden":
        valid = _valid_keys(place, data)
        near = difflib.get_close_matches(place[-1], valid, n=1, cutoff=0.5)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        return f"unknown key '{key}'.{hint} Valid: {', '.join(valid)}."
    if kind == "missing":
        return f"'{key}' is missing. Add it."
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        given = data.get("scorer", {})
        kind_given = str(given.get("kind", "")) if isinstance(given, Mapping) else ""
        near = difflib.get_close_matches(kind_given, SCORERS, n=1, cutoff=0.5)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        said = f"scorer.kind='{kind_given[:_SHOWN]}' is no scorer." if kind_given else "scorer.kind is missing."
        return f"{said}{hint} Valid: {', '.join(SCORERS)}."
    message = details["msg"].removeprefix("Value error, ")
    given = details.get("input")
    shown = "" if isinstance(given, Mapping) else f"={str(given)[:_SHOWN]!r}"
    return f"{key}{shown}: {message[:1].lower()}{message[1:]}."


def _valid_keys(place: Sequence[str], data: Mapping[str, Any]) -> list[str]:
    if len(place) == 1:
        return list(Description.model_fields)
    if place[0] == "scorer":
        return list(SCORERS[str(data["scorer"]["kind"])].model_fields)
    return list(TABLES[place[0]].model_fields)
