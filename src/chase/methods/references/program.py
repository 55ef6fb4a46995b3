"""The offline maker: a program that knows the evidence and shows, through ordinary calls, a way to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any

from chase.core.interfaces import Benchmark, Environment
from chase.core.values import Json, SearchTool, ToolResult
from chase.engine.policy import expand
from chase.engine.trace import Trace

VERSION = 1
PROGRAM = f"reference-program/{VERSION}"
"""What stands for the model in the key of what it makes."""


def show_the_way(
    environment: Environment, benchmark: Benchmark[Any], evidence: Mapping[str, int], trace: Trace, *,
    listing_first: bool,
) -> None:  # fmt: skip
    """Search with the question's own words until all evidence was shown, then open and read it to its end.

    Everything that it does is in the trace as a call of the model's. It keeps to the budget: what is not found is left.
    """
    acting = _Acting(environment, trace)
    listing, search = environment.interface.listing, environment.interface.search
    if listing is not None and (listing_first or search is None):
        acting.call(listing, {})
    if search is not None:
        for query in _queries(benchmark, environment.question):
            if evidence.keys() <= acting.shown.keys() or not acting.can_search(search, reads=sum(evidence.values())):
                break
            acting.search(search, query)
    for document in [found for found in acting.shown if found in evidence]:
        acting.read(document, evidence[document])


class _Acting:
    """Calls of one task's tools, each written down."""

    def __init__(self, environment: Environment, trace: Trace) -> None:
        self._environment = environment
        self._trace = trace
        self.shown: dict[str, Mapping[str, Json] | None] = {}
        """Documents that were shown → the arguments that open each; None: its id opens it."""

    def can_search(self, search: SearchTool, *, reads: int) -> bool:
        left, groups = self._environment.calls_left(), self._environment.limits.tool_groups
        return left[groups[search.tool]] > 0 and left["total"] > reads

    def search(self, search: SearchTool, query: str) -> None:
        """A search that shows as many documents as it can."""
        arguments: dict[str, Json] = {search.query: query}
        schema = next(tool.parameters for tool in self._environment.tools if tool.name == search.tool)
        if search.limit is not None and "maximum" in schema["properties"][search.limit]:
            arguments[search.limit] = schema["properties"][search.limit]["maximum"]
        self.call(search.tool, arguments)

    def read(self, document: str, windows: int) -> None:
        """A document from where it was found, so many windows of it."""
        opener = self._environment.interface.open
        if opener is None:
            return
        arguments = self.shown[document] or {opener.document: document}
        for _ in range(windows):
            result = self.call(opener.tool, arguments)
            if not result.ok or result.reads_on is None:
                return
            arguments = result.reads_on

    def call(self, tool: str, arguments: Mapping[str, Json]) -> ToolResult:
        result = self._environment.call(tool, arguments)
        self._trace.add("model", text="", calls=[{"tool": tool, "arguments": dict(arguments)}])
        self._trace.add_tool("model", tool, arguments, result)
        for item in result.items:
            self.shown.setdefault(item.shown.id, item.opens)
        return result


def _queries(benchmark: Benchmark[Any], question: str) -> Iterator[str]:
    """What the question's own values make: two together, one alone, then the whole question. Each once."""
    slots, placeholders = benchmark.slots(question), benchmark.placeholders
    telling = [name for name, placeholder in placeholders.items() if placeholder.tells_tasks_apart]
    templates = [f"{{{left}}} {{{right}}}" for left, right in permutations(telling, 2) if left < right]
    templates += [f"{{{name}}}" for name in telling]
    made = [query for template in templates for query in expand(template, slots, placeholders)]
    yield from dict.fromkeys([*made, question])
