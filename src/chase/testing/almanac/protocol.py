"""Almanac's protocol state: how each document is shown, and what tools, arguments and result fields are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from chase.core.values import Json

TitleStyle = Literal["plain", "capitals", "year first"]
UnitPlace = Literal["before", "after"]

ORDER_SPAN = 1 << 20
"""Sort keys lie below it."""
SHIFTS = 4
"""Passages are shifted by fewer lines than this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentProtocol:
    """How one document is shown. Each field is one protocol component; none holds contents."""

    id: str
    """The corpus's own, the same in every task and out of every operator's reach."""
    name: str
    """Of its file."""
    order: int
    """Sort key among results that match equally well."""
    title_style: TitleStyle
    unit_place: UnitPlace
    """Where a table's unit is stated: before its rows or after them."""
    passage_lines: int = 0
    """Lines of a passage; 0: a passage ends where a blank line stands."""
    passage_shift: int = 0
    """By how many lines passages begin later."""

    def fields(self) -> dict[str, Json]:
        return {name: getattr(self, name) for name in DOCUMENT_FIELDS}


DOCUMENT_FIELDS = tuple(name for name in DocumentProtocol.__dataclass_fields__ if name != "id")

TOOLS = ("find", "read", "compute")
ARGUMENTS = (
    "find.text",
    "find.top",
    "find.match",
    "read.document",
    "read.from",
    "read.to",
    "compute.left",
    "compute.right",
    "compute.kind",
)
FIELDS = ("results", "message", "document", "name", "passage", "lines", "snippet", "of", "text")
"""Of results: the keys of the items and the message, then those of an item."""


def _as_released(names: tuple[str, ...]) -> Mapping[str, str]:
    return {name: name.rpartition(".")[2] for name in names}


@dataclass(frozen=True, kw_only=True, slots=True)
class InterfaceProtocol:
    """What the tools look like: canonical name → the name that is shown."""

    tool_names: Mapping[str, str]
    argument_names: Mapping[str, str]
    """`tool.argument` → the argument's shown name."""
    field_names: Mapping[str, str]
    field_groups: Mapping[str, str]
    """Result field → the object that it stands in; it stands by itself where it is not named."""

    def argument(self, name: str) -> str:
        return self.argument_names[name]

    def fields(self) -> dict[str, Json]:
        return {name: dict(getattr(self, name)) for name in INTERFACE_FIELDS}


INTERFACE_FIELDS = tuple(InterfaceProtocol.__dataclass_fields__)
RELEASED_INTERFACE = InterfaceProtocol(
    tool_names=_as_released(TOOLS),
    argument_names=_as_released(ARGUMENTS),
    field_names=_as_released(FIELDS),
    field_groups={},
)
PROTOCOL_FIELDS = frozenset({*DOCUMENT_FIELDS, *INTERFACE_FIELDS})


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """The protocol state that all tasks share: the documents' protocols in the order of their ids, and the tools'."""

    documents: tuple[DocumentProtocol, ...]
    interface: InterfaceProtocol = RELEASED_INTERFACE

    def update(self, changes: Mapping[str, Mapping[str, Any]]) -> Protocol:
        """The state with some documents' fields set anew."""
        return replace(self, documents=tuple(replace(d, **changes.get(d.id, {})) for d in self.documents))

    def show_tools(self, **changes: Any) -> Protocol:
        """The state with some of the interface's fields set anew."""
        return replace(self, interface=replace(self.interface, **changes))
