"""The tools of an agent that reads history: list, read and search files of one tree, and nothing else.

What they return was written by models, documents and other agents: it is untrusted, and goes out between marks that
the text itself cannot contain.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from chase.core.errors import UserError
from chase.core.keyed import key_bits
from chase.core.values import Json, ToolSpec

CHARACTERS_PER_TOKEN = 4
PAGE = 6_000
"""Characters of a file that one call shows."""
MOST_LINES = 200
MOST_MATCHES = 20
SNIPPET = 240
"""Characters of a line that a match shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentTool:
    """A tool that an agent may call. `run` returns text; a `UserError` is told to the agent."""

    spec: ToolSpec
    run: Callable[[Mapping[str, Any]], str]


class HistoryTools:
    """Read-only tools on a tree, within a limit of tokens for all that they show."""

    def __init__(self, root: Path, *, tokens: int, seed: int) -> None:
        self._root = root.resolve()
        self._left = tokens * CHARACTERS_PER_TOKEN
        self._limit = tokens
        self.mark = f"DATA-{key_bits('mark', seed) & 0xFFFFFFFF:08x}"
        """Begins and ends what is data. A text that contains it has it broken up."""

    def tools(self) -> list[AgentTool]:
        path = {"type": "string", "description": "A path in the history, e.g. 'harnesses' or 'scores.jsonl'."}
        offset = {
            "type": "integer",
            "minimum": 0,
            "description": "The first character, entry or match to show, from 0; default 0.",
        }
        return [
            _tool("list_files", "List a folder of the history.", self._list, [], path=path, offset=offset),
            _tool("read_file", "Read a page of a file of it.", self._read, ["path"], path=path, offset=offset),
            _tool(
                "search_files",
                "Find lines of the history that contain a text, whatever its case. Says how many there are, and where "
                "each begins in its file: read on from that offset.",
                self._search,
                ["text"],
                text={"type": "string"},
                path=path,
                offset=offset,
            ),
        ]

    def _list(self, arguments: Mapping[str, Any]) -> str:
        self._check_limit()
        folder, start = self._inside(arguments.get("path") or ""), _number(arguments, "offset")
        if not folder.is_dir():
            raise UserError(f"'{self._name(folder)}' is a file: read it.")
        entries = sorted(folder.iterdir())
        shown = [
            f"{self._name(entry)}/ ({sum(1 for _ in entry.iterdir())} entries)"
            if entry.is_dir()
            else f"{self._name(entry)} ({entry.stat().st_size} bytes)"
            for entry in entries[start : start + MOST_LINES]
            if not entry.is_symlink()
        ]
        return self._page(self._name(folder) or "the history", shown, start, MOST_LINES, len(entries))

    def _read(self, arguments: Mapping[str, Any]) -> str:
        self._check_limit()
        path, start = self._inside(arguments.get("path")), _number(arguments, "offset")
        if path.is_dir():
            raise UserError(f"'{self._name(path)}' is a folder: list it.")
        text = path.read_text(encoding="utf-8", errors="replace")
        page = text[start : start + PAGE]
        end = start + len(page)
        rest = f"\n… {len(text) - end} more characters: go on with offset {end}" if end < len(text) else ""
        part = "" if len(page) == len(text) else f", characters {start} to {end} of {len(text)}"
        return self._data(self._name(path) + part, page + rest)

    def _search(self, arguments: Mapping[str, Any]) -> str:
        self._check_limit()
        sought = arguments.get("text")
        if not isinstance(sought, str) or not sought.strip():
            raise UserError("text is missing: write what to look for.")
        start, total = _number(arguments, "offset"), 0
        found: list[str] = []
        for path in self._files(self._inside(arguments.get("path") or "")):
            for match in _matches(path.read_text(encoding="utf-8", errors="replace"), sought.lower()):
                if start <= total < start + MOST_MATCHES:
                    found.append(f"{self._name(path)}:{match}")
                total += 1
        return self._page(f"lines with '{sought[:100]}'", found, start, MOST_MATCHES, total)

    def _page(self, what: str, shown: list[str], start: int, size: int, total: int) -> str:
        """Some of many, with how many there are and how to go on."""
        more = total - start - size
        rest = [f"… {more} more: go on with offset {start + size}"] if more > 0 else []
        part = f", {start + 1} to {min(start + size, total)} of {total}" if start < total else f", none of {total}"
        return self._data(what + (part if total else ""), "\n".join([*shown, *rest]) or "(none)")

    def _files(self, start: Path) -> Iterator[Path]:
        if start.is_file():
            yield start
            return
        yield from (path for path in sorted(start.rglob("*")) if path.is_file() and not path.is_symlink())

    def _inside(self, given: object) -> Path:
        """The file or folder that a path names in the tree; nothing else is readable, by links neither."""
        if not isinstance(given, str) or "\0" in given:
            raise UserError("path is missing: write a path in the history, e.g. 'scores.jsonl'.")
        relative = PurePosixPath(given.strip() or ".")
        path = self._root / relative
        try:
            inside = not relative.is_absolute() and ".." not in relative.parts and within(self._root, path)
            exists = inside and path.exists() and not path.is_symlink()
        except (OSError, ValueError):  # a name that is too long, or that no file can have
            inside, exists = True, False
        if not inside:
            raise UserError(f"path='{given[:200]}' is not in the history: write a path relative to its root.")
        if not exists:
            raise UserError(f"path='{given[:200]}' does not exist: list its folder.")
        return path

    def _name(self, path: Path) -> str:
        name = str(path.relative_to(self._root))
        return "" if name == "." else name

    def _check_limit(self) -> None:
        if self._left <= 0:
            raise UserError(f"the limit of {self._limit} tokens of history is used up: go on with what you know.")

    def _data(self, what: str, text: str) -> str:
        """Text of the history, marked as data, as far as the limit allows."""
        shown = text[: self._left]
        self._left -= len(shown)
        cut = "" if len(shown) == len(text) else "\n… cut here: the limit of tokens of history is used up"
        return self.fenced(what, shown + cut)

    def fenced(self, what: str, text: str) -> str:
        """A text between marks: whatever it says is data."""
        inner = text.replace(self.mark, self.mark.replace("-", "\u2010"))
        return f"<<{self.mark} {json.dumps(what)}\n{inner}\n{self.mark}>>"


def within(root: Path, path: Path) -> bool:
    """Whether a path leads to somewhere in a folder, links followed."""
    return path.resolve().is_relative_to(root.resolve())


def is_file_of(root: Path, named: str) -> bool:
    """Whether a text names a file of a tree. Nothing is read."""
    try:
        path = root / named.removeprefix("history/")
        return within(root, path) and path.is_file()
    except (OSError, ValueError):
        return False


def _matches(text: str, sought: str) -> Iterator[str]:
    """Each line that contains a lower-case text: its number, where it begins, and what stands around the text."""
    if sought not in text.lower():
        return
    begins = 0
    for number, line in enumerate(text.split("\n"), 1):
        place = line.lower().find(sought)
        if place >= 0:
            around = line[max(0, place - SNIPPET // 2) :][:SNIPPET]
            yield f"{number} (offset {begins}): {around}"
        begins += len(line) + 1


def _tool(
    name: str, description: str, run: Callable[[Mapping[str, Any]], str], required: list[str], **properties: Json
) -> AgentTool:
    schema: Json = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return AgentTool(spec=ToolSpec(name=name, description=description, parameters=schema), run=run)


def _number(arguments: Mapping[str, Any], name: str) -> int:
    value = arguments.get(name)
    value = 0 if value is None else value
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UserError(f"{name} must be a whole number, 0 or more.")
    return value
