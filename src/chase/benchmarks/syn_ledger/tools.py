"""The agent's interface to one task: `list_files`, `search`, `open_file`, `calculator`, within the budgets.

It is made from rendered files and public contents only: no answer, no evidence label, no role.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chase.benchmarks.syn_ledger.contents import Record
from chase.benchmarks.syn_ledger.rendering import WINDOW, RenderedFile
from chase.core.arithmetic import calculate
from chase.core.values import (
    Json,
    Limits,
    OpenTool,
    ResultItem,
    SearchTool,
    Sighting,
    ToolInterface,
    ToolResult,
    ToolSpec,
)

VERSION = 2
DEFAULT_RESULTS, MOST_RESULTS = 4, 12

LIMITS = Limits(
    total_calls=12,
    group_calls={"search": 4, "open": 6, "calculate": 2},
    tool_groups={"list_files": "search", "search": "search", "open_file": "open", "calculator": "calculate"},
    steps=16,
    context_tokens=65_536,
    wall_seconds=600.0,
)


def _parameters(required: Sequence[str], **properties: Mapping[str, Json]) -> Mapping[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


TOOLS = (
    ToolSpec(
        name="list_files",
        description="List the task's files with their ids, by file name. Counts as one of 4 search or list calls.",
        parameters=_parameters([]),
    ),
    ToolSpec(
        name="search",
        description=(
            "Search the entity, period and category of the files' records; nothing else is indexed. A file matches "
            "if one of its records has every word of the query among those three. Matching files come first, then "
            "all others. A hit shows the file's path and id and whether it matches. One of 4 search or list calls."
        ),
        parameters=_parameters(
            ["query"],
            query={"type": "string", "description": "Words to look for."},
            limit={"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": DEFAULT_RESULTS},
        ),
    ),
    ToolSpec(
        name="open_file",
        description=(
            "Read a file, three records a call; calling it again with the same file reads the next three. "
            "One of 6 file-opening calls."
        ),
        parameters=_parameters(["file"], file={"type": "string", "description": "The file's path or its id."}),
    ),
    ToolSpec(
        name="calculator",
        description="Evaluate arithmetic with + - * / and parentheses. One of 2 calculator calls.",
        parameters=_parameters(["expression"], expression={"type": "string"}),
    ),
)

INTERFACE = ToolInterface(
    search=SearchTool(tool="search", query="query", limit="limit"),
    open=OpenTool(tool="open_file", document="file"),
    listing="list_files",
)


def words_of(text: str) -> frozenset[str]:
    """The words of a text as the search compares them."""
    return frozenset(re.findall(r"[a-z0-9]+", text.lower()))


INDEXED = ("entity", "period", "category")
"""The fields by which a record is found. Its conditions and its amount are not among them."""


def record_words(record: Record, fields: Sequence[str] = INDEXED) -> frozenset[str]:
    """The words by which a record is found."""
    return words_of(" ".join(getattr(record, name) for name in fields))


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchableFile:
    """A rendered file with the words of each of its records and its place in the manifest's two orders."""

    file: RenderedFile
    words: tuple[frozenset[str], ...]
    listing: int
    rank: int


