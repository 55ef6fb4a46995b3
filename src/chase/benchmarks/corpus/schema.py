"""The tools' schemas and results under the names of a variant, and the way back to the canonical ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from chase.benchmarks.corpus.protocol import InterfaceProtocol
from chase.core.values import (
    Json,
    JsonLayout,
    Limits,
    MatchArgument,
    OpenTool,
    SearchTool,
    ToolInterface,
    ToolSpec,
)

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """What a tool does, under canonical names. Its description names nothing that can be renamed."""

    name: str
    description: str
    required: tuple[str, ...]
    arguments: Mapping[str, Mapping[str, Json]]


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


def show_tools(operations: Sequence[Operation], interface: InterfaceProtocol) -> tuple[ToolSpec, ...]:
    """The tools as a variant names them."""
    return tuple(_spec(operation, interface) for operation in operations)


def _spec(operation: Operation, interface: InterfaceProtocol) -> ToolSpec:
    names = {name: interface.argument(f"{operation.name}.{name}") for name in operation.arguments}
    return ToolSpec(
        name=interface.tool_names[operation.name],
        description=operation.description,
        parameters={
            "type": "object",
            "properties": {names[name]: schema for name, schema in operation.arguments.items()},
            "required": [names[name] for name in operation.required],
            "additionalProperties": False,
        },
    )


def show_limits(limits: Limits, interface: InterfaceProtocol) -> Limits:
    """The limits with the tools' shown names."""
    return replace(limits, tool_groups={interface.tool_names[t]: group for t, group in limits.tool_groups.items()})


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


def show_layout(interface: InterfaceProtocol) -> JsonLayout:
    return JsonLayout(items=interface.field_names["results"], message=interface.field_names["message"])


def show_arguments(interface: InterfaceProtocol, tool: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """A call's arguments under the variant's names."""
    return {interface.argument(f"{tool}.{name}"): value for name, value in arguments.items()}


def show_fields(interface: InterfaceProtocol, tool: str, fields: Mapping[str, Json]) -> dict[str, Json]:
    """A result's fields under the variant's names, each in its group; the text of a search where it stands now."""
    shown: dict[str, Json] = {}
    for name, value in fields.items():
        if name == "text" and tool == "search" and interface.wrapped_text:
            shown[WRAPPER] = {CONTENT: value, PLACEMENT: BEFORE}
            continue
        group = interface.field_groups.get(name)
        (shown if group is None else shown.setdefault(group, {}))[interface.field_names[name]] = value
    return shown


# The way back


def canonical_tools(tools: Sequence[ToolSpec], interface: InterfaceProtocol) -> Json:
    """The tools under their canonical names, however they are called; a sentence where names cannot be told apart."""
    by_name = _inverse(interface.tool_names)
    if by_name is None:
        return "two tools have one name"
    found = []
    for tool in tools:
        name = by_name.get(tool.name, tool.name)
        own = {key: shown for key, shown in interface.argument_names.items() if key.startswith(f"{name}.")}
        arguments = _inverse(own)
        if arguments is None:
            return f"two arguments of {name} have one name"
        back = {shown: key.rpartition(".")[2] for shown, key in arguments.items()}
        properties = {back.get(shown, shown): schema for shown, schema in tool.parameters["properties"].items()}
        required = [back.get(shown, shown) for shown in tool.parameters["required"]]
        parameters = {**tool.parameters, "properties": properties, "required": required}
        found.append({"name": name, "description": tool.description, "parameters": parameters})
    return found


def canonical_limits(limits: Limits, interface: InterfaceProtocol) -> Json:
    """The limits of one variant with the canonical names of its tools."""
    by_name = _inverse(interface.tool_names) or {}
    return {**asdict(limits), "tool_groups": {by_name.get(t, t): group for t, group in limits.tool_groups.items()}}


def canonical_fields(interface: InterfaceProtocol, tool: str, shown: Mapping[str, Json]) -> dict[str, Json] | str:
    """A result's fields under their canonical names; a sentence where names cannot be told apart."""
    places = {name: (interface.field_groups.get(name), key) for name, key in interface.field_names.items()}
    by_place, groups = _inverse(places), {*interface.field_groups.values(), WRAPPER}
    if by_place is None or any((None, group) in by_place for group in groups):
        return "two fields have one name"
    if tool == "search" and interface.wrapped_text:
        by_place = {**by_place, (WRAPPER, CONTENT): "text", (WRAPPER, PLACEMENT): PLACEMENT}
    found: dict[str, Json] = {}
    for key, value in shown.items():
        inner = value.items() if key in groups and isinstance(value, Mapping) else None
        for place, held in [((None, key), value)] if inner is None else [((key, k), v) for k, v in inner]:
            if place not in by_place:
                return f"a field {place} that has no canonical name"
            found[by_place[place]] = held
    return _without_placement(found)


def _without_placement(found: dict[str, Json]) -> dict[str, Json] | str:
    """The fields without the statement of a place, which is the same for every result."""
    return "a text is placed elsewhere" if found.pop(PLACEMENT, BEFORE) != BEFORE else found


def _inverse(names: Mapping[str, Json]) -> dict[Json, str] | None:
    """As shown → canonical; None where two are shown alike."""
    back = {shown: canonical for canonical, shown in names.items()}
    return back if len(back) == len(names) else None
