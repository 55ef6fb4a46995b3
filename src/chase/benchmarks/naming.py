"""Tools and results under the names of a variant, and the way back to the canonical ones.

For a benchmark whose operators rename tools, arguments and the fields of results.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from chase.core.values import Json, JsonLayout, Limits, ToolSpec

Place = tuple[str | None, str]
"""Of a field in a result: the object that it stands in (None: by itself), and its shown name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """What a tool does, under canonical names. Its description names nothing that can be renamed."""

    name: str
    description: str
    required: tuple[str, ...]
    arguments: Mapping[str, Mapping[str, Json]]


class Names(Protocol):
    """What the tools look like: canonical name → the name that is shown."""

    @property
    def tool_names(self) -> Mapping[str, str]: ...
    @property
    def argument_names(self) -> Mapping[str, str]:
        """`tool.argument` → the argument's shown name."""
        ...

    @property
    def field_names(self) -> Mapping[str, str]: ...
    @property
    def field_groups(self) -> Mapping[str, str]:
        """Result field → the object that it stands in; it stands by itself where it is not named."""
        ...

    def argument(self, name: str) -> str: ...


# As a variant shows them


def show_tools(operations: Sequence[Operation], names: Names) -> tuple[ToolSpec, ...]:
    """The tools as a variant names them."""
    return tuple(_spec(operation, names) for operation in operations)


def _spec(operation: Operation, names: Names) -> ToolSpec:
    shown = {name: names.argument(f"{operation.name}.{name}") for name in operation.arguments}
    return ToolSpec(
        name=names.tool_names[operation.name],
        description=operation.description,
        parameters={
            "type": "object",
            "properties": {shown[name]: schema for name, schema in operation.arguments.items()},
            "required": [shown[name] for name in operation.required],
            "additionalProperties": False,
        },
    )


def show_limits(limits: Limits, names: Names) -> Limits:
    """The limits with the tools' shown names."""
    return replace(limits, tool_groups={names.tool_names[t]: group for t, group in limits.tool_groups.items()})


def show_layout(names: Names) -> JsonLayout:
    return JsonLayout(items=names.field_names["results"], message=names.field_names["message"])


def show_arguments(names: Names, tool: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
    """A call's arguments under the variant's names."""
    return {names.argument(f"{tool}.{name}"): value for name, value in arguments.items()}


def show_fields(names: Names, fields: Mapping[str, Json]) -> dict[str, Json]:
    """A result's fields under the variant's names, each in its group."""
    shown: dict[str, Json] = {}
    for name, value in fields.items():
        group = names.field_groups.get(name)
        (shown if group is None else shown.setdefault(group, {}))[names.field_names[name]] = value
    return shown


# The way back


def canonical_tools(tools: Sequence[ToolSpec], names: Names) -> Json:
    """The tools under their canonical names, however they are called; a sentence where names cannot be told apart."""
    by_name = _inverse(names.tool_names)
    if by_name is None:
        return "two tools have one name"
    found = []
    for tool in tools:
        name = by_name.get(tool.name, tool.name)
        own = {key: shown for key, shown in names.argument_names.items() if key.startswith(f"{name}.")}
        arguments = _inverse(own)
        if arguments is None:
            return f"two arguments of {name} have one name"
        back = {shown: key.rpartition(".")[2] for shown, key in arguments.items()}
        properties = {back.get(shown, shown): schema for shown, schema in tool.parameters["properties"].items()}
        required = [back.get(shown, shown) for shown in tool.parameters["required"]]
        parameters = {**tool.parameters, "properties": properties, "required": required}
        found.append({"name": name, "description": tool.description, "parameters": parameters})
    return found


def canonical_limits(limits: Limits, names: Names) -> Json:
    """The limits of one variant with the canonical names of its tools."""
    by_name = _inverse(names.tool_names) or {}
    return {**asdict(limits), "tool_groups": {by_name.get(t, t): group for t, group in limits.tool_groups.items()}}


def canonical_fields(
    names: Names,
    shown: Mapping[str, Json],
    *,
    more: Mapping[Place, str] | None = None,
    more_groups: Collection[str] = (),
) -> dict[str, Json] | str:
    """A result's fields under their canonical names; a sentence where names cannot be told apart.

    `more`: fields that a variant adds, by their place; `more_groups`: what no field may be called beside the groups.
    """
    places: dict[str, Place] = {name: (names.field_groups.get(name), key) for name, key in names.field_names.items()}
    by_place, groups = _inverse(places), {*names.field_groups.values(), *more_groups}
    if by_place is None or any((None, group) in by_place for group in groups):
        return "two fields have one name"
    by_place |= more or {}
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
