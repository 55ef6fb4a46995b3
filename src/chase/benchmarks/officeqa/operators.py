"""OfficeQA's allowlist: rules on names, orders, layout, passages, and on the tools' schemas and results.

An operator sees the protocol state and the seed, nothing else. It tells documents apart by their names, never by their
ids. Words of the interface are exchanged in pairs, so that every such operator undoes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from chase.benchmarks.officeqa.protocol import ORDER_SPAN, DocumentProtocol, Place, Protocol
from chase.core.keyed import key_bits, opaque_id
from chase.protocol.operators import Arguments, OperatorKind

Pairs = Mapping[str, str]

TOOL_WORDS: Mapping[str, Pairs] = {
    "library": {"search": "find_passages", "read": "open_pages", "list_documents": "catalogue", "calculator": "reckon"},
    "desk": {"search": "lookup", "read": "fetch_lines", "list_documents": "show_files", "calculator": "compute"},
}
ARGUMENT_WORDS: Mapping[str, Pairs] = {
    "library": {"query": "words", "limit": "count", "document": "volume", "start": "first", "end": "last"},
    "desk": {"query": "text", "match": "need", "limit": "top", "document": "source", "start": "from", "end": "to"},
}
FIELD_WORDS: Mapping[str, Pairs] = {
    "library": {"results": "found", "document": "volume", "passage": "part", "lines": "pages", "text": "excerpt"},
    "desk": {"results": "items", "document": "source", "name": "file", "lines": "range", "text": "body"},
}
GROUPS: Mapping[str, tuple[str, ...]] = {"origin": ("document", "name"), "position": ("passage", "lines", "of")}
"""Objects that result fields can be put into."""
SHIFTS = 40
"""Shifts of passages are counted up to this: one of 10 and one of 30 lines are none."""
_OTHER: Mapping[Place, Place] = {
    "released": "other side",
    "other side": "released",
    "before": "after",
    "after": "before",
}


class Style(Arguments):
    style: Literal["opaque", "counted"]


class Way(Arguments):
    way: Literal["reversed", "permuted"]


class ResultWay(Arguments):
    among: Literal["ties", "page"]
    way: Literal["reversed", "permuted"]


class Side(Arguments):
    to: Literal["before", "after", "other side"]


class Tables(Arguments):
    style: Literal["markdown", "compact", "bare"]


class Cut(Arguments):
    lines: Literal[20, 40, 80]


class Shift(Arguments):
    by: Literal[5, 10, 20, 30, 35]


class Vocabulary(Arguments):
    words: Literal["library", "desk"]


class Group(Arguments):
    group: Literal["origin", "position"]


class Nothing(Arguments):
    """No arguments."""


def _for_each(change: Callable[[DocumentProtocol], Mapping[str, Any]], protocol: Protocol) -> Protocol:
    return protocol.update({held.id: change(held) for held in protocol.documents})


def _rename(protocol: Protocol, arguments: Style, seed: int) -> Protocol:
    """Names of one length without a digit: drawn, or counted in letters in the order of the names before."""
    if arguments.style == "opaque":
        return _for_each(lambda held: {"name": f"{opaque_id('name', seed, held.name, letters=12)}.txt"}, protocol)
    ordered = sorted(protocol.documents, key=lambda held: held.name)
    return protocol.update({held.id: {"name": f"document_{_letters(n)}.txt"} for n, held in enumerate(ordered)})


def _letters(number: int) -> str:
    """A number in four letters: aaaa, aaab, …"""
    return "".join(chr(ord("a") + number // 26**place % 26) for place in (3, 2, 1, 0))


def _order_listing(protocol: Protocol, arguments: Way, seed: int) -> Protocol:
    if arguments.way == "reversed":
        return _for_each(lambda held: {"order": ORDER_SPAN - 1 - held.order}, protocol)
    return _for_each(lambda held: {"order": key_bits("order", seed, held.name) % ORDER_SPAN}, protocol)


def _order_results(protocol: Protocol, arguments: ResultWay, seed: int) -> Protocol:
    """Turned round once more, or permuted by one more seed: done twice, either is undone."""
    field = "tie_order" if arguments.among == "ties" else "page_order"
    order = getattr(protocol.interface, field)
    if arguments.way == "reversed":
        return protocol.show_tools(**{field: replace(order, reversed=not order.reversed)})
    return protocol.show_tools(**{field: replace(order, seed=order.seed ^ (seed + 1))})


def _move_units(protocol: Protocol, arguments: Side, seed: int) -> Protocol:
    return protocol.lay_out(unit_place=_side(protocol.layout.unit_place, arguments))


def _move_notes(protocol: Protocol, arguments: Side, seed: int) -> Protocol:
    return protocol.lay_out(note_place=_side(protocol.layout.note_place, arguments))


def _side(place: Place, arguments: Side) -> Place:
    return _OTHER[place] if arguments.to == "other side" else arguments.to


def _restyle(protocol: Protocol, arguments: Tables, seed: int) -> Protocol:
    return protocol.lay_out(table_style=arguments.style)


def _cut(protocol: Protocol, arguments: Cut, seed: int) -> Protocol:
    return protocol.lay_out(passage_lines=arguments.lines)


def _shift(protocol: Protocol, arguments: Shift, seed: int) -> Protocol:
    return protocol.lay_out(passage_shift=(protocol.layout.passage_shift + arguments.by) % SHIFTS)


def exchanged(names: Mapping[str, str], pairs: Pairs) -> dict[str, str]:
    """The names with the two words of each pair exchanged."""
    other = {**pairs, **{alias: word for word, alias in pairs.items()}}
    return {canonical: other.get(shown, shown) for canonical, shown in names.items()}


def _exchange(field: str, words: Mapping[str, Pairs]) -> Callable[[Protocol, Vocabulary, int], Protocol]:
    def run(protocol: Protocol, arguments: Vocabulary, seed: int) -> Protocol:
        names = exchanged(getattr(protocol.interface, field), words[arguments.words])
        return protocol.show_tools(**{field: names})

    return run


def _nest(protocol: Protocol, arguments: Group, seed: int) -> Protocol:
    """The group's fields go into an object of its name; those that are in it come out."""
    groups = dict(protocol.interface.field_groups)
    for field in GROUPS[arguments.group]:
        if groups.pop(field, None) is None:
            groups[field] = arguments.group
    return protocol.show_tools(field_groups=dict(sorted(groups.items())))


