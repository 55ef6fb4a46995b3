"""The protocol state of a corpus: names and order of documents, passages, and what tools and results look like.

It holds no contents. What operators change is here, and nothing else. A benchmark adds fields of its own in subclasses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

from chase.benchmarks.corpus.passages import PASSAGE_LINES
from chase.benchmarks.corpus.serialization import Manner
from chase.core.values import Json

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

    @property
    def path(self) -> str:
        """What the document is called in results."""
        return self.name

    def fields(self) -> dict[str, Json]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "id"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """How all documents are laid out: where they are cut into passages."""

    passage_lines: int = PASSAGE_LINES
    passage_shift: int = 0
    """By how many lines boundaries between passages stand later."""

    def fields(self) -> dict[str, Json]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


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

    def manner(self) -> Manner:
        """How results and messages are written: as JSON, and as they are."""
        return Manner()

    def fields(self) -> dict[str, Json]:
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def _plain(value: Any) -> Json:
    if isinstance(value, ResultOrder):
        return [value.reversed, value.seed]
    return dict(value) if isinstance(value, Mapping) else value


RELEASED_NAMES: Mapping[str, Mapping[str, str]] = {
    "tool_names": _as_released(TOOLS),
    "argument_names": _as_released(ARGUMENTS),
    "field_names": _as_released(FIELDS),
    "field_groups": {},
}
RELEASED_INTERFACE = InterfaceProtocol(**RELEASED_NAMES)  # type: ignore[arg-type]

L = TypeVar("L", bound=Layout)


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusProtocol(Generic[L]):
    """The protocol state that all tasks of a corpus share: the documents' in the order of their ids, the layout's and
    the tools'.
    """

    documents: tuple[DocumentProtocol, ...]
    layout: L
    interface: InterfaceProtocol = RELEASED_INTERFACE

    def update(self, changes: Mapping[str, Mapping[str, Any]]) -> CorpusProtocol[L]:
        """The state with some documents' fields set anew."""
        return replace(self, documents=tuple(replace(d, **changes.get(d.id, {})) for d in self.documents))

    def lay_out(self, **changes: Any) -> CorpusProtocol[L]:
        """The state with some of the layout's fields set anew."""
        return replace(self, layout=replace(self.layout, **changes))

    def show_tools(self, **changes: Any) -> CorpusProtocol[L]:
        """The state with some of the interface's fields set anew."""
        return replace(self, interface=replace(self.interface, **changes))


AnyProtocol = CorpusProtocol[Any]


def listing_places(names: Mapping[str, str]) -> Mapping[str, int]:
    """The released order of a listing: by name. `names`: by id."""
    ordered = sorted(names.items(), key=lambda item: (item[1], item[0]))
    return {id_: place for place, (id_, _) in enumerate(ordered)}
