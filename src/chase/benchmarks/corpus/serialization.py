"""How a tool's result is written, and the way back from what was written.

`json` is one object. In `lines` and `markdown` the message comes first, then item after item; a text is indented or
quoted line by line, so that nothing in it can pass for a field or for another item.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from chase.core.outside import NotPlain, parse_json
from chase.core.values import Json, JsonLayout

Serialization = Literal["json", "lines", "markdown"]
Feedback = Literal["plain", "labelled", "bracketed"]
INDENT, QUOTE = "    ", "> "
_LABELS: Mapping[Feedback, tuple[str, str]] = {
    "plain": ("", ""),
    "labelled": ("Note: ", "Error: "),
    "bracketed": ("[ok] ", "[refused] "),
}
"""What stands before a message: of a result, of a refusal."""
_FIELD = re.compile(r"(?:- )?(?P<key>[\w.]+): (?P<value>.*)", re.DOTALL)
_TEXT = re.compile(r"(?:- )?(?P<key>[\w.]+):")
_ITEM = re.compile(r"(?:#+ Result|---) ?\d*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Manner:
    """How results and messages are written."""

    serialization: Serialization = "json"
    feedback: Feedback = "plain"

    def say(self, message: str, *, ok: bool) -> str:
        """A message to the agent; no message stays none."""
        return _LABELS[self.feedback][not ok] + message if message else ""

    def said(self, shown: str, *, ok: bool) -> str:
        """The way back."""
        return shown.removeprefix(_LABELS[self.feedback][not ok])

    def line(self, place: int, fields: Mapping[str, Json]) -> str | None:
        """How an item reads in a result made of lines; None where the result is JSON."""
        if self.serialization == "json":
            return None
        head, mark, text = ("---", "", INDENT) if self.serialization == "lines" else ("### Result", "- ", QUOTE)
        return "\n".join([f"{head} {place + 1}", *_written(fields, mark, text)])

    def items(self, text: str, layout: JsonLayout) -> list[Mapping[str, Json]] | None:
        """The items of a result's text, as they were shown; None where it cannot be read back."""
        if self.serialization == "json":
            return _of_json(text, layout)
        try:
            return [_read(block) for block in _blocks(text)]
        except (ValueError, NotPlain):
            return None


def _of_json(text: str, layout: JsonLayout) -> list[Mapping[str, Json]] | None:
    found = json.loads(text).get(layout.items, [])
    return found if isinstance(found, list) else None


def _written(fields: Mapping[str, Json], mark: str, indent: str, under: str = "") -> Iterator[str]:
    for key, value in fields.items():
        if isinstance(value, Mapping):
            yield from _written(value, mark, indent, f"{under}{key}.")
        elif isinstance(value, str) and ("\n" in value or len(value) > 120):
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
        quoted = next((line[len(i) :] for i in (INDENT, QUOTE) if line.startswith(i)), None) if key else None
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
    if last in found:
        raise ValueError(f"{key} stands there twice")
    found[last] = value
