"""Markdown tables in lines of text: where they stand, and what is in their cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\s*:?-+:?\s*")
LEAST_COLUMNS = 2


def cells(line: str) -> tuple[str, ...]:
    """The cells of a row, stripped, with `\\|` read as a bar. Outer bars are no cells."""
    return tuple(part.strip().replace("\\|", "|") for part in _inner(line))


def is_row(line: str) -> bool:
    """Whether a line can be a row of a table: it has a bar."""
    return "|" in line and _BAR.search(line) is not None


def is_delimiter(line: str) -> bool:
    """Whether a line is the rule between header and data: `| --- | --- |`."""
    if "-" not in line or not is_row(line):
        return False
    parts = _inner(line)
    return len(parts) >= LEAST_COLUMNS and all(_RULE.fullmatch(part) for part in parts)


def table_spans(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """(first line, line after the last), from 0, of every table: a header, a delimiter row and at least one data row,
    with at least two columns.
    """
    place = 1
    while place < len(lines):
        if not is_delimiter(lines[place]) or not is_row(lines[place - 1]) or is_delimiter(lines[place - 1]):
            place += 1
            continue
        end = place + 1
        while end < len(lines) and is_row(lines[end]) and not _starts_table(lines, end):
            end += 1
        if end > place + 1:
            yield place - 1, end
        place = end + 1


def _starts_table(lines: Sequence[str], place: int) -> bool:
    """Whether a row is the header of a table of its own."""
    return place + 1 < len(lines) and is_delimiter(lines[place + 1])


def _inner(line: str) -> list[str]:
    """The parts between bars; what stands outside the outer bars is none."""
    parts = _BAR.split(line.strip())
    return parts[1 if not parts[0].strip() else 0 : -1 if not parts[-1].strip() else None]
