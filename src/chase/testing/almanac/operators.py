"""Almanac's allowlist: rules on names, orders, passages, statements of units, and on the tools' schemas.

An operator sees the protocol state and nothing else. It tells documents apart by their names, never by their ids.
Words of the interface are exchanged in pairs, so that every such operator undoes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pydantic import Field

from chase.core.keyed import key_bits, opaque_id
from chase.core.values import Neutral
from chase.protocol.operators import Arguments, OperatorKind
from chase.testing.almanac.protocol import ORDER_SPAN, SHIFTS, DocumentProtocol, Protocol

Pairs = Mapping[str, str]
Words = Literal["library", "desk"]

TOOL_WORDS: Mapping[str, Pairs] = {
    "library": {"find": "lookup", "read": "open_pages", "compute": "reckon"},
    "desk": {"find": "search_passages", "read": "fetch_lines", "compute": "calculate"},
}
ARGUMENT_WORDS: Mapping[str, Pairs] = {
    "library": {"text": "words", "top": "count", "document": "volume", "from": "first", "to": "last"},
    "desk": {"text": "query", "top": "limit", "document": "source", "from": "start", "to": "end"},
}
FIELD_WORDS: Mapping[str, Pairs] = {
    "library": {"results": "found", "name": "volume", "passage": "part", "lines": "pages", "snippet": "excerpt"},
    "desk": {"document": "source", "name": "file", "lines": "range", "snippet": "preview", "text": "body"},
}
GROUPS: Mapping[str, tuple[str, ...]] = {"origin": ("document", "name"), "position": ("passage", "lines", "of")}
"""Objects that result fields can be put into."""


class Style(Arguments):
    style: Literal["opaque", "numbered"]


class Nothing(Arguments):
    """No arguments."""


class Titles(Arguments):
    style: Literal["plain", "capitals", "year first"]


class Units(Arguments):
    to: Literal["before", "after", "other side"]


class Cut(Arguments):
    lines: Literal[0, 5, 9, 14]


class Shift(Arguments):
    by: int = Field(ge=1, lt=SHIFTS, le=SHIFTS - 1)


class Vocabulary(Arguments):
    words: Words


class Group(Arguments):
    group: Literal["origin", "position"]


def _for_each(change: Callable[[DocumentProtocol], Mapping[str, Any]], protocol: Protocol) -> Protocol:
    return protocol.update({held.id: change(held) for held in protocol.documents})


def _rename(protocol: Protocol, arguments: Style, seed: int) -> Protocol:
    """Names of one length that say nothing: drawn, or counted in the order of the names before."""
    if arguments.style == "opaque":
        return _for_each(lambda held: {"name": f"{opaque_id('name', seed, held.name, letters=9)}.txt"}, protocol)
    ordered = sorted(protocol.documents, key=lambda held: held.name)
    return protocol.update({held.id: {"name": f"document-{n:03}.txt"} for n, held in enumerate(ordered, start=1)})


def _reverse_order(protocol: Protocol, arguments: Nothing, seed: int) -> Protocol:
    return _for_each(lambda held: {"order": ORDER_SPAN - 1 - held.order}, protocol)


def _permute_order(protocol: Protocol, arguments: Nothing, seed: int) -> Protocol:
    return _for_each(lambda held: {"order": key_bits("order", seed, held.name) % ORDER_SPAN}, protocol)


def _restyle(protocol: Protocol, arguments: Titles, seed: int) -> Protocol:
    return _for_each(lambda held: {"title_style": arguments.style}, protocol)


def _move_units(protocol: Protocol, arguments: Units, seed: int) -> Protocol:
    other = {"before": "after", "after": "before"}
    return _for_each(
        lambda held: {"unit_place": other[held.unit_place] if arguments.to == "other side" else arguments.to}, protocol
    )


def _cut(protocol: Protocol, arguments: Cut, seed: int) -> Protocol:
    return _for_each(lambda held: {"passage_lines": arguments.lines}, protocol)


def _shift(protocol: Protocol, arguments: Shift, seed: int) -> Protocol:
    return _for_each(lambda held: {"passage_shift": (held.passage_shift + arguments.by) % SHIFTS}, protocol)


def exchanged(names: Mapping[str, str], pairs: Pairs) -> dict[str, str]:
    """The names with the two words of each pair exchanged."""
    other = {**pairs, **{alias: word for word, alias in pairs.items()}}
    return {canonical: other.get(shown, shown) for canonical, shown in names.items()}


def _alias_tools(protocol: Protocol, arguments: Vocabulary, seed: int) -> Protocol:
    names = exchanged(protocol.interface.tool_names, TOOL_WORDS[arguments.words])
    return protocol.show_tools(tool_names=names)


def _rename_arguments(protocol: Protocol, arguments: Vocabulary, seed: int) -> Protocol:
    names = exchanged(protocol.interface.argument_names, ARGUMENT_WORDS[arguments.words])
    return protocol.show_tools(argument_names=names)


def _rename_fields(protocol: Protocol, arguments: Vocabulary, seed: int) -> Protocol:
    names = exchanged(protocol.interface.field_names, FIELD_WORDS[arguments.words])
    return protocol.show_tools(field_names=names)


def _nest(protocol: Protocol, arguments: Group, seed: int) -> Protocol:
    """The group's fields go into an object of its name; those that are in it come out."""
    groups = dict(protocol.interface.field_groups)
    for field in GROUPS[arguments.group]:
        if groups.pop(field, None) is None:
            groups[field] = arguments.group
    return protocol.show_tools(field_groups=dict(sorted(groups.items())))


