"""Items of a result as lines of fields, and the way back.

An item begins with a line of its own (`--- 1`, `### Result 1`). A field is `key: value` with its value in JSON, one in
an object `object.key: value`. A text of several lines stands under `key:`, indented or quoted line by line, so that
nothing in it can pass for a field or for another item.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from chase.core.outside import parse_json
from chase.core.values import Json

LineStyle = Literal["lines", "markdown"]
INDENT, QUOTE = "    ", "> "
LONGEST_VALUE = 120
"""Characters of a text from which it stands by itself."""
_FIELD = re.compile(r"(?:- )?(?P<key>[\w.]+): (?P<value>.+)")
_TEXT = re.compile(r"(?:- )?(?P<key>[\w.]+):")
_ITEM = re.compile(r"(?:### Result|---) \d+")


def write_item(place: int, fields: Mapping[str, Json], style: LineStyle) -> str:
    """The item of a place, from 0."""
    head, mark, text = ("---", "", INDENT) if style == "lines" else ("### Result", "- ", QUOTE)
    return "\n".join([f"{head} {place + 1}", *_written(fields, mark, text)])


def read_items(text: str) -> list[Mapping[str, Json]]:
    """The items of a text, what stands before the first left out; `ValueError` where one is none."""
    return [_read(block) for block in _blocks(text)]


def _written(fields: Mapping[str, Json], mark: str, indent: str, under: str = "") -> Iterator[str]:
    for key, value in fields.items():
        if isinstance(value, Mapping):
            yield from _written(value, mark, indent, f"{under}{key}.")
        elif isinstance(value, str) and ("\n" in value or len(value) > LONGEST_VALUE):
            yield f"{mark}{under}{key}:"
            yield from (indent + line for line in value.split("\n"))
        else:
            yield f"{mark}{under}{key}: {json.dumps(value, ensure_ascii=False)}"


def _blocks(text: str) -> Iterator[list[str]]:
    block: list[str] | None = None
    for line in text.split("\n"):
        if _ITEM.fullmatch(line):
            if block is not None:
                yield block
            block = []
        elif block is not None:
            block.append(line)
    if block is not None:
        yield block


def _read(block: Sequence[str]) -> Mapping[str, Json]:
    found: dict[str, Json] = {}
    key, texts = "", list[str]()
    for line in [*block, ""]:
        quoted = next((line[len(mark) :] for mark in (INDENT, QUOTE) if line.startswith(mark)), None) if key else None
        if quoted is not None:
            texts.append(quoted)
            continue
        if key:
            _put(found, key, "\n".join(texts))
            key, texts = "", []
        if field := _FIELD.fullmatch(line):
            _put(found, field["key"], parse_json(field["value"]))
        elif opened := _TEXT.fullmatch(line):
            key = opened["key"]
        elif line:
            raise ValueError(f"a line that is no field: {line[:40]!r}")
    return found


def _put(found: dict[str, Json], key: str, value: Json) -> None:
    """A field where its dotted name says."""
    *groups, last = key.split(".")
    for group in groups:
        found = found.setdefault(group, {})
        if not isinstance(found, dict):
            raise ValueError(f"{key} stands in what is no object")
    if last in found:
        raise ValueError(f"{key} stands there twice")
    found[last] = value
