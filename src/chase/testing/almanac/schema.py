"""The tools' schemas and results under the names of a variant, and the way back to the canonical ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

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
from chase.testing.almanac.protocol import InterfaceProtocol

LINES = 12
"""Most lines that a call reads."""
DEFAULT_RESULTS, MOST_RESULTS = 5, 12
MATCHES = ALL, ANY = "all", "any"
LARGEST = 10**15

LIMITS = Limits(
    total_calls=10,
    group_calls={"look": 4, "read": 6, "compute": 2},
    tool_groups={"find": "look", "read": "read", "compute": "compute"},
    steps=14,
    context_tokens=16_384,
    wall_seconds=120.0,
)
"""Under canonical names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """What a tool does, under canonical names. Its description names nothing that can be renamed."""

    name: str
    description: str
    required: tuple[str, ...]
    arguments: Mapping[str, Mapping[str, Json]]


OPERATIONS = (
    Operation(
        name="find",
        description="Look for passages by words: those that hold any of them, or only those that hold all. Those that "
        "hold every word come first. One of 4 look calls.",
        required=("text",),
        arguments={
            "text": {"type": "string", "description": "Words to look for."},
            "top": {"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": DEFAULT_RESULTS},
            "match": {"type": "string", "enum": list(MATCHES), "default": ANY},
        },
    ),
    Operation(
        name="read",
        description=f"Read lines of a document, at most {LINES} a call, from its beginning if nothing else is said. "
        "One of 6 read calls.",
        required=("document",),
        arguments={
            "document": {"type": "string", "description": "The document's id or its name."},
            "from": {"type": "integer", "minimum": 1, "description": "The first line."},
            "to": {"type": "integer", "minimum": 1, "description": "The last line."},
        },
    ),
    Operation(
        name="compute",
        description="Work out two numbers. One of 2 compute calls.",
        required=("left", "right", "kind"),
        arguments={
            "left": {"type": "number"},
            "right": {"type": "number"},
            "kind": {"type": "string", "enum": ["add", "subtract", "multiply", "divide"]},
        },
    ),
)


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
            tool=interface.tool_names["find"],
            query=interface.argument("find.text"),
            limit=interface.argument("find.top"),
            match=MatchArgument(argument=interface.argument("find.match"), all=ALL, any=ANY),
        ),
        open=OpenTool(tool=interface.tool_names["read"], document=interface.argument("read.document"), unit="document"),
    )


def show_layout(interface: InterfaceProtocol) -> JsonLayout:
    return JsonLayout(items=interface.field_names["results"], message=interface.field_names["message"])


def show_fields(interface: InterfaceProtocol, fields: Mapping[str, Json]) -> dict[str, Json]:
    """A result's fields under the variant's names, each in its group."""
    shown: dict[str, Json] = {}
    for name, value in fields.items():
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
        found.append(
            {
                **asdict(tool),
                "name": name,
                "parameters": {**tool.parameters, "properties": properties, "required": required},
            }
        )
    return found


def canonical_limits(limits: Limits, interface: InterfaceProtocol) -> Json:
    """The limits of one variant with the canonical names of its tools."""
    by_name = _inverse(interface.tool_names) or {}
    return {**asdict(limits), "tool_groups": {by_name.get(t, t): group for t, group in limits.tool_groups.items()}}


def canonical_fields(interface: InterfaceProtocol, shown: Mapping[str, Json]) -> Json:
    """A result's fields under their canonical names; a sentence where names cannot be told apart."""
    places = {name: (interface.field_groups.get(name), key) for name, key in interface.field_names.items()}
    by_place = _inverse(places)
    groups = set(interface.field_groups.values())
    if by_place is None or any((None, group) in by_place for group in groups):
        return "two fields have one name"
    found: dict[str, Json] = {}
    for key, value in shown.items():
        inner = value.items() if key in groups and isinstance(value, Mapping) else None
        for place, held in [((None, key), value)] if inner is None else [((key, k), v) for k, v in inner]:
            if place not in by_place:
                return f"a field {place} that has no canonical name"
            found[by_place[place]] = held
    return found


def _inverse(names: Mapping[str, Json]) -> dict[Json, str] | None:
    """As shown → canonical; None where two are shown alike."""
    back = {shown: canonical for canonical, shown in names.items()}
    return back if len(back) == len(names) else None
