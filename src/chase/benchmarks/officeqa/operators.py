"""OfficeQA's allowlist: the rules for any corpus, and those on where units, notes and rows of tables stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from chase.benchmarks.corpus.operators import (
    CUT_PASSAGES,
    ON_INTERFACE,
    ORDER_LISTING,
    RENAME,
    SHIFT_PASSAGES,
    corpus_kind,
    same,
)
from chase.benchmarks.officeqa.protocol import Place, Protocol
from chase.core.values import Neutral
from chase.protocol.operators import Arguments, OperatorKind

_OTHER: Mapping[Place, Place] = {
    "released": "other side",
    "other side": "released",
    "before": "after",
    "after": "before",
}


class Side(Arguments):
    to: Literal["before", "after", "other side"]


class Tables(Arguments):
    style: Literal["markdown", "compact", "bare"]


def _move_units(protocol: Protocol, arguments: Side, seed: int) -> Protocol:
    return protocol.lay_out(unit_place=_side(protocol.layout.unit_place, arguments))


def _move_notes(protocol: Protocol, arguments: Side, seed: int) -> Protocol:
    return protocol.lay_out(note_place=_side(protocol.layout.note_place, arguments))


def _side(place: Place, arguments: Side) -> Place:
    return _OTHER[place] if arguments.to == "other side" else arguments.to


def _restyle(protocol: Protocol, arguments: Tables, seed: int) -> Protocol:
    return protocol.lay_out(table_style=arguments.style)


def _if_exchanged(arguments: Side) -> Mapping[str, Any] | None:
    return same(arguments) if arguments.to == "other side" else None


def _sides(aspect: str) -> Neutral:
    """All on one side of their tables."""
    return Neutral(aspect=aspect, low={"to": "before"}, high={"to": "after"})


_DOCUMENTS = (
    RENAME,
    ORDER_LISTING,
    corpus_kind(
        "move-units", "statements of units stand on another side of their table", Side, "unit_place", _move_units,
        inverse=_if_exchanged, neutral=(_sides("places of units"),),
    ),
    corpus_kind(
        "move-notes", "notes and sources stand on another side of their table", Side, "note_place", _move_notes,
        inverse=_if_exchanged, neutral=(_sides("places of notes"),),
    ),
    corpus_kind(
        "restyle-tables", "rows of tables are written in one style", Tables, "table_style", _restyle,
        neutral=(Neutral(aspect="styles of tables", low={"style": "compact"}, high={"style": "markdown"}),),
    ),
    CUT_PASSAGES,
    SHIFT_PASSAGES,
)  # fmt: skip
ALLOWLIST: Mapping[str, OperatorKind[Protocol]] = {kind.name: kind for kind in (*_DOCUMENTS, *ON_INTERFACE)}
"""What proposals for OfficeQA may use."""