def _same(arguments: Arguments) -> Mapping[str, Any]:
    return arguments.model_dump()


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
        fields=lambda _: frozenset({field}),
        in_words=in_words,
        run=run,
        **more,
    )


ALLOWLIST: Mapping[str, OperatorKind[Protocol]] = {
    kind.name: kind
    for kind in (
        _kind(
            "rename-documents", "documents get names of one length that say nothing", Style, "name", _rename,
            seeded=lambda arguments: arguments.style == "opaque",
            neutral=(Neutral(aspect="file names", low={"style": "opaque"}, high={"style": "opaque"}, equal=False),),
        ),
        _kind(
            "reverse-order", "results that match equally well come the other way round", Nothing, "order",
            _reverse_order, inverse=_same,
        ),
        _kind(
            "permute-order", "results that match equally well come in another order", Nothing, "order",
            _permute_order, seeded=lambda _: True,
            neutral=(Neutral(aspect="order of equally good results", low={}, high={}, equal=False),),
        ),
        _kind(
            "restyle-titles", "all titles are written in one style", Titles, "title_style", _restyle,
            neutral=(Neutral(aspect="styles of titles", low={"style": "plain"}, high={"style": "capitals"}),),
        ),
        _kind(
            "move-units", "tables state their unit before their rows or after them", Units, "unit_place", _move_units,
            inverse=lambda arguments: _same(arguments) if arguments.to == "other side" else None,
            neutral=(Neutral(aspect="places of units", low={"to": "before"}, high={"to": "after"}),),
        ),
        _kind(
            "cut-passages", "passages have so many lines; 0: they end at blank lines", Cut, "passage_lines", _cut,
        ),
        _kind(
            "shift-passages", "passages begin some lines later", Shift, "passage_shift", _shift,
            inverse=lambda arguments: {"by": SHIFTS - arguments.by},
        ),
        _kind("alias-tools", "tools have other names", Vocabulary, "tool_names", _alias_tools, inverse=_same),
        _kind(
            "rename-arguments", "arguments of tools have other names", Vocabulary, "argument_names", _rename_arguments,
            inverse=_same,
        ),
        _kind(
            "rename-fields", "fields of results have other names", Vocabulary, "field_names", _rename_fields,
            inverse=_same,
        ),
        _kind(
            "nest-fields", "fields of results go into an object, or come out of it", Group, "field_groups", _nest,
            inverse=_same,
        ),
    )
}  # fmt: skip
"""What proposals for Almanac may use."""
