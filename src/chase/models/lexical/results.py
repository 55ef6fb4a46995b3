"""What a tool gave back, whatever its form: texts, ids, names and line ranges are recognised by what they hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from chase.core import result_lines
from chase.core.values import Json

_RANGE = re.compile(r"(?:lines?\s+)?(\d{1,9})\s*(?:-|–|—|:|\.\.|to)\s*(\d{1,9})(?:\s+of\s+(\d{1,9}))?")
_HEAD = re.compile(r"(\S*[./_-]\S*|\S+) \[(\w+)\](.*)")
_PLAIN_RANGE = re.compile(r"(\d+)\s*[-–]\s*(\d+) of (\d+)")
LEAST_TEXT = 24
"""Characters from which a string without spaces counts as a text no less than one with them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One item of a result."""

    document: str
    name: str = ""
    start: int | None = None
    """Its first line in the document, from 1, where the result says it."""
    end: int | None = None
    of: int | None = None
    """How many lines the document has, where the result says it."""
    text: str = ""
    fields: Mapping[str, Json] = field(default_factory=dict, hash=False, compare=False)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self.text.split("\n")) if self.text else ()


@lru_cache(maxsize=256)
def read_items(content: str) -> tuple[Item, ...]:
    """The items of a result in its order. What follows a JSON value is not looked at."""
    stripped = content.lstrip()
    if stripped[:1] in ("{", "["):
        try:
            value, _ = json.JSONDecoder().raw_decode(stripped)
        except (ValueError, RecursionError):
            return tuple(_plain_items(content))
        found = [item for entry in _entries(value) if (item := read_item(entry)) is not None]
        alone = isinstance(value, dict) and not any(_lists(value))
        return tuple(item for item in found if not alone or item.start is not None or "\n" in item.text)
    return tuple(_plain_items(content))


def _entries(value: Json, depth: int = 0) -> Iterator[Mapping[str, Json]]:
    """The objects that are items: those of lists; where there are none, the whole, which may be a mere message."""
    lists = [] if depth > 20 else list(_lists(value))
    if lists:
        for entry in lists:
            yield from _entries(entry, depth + 1)
    elif isinstance(value, dict):
        yield value


def _lists(value: Json, depth: int = 0) -> Iterator[Mapping[str, Json]]:
    """Objects that stand in a list, at any depth of objects."""
    if isinstance(value, list):
        yield from (entry for entry in value if isinstance(entry, dict))
    elif isinstance(value, dict) and depth < 20:
        for held in value.values():
            yield from _lists(held, depth + 1)


def _leaves(value: Json, depth: int = 0) -> Iterator[Json]:
    """The values in an object; a list of strings is a text of lines."""
    if isinstance(value, dict) and depth < 20:
        for held in value.values():
            yield from _leaves(held, depth + 1)
    elif isinstance(value, list):
        if value and all(isinstance(part, str) for part in value):
            yield "\n".join(value)
    else:
        yield value


def read_item(entry: Mapping[str, Json]) -> Item | None:
    """An object as an item; None where nothing in it is a document's id or a text."""
    leaves = list(_leaves(entry))
    strings = [leaf for leaf in leaves if isinstance(leaf, str) and leaf.strip()]
    counts = [leaf for leaf in leaves if isinstance(leaf, int) and not isinstance(leaf, bool)]
    ranges = [found for text in strings if (found := _RANGE.fullmatch(text.strip()))]
    texts = [text for text in strings if re.search(r"\s", text.strip()) and not _RANGE.fullmatch(text.strip())]
    text = max(texts, key=len, default="")
    names = sorted((s for s in strings if not re.search(r"\s", s) and not _RANGE.fullmatch(s)), key=_strangeness)
    if not names and not text:
        return None
    start, end, of = _numbers(ranges, counts, text)
    files = [name for name in names if _looks_named(name)]
    return Item(
        document=names[0] if names else "",
        name=files[0] if files else names[0] if names else "",
        start=start,
        end=end,
        of=of,
        text=text,
        fields=entry,
    )


def _numbers(ranges: list[re.Match[str]], counts: list[int], text: str) -> tuple[int | None, int | None, int | None]:
    """First line, last line and lines in all: from a range, or from two numbers that are as far apart as the text."""
    length = text.count("\n") + 1
    if ranges:
        start, end = int(ranges[0][1]), int(ranges[0][2])
        of = int(ranges[0][3]) if ranges[0][3] else max((count for count in counts if count >= end), default=None)
        return start, end, of
    pairs = ((low, high) for low in counts for high in counts if 1 <= low <= high and high - low + 1 == length)
    found = next(pairs, None) if text and len(counts) >= 2 else None
    if found is None:
        return None, None, None
    return *found, max((count for count in counts if count > found[1]), default=None)


def _strangeness(name: str) -> tuple[int, int]:
    """How little a string looks like an id: letters that make no word, then a file's name, then a plain word."""
    letters = re.sub(r"[^a-z]", "", name.lower())
    if _looks_named(name):
        return 1, 0
    opaque = not re.search(r"[aeiou]", letters) or re.search(r"\d", name) is not None
    return (0 if opaque else 2), 0


def _looks_named(name: str) -> bool:
    return re.search(r"[./]", name.strip(".")) is not None or "_" in name


def _plain_items(content: str) -> Iterator[Item]:
    """Items of a result in plain lines: lines of fields, or 'name [id] …' heads one, and what follows is its text."""
    if fields := _field_items(content):
        yield from fields
        return
    heads: list[tuple[re.Match[str], list[str]]] = []
    loose: list[str] = []
    for line in content.splitlines():
        found = _HEAD.match(line)
        if found:
            heads.append((found, []))
        else:
            (heads[-1][1] if heads else loose).append(line)
    if not heads and content.strip():
        yield Item(document="", text=content.strip())
    for found, lines in heads:
        said = _PLAIN_RANGE.search(found[3])
        yield Item(document=found[2], name=found[1], text="\n".join(lines), of=int(said[3]) if said else None)


def _field_items(content: str) -> list[Item]:
    try:
        return [item for entry in result_lines.read_items(content) if (item := read_item(entry)) is not None]
    except ValueError:
        return []
