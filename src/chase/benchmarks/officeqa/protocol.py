"""OfficeQA's protocol state: that of a corpus, and where units, notes and rows of tables stand in its documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from chase.benchmarks.corpus.protocol import (
    CorpusProtocol,
    DocumentProtocol,
    InterfaceProtocol,
    Layout,
    listing_places,
)

Place = Literal["released", "before", "after", "other side"]
"""Where statements that belong to a table stand: `released` is where they are in the documents."""
TableStyle = Literal["released", "markdown", "compact", "bare"]


@dataclass(frozen=True, kw_only=True, slots=True)
class LayoutProtocol(Layout):
    """How the lines of all documents are laid out, and where they are cut into passages."""

    unit_place: Place = "released"
    note_place: Place = "released"
    table_style: TableStyle = "released"


Protocol = CorpusProtocol[LayoutProtocol]
PROTOCOL_FIELDS = frozenset(
    {"name", "order", *LayoutProtocol.__dataclass_fields__, *InterfaceProtocol.__dataclass_fields__}
)


def released_protocol(names: Mapping[str, str]) -> Protocol:
    """The released state of a corpus: its documents under their names, listed by them. `names`: by id."""
    places = listing_places(names)
    documents = (DocumentProtocol(id=id_, name=name, order=places[id_]) for id_, name in sorted(names.items()))
    return CorpusProtocol(documents=tuple(documents), layout=LayoutProtocol())
