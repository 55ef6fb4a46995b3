"""The canonical parser: from any rendering back to typed records. Shares no code with the renderer."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from functools import lru_cache

from chase.benchmarks.syn_ledger.contents import ABSENT, FIELDS, Record
from chase.benchmarks.syn_ledger.forms import FORMS

_NAMES = (frozenset(FIELDS), *(frozenset(FIELDS) - set(form.absent) for form in FORMS.values() if form.absent))
"""The fields that records of one form have, and those of another."""


@lru_cache(maxsize=16_384)  # most transformations leave most texts alone, and a replay makes all of them again
def parse(text: str) -> tuple[Record, ...]:
    """The records of a document in the order shown, whatever its format. A malformed text is a ValueError."""
    lines = [line.rstrip() for line in text.splitlines()]
    if any(line.startswith("|") for line in lines):
        rows = _markdown_rows(lines)
    elif re.search(r"^entity\s*:", text, re.IGNORECASE | re.MULTILINE):
        rows = _key_value_rows(lines)
    else:
        rows = _csv_rows(lines)
    if not rows:
        raise ValueError("the text holds no records")
    return tuple(_record(row) for row in rows)


def _markdown_rows(lines: list[str]) -> list[dict[str, str]]:
    table = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if line.startswith("|")]
    names, body = [name.lower() for name in table[0]], table[2:]
    return [dict(zip(names, row, strict=True)) for row in body]


def _csv_rows(lines: list[str]) -> list[dict[str, str]]:
    body = [line for line in lines if line and not line.startswith("#")]
    header, *rows = csv.reader(body)
    names = [name.lower() for name in header]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _key_value_rows(lines: Iterable[str]) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    for line in lines:
        key, colon, value = line.partition(":")
        name = key.strip().lower()
        if not colon or name not in FIELDS:
            continue
        if name == FIELDS[0]:
            rows.append({})
        rows[-1][name] = value.strip()
    return rows


def _record(row: dict[str, str]) -> Record:
    if row.keys() not in _NAMES:
        raise ValueError(f"a record has the fields {sorted(row)} instead of {sorted(FIELDS)}")
    return Record(
        entity=row["entity"],
        period=row.get("period", ABSENT),
        category=row["category"],
        status=row.get("status", ABSENT),
        version=row.get("version", ABSENT),
        basis=row.get("basis", ABSENT),
        amount=int(row["amount"]),
    )
