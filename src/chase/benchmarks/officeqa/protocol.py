"""OfficeQA's protocol state: names and order of documents, their layout, and what tools and results look like.

It holds no contents. What operators change is here, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from chase.benchmarks.officeqa.passages import PASSAGE_LINES
from chase.core.values import Json

Place = Literal["released", "before", "after", "other side"]
"""Where statements that belong to a table stand: `released` is where they are in the documents."""
TableStyle = Literal["released", "markdown", "compact", "bare"]
ORDER_SPAN = 1 << 20
"""Sort keys lie below it."""
LAYOUT = "(layout)"
"""Where the fields that all documents share stand among those of documents."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentProtocol:
    """What one document is called and where it is listed."""

    id: str
    """The corpus's own, the same in every task and out of every operator's reach."""
    name: str
    """Of its file."""
    order: int
    """Sort key in the listing."""

    def fields(self) -> dict[str, Json]:
        return {"name": self.name, "order": self.order}


@dataclass(frozen=True, kw_only=True, slots=True)
class LayoutProtocol:
    """How the lines of all documents are laid out, and where they are cut into passages."""

    unit_place: Place = "released"
    note_place: Place = "released"
    table_style: TableStyle = "released"
    passage_lines: int = PASSAGE_LINES
    passage_shift: int = 0
    """By how many lines boundaries between passages stand later."""

    def fields(self) -> dict[str, Json]:
        return {name: getattr(self, name) for name in LAYOUT_FIELDS}


TOOLS = ("search", "read", "list_documents", "calculator")
ARGUMENTS = (
    "search.query",
    "search.match",
    "search.limit",
    "read.document",
    "read.start",
    "read.end",
    "list_documents.contains",
    "list_documents.offset",
    "calculator.expression",
)
FIELDS = ("results", "message", "document", "name", "passage", "lines", "of", "text")
"""Of results: the keys of the items and the message, then those of an item."""


def _as_released(names: tuple[str, ...]) -> Mapping[str, str]:
    return {name: name.rpartition(".")[2] for name in names}


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultOrder:
    """How the results of a search are put in another order than BM25's, within the page that is shown."""

    reversed: bool = False
    seed: int = 0
    """Of a permutation; 0: none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InterfaceProtocol:
    """What the tools look like: canonical name → the name that is shown; and the order of results."""

    tool_names: Mapping[str, str]
    argument_names: Mapping[str, str]
    """`tool.argument` → the argument's shown name."""
    field_names: Mapping[str, str]
    field_groups: Mapping[str, str]
    """Result field → the object that it stands in; it stands by itself where it is not named."""
    wrapped_text: bool = False
    """Whether the text of a search result stands in an object that says where it is placed."""
    tie_order: ResultOrder = ResultOrder()
    """Of results with equal scores."""
    page_order: ResultOrder = ResultOrder()
    """Of all results that are shown."""

    def argument(self, name: str) -> str:
        return self.argument_names[name]

    def fields(self) -> dict[str, Json]:
        names = {name: dict(getattr(self, name)) for name in _NAMES}
        orders = {name: [getattr(self, name).reversed, getattr(self, name).seed] for name in _ORDERS}
        return {**names, "wrapped_text": self.wrapped_text, **orders}


_NAMES = ("tool_names", "argument_names", "field_names", "field_groups")
_ORDERS = ("tie_order", "page_order")
LAYOUT_FIELDS = tuple(LayoutProtocol.__dataclass_fields__)
PROTOCOL_FIELDS = frozenset({"name", "order", *LAYOUT_FIELDS, *InterfaceProtocol.__dataclass_fields__})
RELEASED_INTERFACE = InterfaceProtocol(
    tool_names=_as_released(TOOLS),
    argument_names=_as_released(ARGUMENTS),
    field_names=_as_released(FIELDS),
    field_groups={},
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Protocol:
    """The protocol state that all tasks of a corpus share: the documents' in the order of their ids, the layout's and
    the tools'.
    """

    documents: tuple[DocumentProtocol, ...]
    layout: LayoutProtocol = LayoutProtocol()
    interface: InterfaceProtocol = RELEASED_INTERFACE

    def update(self, changes: Mapping[str, Mapping[str, Any]]) -> Protocol:
        """The state with some documents' fields set anew."""
        return replace(self, documents=tuple(replace(d, **changes.get(d.id, {})) for d in self.documents))

    def lay_out(self, **changes: Any) -> Protocol:
        """The state with some of the layout's fields set anew."""
        return replace(self, layout=replace(self.layout, **changes))

    def show_tools(self, **changes: Any) -> Protocol:
        """The state with some of the interface's fields set anew."""
        return replace(self, interface=replace(self.interface, **changes))


def released_protocol(names: Mapping[str, str]) -> Protocol:
    """The released state of a corpus: its documents under their names, listed by them. `names`: by id."""
    places = {id_: place for place, (id_, _) in enumerate(sorted(names.items(), key=lambda item: (item[1], item[0])))}
    documents = (DocumentProtocol(id=id_, name=name, order=places[id_]) for id_, name in sorted(names.items()))
    return Protocol(documents=tuple(documents))
