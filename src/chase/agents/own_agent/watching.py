"""What of an agent's work is seen: its tool calls, and the documents that it opens in its folder.

An opened document stands in the trace as a tool event of its own name, with what it could see of it, so that whoever
reads traces (the mining Challenger) finds openings there however they were made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chase.agents.own_agent.file_reads import FileReads
from chase.core.own_agents import Posed
from chase.core.values import Json, Limits, ResultItem, Sighting, ToolInterface, ToolResult, ToolSpec
from chase.engine.trace import tool_details

LISTED, READ = "(folder)", "(file)"
"""What stands in a trace for the tool where an agent looked into its folder by itself."""
SHOWN = 4_000
"""Characters of a document that was opened, in a trace."""
MOST_CALLS, MOST_READS = 500, 500
"""Of a rollout that are kept in its trace."""


def is_call(event: Mapping[str, Json]) -> bool:
    """Whether an event of a trace is a call of one of the benchmark's tools."""
    return event["event"] == "tool" and event["tool"] not in (LISTED, READ)


class OpenedFiles:
    """The environment as the tools' server sees it: what was opened in the folder is noted before each call."""

    def __init__(self, posed: Posed, reads: FileReads) -> None:
        self._posed = posed
        self._environment = posed.environment
        self._reads = reads
        self._files = {file.path: file for file in posed.view.files}
        self._opened: set[str] = set()
        self._calls = 0

    @property
    def question(self) -> str:
        return self._environment.question

    @property
    def tools(self) -> Sequence[ToolSpec]:
        return self._environment.tools

    @property
    def interface(self) -> ToolInterface:
        return self._environment.interface

    @property
    def limits(self) -> Limits:
        return self._environment.limits

    def call(self, tool: str, arguments: Mapping[str, Json]) -> ToolResult:
        self.note_opened()
        self._calls += 1
        if self._calls > MOST_CALLS:
            return self._environment.refusal("Too many calls.")
        return self._environment.call(tool, arguments)

    def calls_left(self) -> Mapping[str, int]:
        return self._environment.calls_left()

    def refusal(self, message: str) -> ToolResult:
        return self._environment.refusal(message)

    def note_opened(self) -> None:
        """Put what was opened since the last time into the trace, each document once."""
        new = [path for path in dict.fromkeys(self._reads.opened()) if path in self._files and path not in self._opened]
        if new and not self._opened:
            count = len(self._files)
            items = [
                ResultItem(shown=Sighting(id=file.id, path=path, listing=place, listing_of=count), line=path)
                for place, (path, file) in enumerate(self._files.items())
            ]
            self._note(LISTED, {}, items)
        for path in new[: MOST_READS - len(self._opened)]:
            self._opened.add(path)
            file = self._files[path]
            shown = Sighting(id=file.id, path=path, window=0, text=file.text[:SHOWN])
            self._note(READ, {"path": path}, [ResultItem(shown=shown, line=shown.text)])

    def _note(self, tool: str, arguments: Mapping[str, Json], items: Sequence[ResultItem]) -> None:
        result = ToolResult(head="", items=tuple(items))
        self._posed.note("tool", **tool_details("agent", tool, arguments, result))
