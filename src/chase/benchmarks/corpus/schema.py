"""The tools of a corpus, and their results under the names of a variant and back under the canonical ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from chase.benchmarks import naming
from chase.benchmarks.corpus.protocol import InterfaceProtocol
from chase.benchmarks.naming import Operation
from chase.core.values import Json, Limits, MatchArgument, OpenTool, SearchTool, ToolInterface

READ_LINES = 80
"""Most lines that a call reads."""
LISTED = 50
"""Most documents that a call lists."""
DEFAULT_RESULTS, MOST_RESULTS = 5, 10
ALL: Literal["all"] = "all"
ANY: Literal["any"] = "any"
MATCHES: tuple[Literal["all", "any"], ...] = (ALL, ANY)
WRAPPER, CONTENT, PLACEMENT, BEFORE = "table_context", "content", "placement", "before"
"""Where the text of a search result stands under the paper's `Φ_b1`."""

TOOL_GROUPS: Mapping[str, str] = {
    "search": "search",
    "read": "read",
    "list_documents": "list",
    "calculator": "calculate",
}
"""Canonical tool → its group of calls."""


def operations(limits: Limits) -> tuple[Operation, ...]:
    """The four tools, whose descriptions say how many calls there are."""
    calls = {group: f"One of {most} calls of this kind." for group, most in limits.group_calls.items()}
    return (
        Operation(
            name="search",
            description="Find passages of the documents by words, the best first: those that hold all of the words, or "
            f"those that hold any of them. {calls['search']}",
            required=("query",),
            arguments={
                "query": {"type": "string", "description": "Words to look for. They are words only, no operators."},
                "match": {
                    "type": "string",
                    "enum": list(MATCHES),
                    "default": ALL,
                    "description": "Whether a passage must hold all of the words, or any of them.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MOST_RESULTS,
                    "default": DEFAULT_RESULTS,
                    "description": "How many passages are shown at most.",
                },
            },
        ),
        Operation(
            name="read",
            description=f"Read lines of one document, at most {READ_LINES} a call, from its beginning if nothing else "
            f"is said. {calls['read']}",
            required=("document",),
            arguments={
                "document": {"type": "string", "description": "The document's id or its name."},
                "start": {"type": "integer", "minimum": 1, "description": "The first line, counted from 1."},
                "end": {"type": "integer", "minimum": 1, "description": "The last line."},
            },
        ),
        Operation(
            name="list_documents",
            description=f"List documents with their names, {LISTED} a call. {calls['list']}",
            required=(),
            arguments={
                "contains": {"type": "string", "description": "Only documents whose name holds this text."},
                "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "How many are passed over."},
            },
        ),
        Operation(
            name="calculator",
            description=f"Work out an expression of numbers, + - * / and parentheses. {calls['calculate']}",
            required=("expression",),
            arguments={"expression": {"type": "string", "description": "For example (1250.5 - 980) / 980 * 100"}},
        ),
    )


RESULT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "search": ("document", "name", "passage", "lines", "text"),
    "read": ("document", "name", "lines", "of", "text"),
    "list_documents": ("document", "name", "of"),
}
"""The fields of each tool's items."""


def show_interface(interface: InterfaceProtocol) -> ToolInterface:
    return ToolInterface(
        search=SearchTool(
            tool=interface.tool_names["search"],
            query=interface.argument("search.query"),
            limit=interface.argument("search.limit"),
            match=MatchArgument(argument=interface.argument("search.match"), all=ALL, any=ANY),
        ),
        open=OpenTool(tool=interface.tool_names["read"], document=interface.argument("read.document"), unit="document"),
        listing=interface.tool_names["list_documents"],
    )


def show_fields(interface: InterfaceProtocol, tool: str, fields: Mapping[str, Json]) -> dict[str, Json]:
    """A result's fields under the variant's names; the text of a search, which comes last, where it stands now."""
    if tool != "search" or not interface.wrapped_text or "text" not in fields:
        return naming.show_fields(interface, fields)
    plain = {name: value for name, value in fields.items() if name != "text"}
    return {**naming.show_fields(interface, plain), WRAPPER: {CONTENT: fields["text"], PLACEMENT: BEFORE}}


def canonical_fields(interface: InterfaceProtocol, tool: str, shown: Mapping[str, Json]) -> dict[str, Json] | str:
    """A result's fields under their canonical names; a sentence where names cannot be told apart."""
    wrapped = tool == "search" and interface.wrapped_text
    more: dict[naming.Place, str] = {(WRAPPER, CONTENT): "text", (WRAPPER, PLACEMENT): PLACEMENT} if wrapped else {}
    found = naming.canonical_fields(interface, shown, more=more, more_groups=(WRAPPER,))
    # The statement of a place is the same for every result.
    misplaced = isinstance(found, dict) and found.pop(PLACEMENT, BEFORE) != BEFORE
    return "a text is placed elsewhere" if misplaced else found