def _wrap(protocol: Protocol, arguments: Nothing, seed: int) -> Protocol:
    return protocol.show_tools(wrapped_text=not protocol.interface.wrapped_text)


def _same(arguments: Arguments) -> Mapping[str, Any]:
    return arguments.model_dump()


def _if_exchanged(arguments: Side) -> Mapping[str, Any] | None:
    return _same(arguments) if arguments.to == "other side" else None


def _kind(
    name: str, summary: str, arguments: type[Arguments], field: str, run: Callable[[Protocol, Any, int], Protocol],
    **more: Any,
) -> OperatorKind[Protocol]:  # fmt: skip
    def in_words(chosen: Arguments) -> str:
        return " ".join([summary, *(f"({name} {value})" for name, value in chosen.model_dump().items())])

    return OperatorKind(
        name=name,
        version=1,
        summary=summary,
        arguments=arguments,
        in_words=in_words,
        run=run,
        **{"fields": lambda _: frozenset({field}), **more},
    )


_DOCUMENTS = (
    _kind(
        "rename-documents", "documents get names of one length that say nothing", Style, "name", _rename,
        seeded=lambda arguments: arguments.style == "opaque",
    ),
    _kind(
        "order-listing", "documents are listed in another order", Way, "order", _order_listing,
        seeded=lambda arguments: arguments.way == "permuted",
        inverse=lambda arguments: _same(arguments) if arguments.way == "reversed" else None,
    ),
    _kind(
        "move-units", "statements of units stand on another side of their table", Side, "unit_place", _move_units,
        inverse=_if_exchanged,
    ),
    _kind(
        "move-notes", "notes and sources stand on another side of their table", Side, "note_place", _move_notes,
        inverse=_if_exchanged,
    ),
    _kind("restyle-tables", "rows of tables are written in one style", Tables, "table_style", _restyle),
    _kind("cut-passages", "passages have so many lines", Cut, "passage_lines", _cut),
    _kind(
        "shift-passages", "boundaries between passages stand some lines later", Shift, "passage_shift", _shift,
        inverse=lambda arguments: {"by": SHIFTS - arguments.by},
    ),
)  # fmt: skip
_INTERFACE = (
    _kind(
        "order-results", "results of a search come in another order", ResultWay, "page_order", _order_results,
        fields=lambda arguments: frozenset({"tie_order" if arguments.among == "ties" else "page_order"}),
        seeded=lambda arguments: arguments.way == "permuted", inverse=_same,
    ),
    _kind(
        "alias-tools", "tools have other names", Vocabulary, "tool_names", _exchange("tool_names", TOOL_WORDS),
        inverse=_same,
    ),
    _kind(
        "rename-arguments", "arguments of tools have other names", Vocabulary, "argument_names",
        _exchange("argument_names", ARGUMENT_WORDS), inverse=_same,
    ),
    _kind(
        "rename-fields", "fields of results have other names", Vocabulary, "field_names",
        _exchange("field_names", FIELD_WORDS), inverse=_same,
    ),
    _kind(
        "nest-fields", "fields of results go into an object, or come out of it", Group, "field_groups", _nest,
        inverse=_same,
    ),
    _kind(
        "wrap-text", "the text of search results goes into an object table_context that says it is placed before, or "
        "comes out of it", Nothing, "wrapped_text", _wrap, inverse=_same,
    ),
)  # fmt: skip
ALLOWLIST: Mapping[str, OperatorKind[Protocol]] = {kind.name: kind for kind in (*_DOCUMENTS, *_INTERFACE)}
"""What proposals for OfficeQA may use."""
