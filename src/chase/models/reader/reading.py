"""How the reader reads tool results: listings, hits and windows of text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

Record = Mapping[str, str]
_ENTRY = re.compile(r"^(\S+) \[(\w+)\](?: (matches|does not match))?$")
_WINDOW = re.compile(r"^(\S+) \[(\w+)\], records (\d+)-(\d+) of (\d+):$")


@dataclass(frozen=True, slots=True)
class Entry:
    """A document in a listing or among hits."""

    id: str
    path: str
    matches: bool = False
    """Whether a hit is marked as matching the whole query."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window of a document."""

    id: str
    path: str
    number: int
    last: bool
    text: str
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool result says."""

    entries: tuple[Entry, ...] = ()
    windows: tuple[Window, ...] = ()
    instead: str | None = None
    """The query that was made instead of the one that was asked for."""
    refused: bool = False


@lru_cache(maxsize=65536)
def read_result(tool: str, text: str) -> Result:
    """A tool result as the reader takes it in. Line endings and trailing blanks mean nothing to it."""
    lines = [line.rstrip() for line in text.splitlines()]
    if tool == "open_file":
        windows = _windows(lines)
        return Result(windows=windows, refused=not windows)
    found = [match for line in lines if (match := _ENTRY.match(line))]
    entries = tuple(Entry(match.group(2), match.group(1), match.group(3) == "matches") for match in found)
    instead = re.search(r'searched for "(.*)" instead', lines[0]) if lines else None
    return Result(entries=entries, instead=instead.group(1) if instead else None, refused=not entries)


@lru_cache(maxsize=65536)
def words_of(text: str) -> frozenset[str]:
    """The words of a text, as a search compares them."""
    return frozenset(re.findall(r"[a-z0-9]+", text.lower()))


def _windows(lines: list[str]) -> tuple[Window, ...]:
    """One window, or two where the harness read on."""
    found = _WINDOW.match(lines[0]) if lines else None
    if found is None:
        return ()
    path, document, first, last, total = found.groups()
    body = lines[1:]
    records = _records(body)
    size = int(last) - int(first) + 1
    windows = []
    for start in range(0, len(records), size):
        number = (int(first) - 1 + start) // size
        is_last = int(first) - 1 + start + size >= int(total)
        windows.append(Window(document, path, number, is_last, "\n".join(body), tuple(records[start : start + size])))
    return tuple(windows)


def _records(lines: list[str]) -> list[Record]:
    """Records in a table, in comma-separated lines or in key–value blocks."""
    header: list[str] | None = None
    records: list[dict[str, str]] = []
    for line in lines:
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
        elif line.count(",") >= 3 and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split(",")]
        else:
            key, colon, value = line.partition(": ")
            name = key.strip().lower()
            if colon and name == "entity":
                records.append({})
            if colon and records and name in _KEYS:
                records[-1][name] = value.strip()
            continue
        if cells[0].lower() == "entity":
            header = [cell.lower() for cell in cells]
        elif header and not set(cells[0]) <= {"-", ":"}:
            records.append(dict(zip(header, cells, strict=False)))
    return [record for record in records if "amount" in record]


_KEYS = frozenset({"entity", "period", "category", "status", "version", "basis", "amount"})