class LedgerEnvironment:
    """One rollout's tools. Every call is counted, also those that were refused."""

    def __init__(
        self,
        question: str,
        files: Sequence[SearchableFile],
        *,
        tools: Sequence[ToolSpec] = TOOLS,
        interface: ToolInterface = INTERFACE,
        limits: Limits = LIMITS,
    ) -> None:
        self.question = question
        self.tools = tools
        self.interface = interface
        self.limits = limits
        self._files = files
        self._used: Counter[str] = Counter()
        self._windows_read: Counter[str] = Counter()
        self._handlers = {
            "list_files": self._list_files,
            "search": self._search,
            "open_file": self._open_file,
            "calculator": self._calculator,
        }

    def calls_left(self) -> Mapping[str, int]:
        groups = self.limits.group_calls
        left = {group: max(0, most - self._used[group]) for group, most in groups.items()}
        return {**left, "total": max(0, self.limits.total_calls - self._used.total())}

    def call(self, tool: str, arguments: Json) -> ToolResult:
        """The tool's answer. A model may send any JSON for arguments, also what is no object."""
        group = self.limits.tool_groups.get(tool, "unknown")
        left = self.calls_left()
        self._used[group] += 1
        if group == "unknown":
            names = ", ".join(spec.name for spec in self.tools)
            return self.refusal(f"There is no tool {_quoted(tool)}. Tools: {names}.")
        if not left["total"] or not left[group]:
            most = self.limits.group_calls[group]
            return self.refusal(
                f"No {group} calls left: this task allows {most} of them and {self.limits.total_calls} calls in all."
            )
        spec = self._spec(tool)
        if not isinstance(arguments, Mapping):
            return self.refusal(f"{tool} takes its arguments as one JSON object.")
        unknown = [_quoted(name) for name in arguments if name not in spec.parameters["properties"]]
        missing = sorted(set(spec.parameters["required"]) - set(arguments))
        if unknown or missing:
            wanted = ", ".join(spec.parameters["properties"]) or "no arguments"
            told = [f"unknown: {', '.join(unknown[:4])}"] if unknown else []
            told += [f"missing: {', '.join(missing)}"] if missing else []
            return self.refusal(f"{tool} takes {wanted}; {'; '.join(told)}.")
        return self._handlers[tool](arguments)

    def refusal(self, message: str) -> ToolResult:
        return ToolResult(head=message, ok=False)

    def _spec(self, tool: str) -> ToolSpec:
        return next(spec for spec in self.tools if spec.name == tool)

    def _list_files(self, arguments: Mapping[str, Json]) -> ToolResult:
        files = sorted(self._files, key=lambda f: f.listing)
        items = [
            ResultItem(
                shown=Sighting(id=f.file.id, path=f.file.path, listing=place, listing_of=len(files)),
                line=f"{f.file.path} [{f.file.id}]",
            )
            for place, f in enumerate(files)
        ]
        return ToolResult(head=f"{len(files)} files:", items=tuple(items))

    def _search(self, arguments: Mapping[str, Json]) -> ToolResult:
        allowed = self._spec("search").parameters["properties"]["limit"]
        query, limit, most = arguments["query"], arguments.get("limit", allowed["default"]), allowed["maximum"]
        if not isinstance(query, str) or not (wanted := words_of(query)):
            return self.refusal("search: query must be a text with at least one word.")
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= most:
            return self.refusal(f"search: limit must be an integer from 1 to {most}.")
        matches = {f.file.id: any(wanted <= words for words in f.words) for f in self._files}
        hits = sorted(self._files, key=lambda f: (not matches[f.file.id], f.rank))[:limit]
        items = [
            ResultItem(
                shown=Sighting(id=f.file.id, path=f.file.path, hit=place, hit_of=len(hits), matches=matches[f.file.id]),
                line=f"{f.file.path} [{f.file.id}] {'matches' if matches[f.file.id] else 'does not match'}",
            )
            for place, f in enumerate(hits)
        ]
        matching = sum(matches.values())
        head = f"{matching} of {len(self._files)} files match. Results:"
        return ToolResult(head=head, items=tuple(items), coverage=matching)

    def _open_file(self, arguments: Mapping[str, Json]) -> ToolResult:
        wanted = arguments["file"]
        found = next((f.file for f in self._files if wanted in (f.file.path, f.file.id)), None)
        if found is None:
            return self.refusal("open_file: no such file. Give a path or an id that a search or listing showed.")
        window = self._windows_read[found.id]
        if window >= len(found.windows):
            return self.refusal(f"open_file: {found.path} has no more records.")
        self._windows_read[found.id] += 1
        first = window * WINDOW + 1
        shown = Sighting(id=found.id, path=found.path, window=window, text=found.windows[window])
        head = f"{found.path} [{found.id}], records {first}-{first + WINDOW - 1} of {WINDOW * len(found.windows)}:"
        item = ResultItem(shown=shown, line=found.windows[window])
        more = {"file": wanted} if window + 1 < len(found.windows) else None
        return ToolResult(head=head, items=(item,), reads_on=more)

    def _calculator(self, arguments: Mapping[str, Json]) -> ToolResult:
        expression = arguments["expression"]
        if not isinstance(expression, str):
            return self.refusal("calculator: expression must be a text.")
        try:
            return ToolResult(head=calculate(expression))
        except ValueError as error:
            return self.refusal(f"calculator: {error}.")


def _quoted(text: str) -> str:
    """A text of the agent's as a message may repeat it: short and printable."""
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
