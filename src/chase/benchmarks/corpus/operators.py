"""Rules on names, orders, passages, and on the tools' schemas and results, for the allowlist of any corpus.

An operator sees the protocol state and the seed, nothing else. It tells documents apart by their names, never by their
ids. Words of the interface are exchanged in pairs, so that every such operator undoes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Literal

from chase.benchmarks.corpus.protocol import ORDER_SPAN, AnyProtocol, DocumentProtocol
from chase.core.keyed import key_bits, opaque_id
from chase.core.values import Neutral
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


class Style(Arguments):
    style: Literal["opaque", "counted"]


class Way(Arguments):
    way: Literal["reversed", "permuted"]


class ResultWay(Arguments):
    among: Literal["ties", "page"]
    way: Literal["reversed", "permuted"]


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


def for_each(change: Callable[[DocumentProtocol], Mapping[str, Any]], protocol: AnyProtocol) -> AnyProtocol:
    return protocol.update({held.id: change(held) for held in protocol.documents})


def _rename(protocol: AnyProtocol, arguments: Style, seed: int) -> AnyProtocol:
    """Names of one length without a digit: drawn, or counted in letters in the order of the names before."""
    if arguments.style == "opaque":
        return for_each(lambda held: {"name": _named(held, opaque_id("name", seed, held.path, letters=12))}, protocol)
    ordered = sorted(protocol.documents, key=lambda held: held.path)
    return protocol.update(
        {held.id: {"name": _named(held, f"document_{_letters(n)}")} for n, held in enumerate(ordered)}
    )


def _named(held: DocumentProtocol, stem: str) -> str:
    """Another name with the same suffix, which belongs to the document's format."""
    return stem + PurePosixPath(held.name).suffix


def _letters(number: int) -> str:
    """A number in four letters: aaaa, aaab, …"""
    return "".join(chr(ord("a") + number // 26**place % 26) for place in (3, 2, 1, 0))


def _order_listing(protocol: AnyProtocol, arguments: Way, seed: int) -> AnyProtocol:
    if arguments.way == "reversed":
        return for_each(lambda held: {"order": ORDER_SPAN - 1 - held.order}, protocol)
    return for_each(lambda held: {"order": key_bits("order", seed, held.path) % ORDER_SPAN}, protocol)


def _order_results(protocol: AnyProtocol, arguments: ResultWay, seed: int) -> AnyProtocol:
    """Turned round once more, or permuted by one more seed: done twice, either is undone."""
    field = "tie_order" if arguments.among == "ties" else "page_order"
    order = getattr(protocol.interface, field)
    if arguments.way == "reversed":
        return protocol.show_tools(**{field: replace(order, reversed=not order.reversed)})
    return protocol.show_tools(**{field: replace(order, seed=order.seed ^ (seed + 1))})


def _cut(protocol: AnyProtocol, arguments: Cut, seed: int) -> AnyProtocol:
    return protocol.lay_out(passage_lines=arguments.lines)


def _shift(protocol: AnyProtocol, arguments: Shift, seed: int) -> AnyProtocol:
    return protocol.lay_out(passage_shift=(protocol.layout.passage_shift + arguments.by) % SHIFTS)


def exchanged(names: Mapping[str, str], pairs: Pairs) -> dict[str, str]:
    """The names with the two words of each pair exchanged."""
    other = {**pairs, **{alias: word for word, alias in pairs.items()}}
    return {canonical: other.get(shown, shown) for canonical, shown in names.items()}


def _exchange(field: str, words: Mapping[str, Pairs]) -> Callable[[AnyProtocol, Vocabulary, int], AnyProtocol]:
    def run(protocol: AnyProtocol, arguments: Vocabulary, seed: int) -> AnyProtocol:
        names = exchanged(getattr(protocol.interface, field), words[arguments.words])
        return protocol.show_tools(**{field: names})

    return run


def _nest(protocol: AnyProtocol, arguments: Group, seed: int) -> AnyProtocol:
    """The group's fields go into an object of its name; those that are in it come out."""
    groups = dict(protocol.interface.field_groups)
    for field in GROUPS[arguments.group]:
        if groups.pop(field, None) is None:
            groups[field] = arguments.group
    return protocol.show_tools(field_groups=dict(sorted(groups.items())))


def _wrap(protocol: AnyProtocol, arguments: Nothing, seed: int) -> AnyProtocol:
    return protocol.show_tools(wrapped_text=not protocol.interface.wrapped_text)


def same(arguments: Arguments) -> Mapping[str, Any]:
    return arguments.model_dump()


def redrawn(aspect: str, arguments: Mapping[str, Any]) -> Neutral:
    """Values that are drawn anew for every document."""
    return Neutral(aspect=aspect, low=arguments, high=arguments, equal=False)


def corpus_kind(
    name: str, summary: str, arguments: type[Arguments], field: str,
    run: Callable[[AnyProtocol, Any, int], AnyProtocol], **more: Any,
) -> OperatorKind[AnyProtocol]:  # fmt: skip
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


RENAME = corpus_kind(
    "rename-documents", "documents get names of one length that say nothing", Style, "name", _rename,
    seeded=lambda arguments: arguments.style == "opaque",
    neutral=(redrawn("file names", {"style": "opaque"}),),
)  # fmt: skip
ORDER_LISTING = corpus_kind(
    "order-listing", "documents are listed in another order", Way, "order", _order_listing,
    seeded=lambda arguments: arguments.way == "permuted",
    inverse=lambda arguments: same(arguments) if arguments.way == "reversed" else None,
    neutral=(redrawn("order of file listings", {"way": "permuted"}),),
)  # fmt: skip
CUT_PASSAGES = corpus_kind("cut-passages", "passages have so many lines", Cut, "passage_lines", _cut)
SHIFT_PASSAGES = corpus_kind(
    "shift-passages", "boundaries between passages stand some lines later", Shift, "passage_shift", _shift,
    inverse=lambda arguments: {"by": SHIFTS - arguments.by},
    neutral=(Neutral(aspect="places in passages", low={"by": 10}, high={"by": 30}, equal=False),),
)  # fmt: skip
ORDER_RESULTS = corpus_kind(
    "order-results", "results of a search come in another order", ResultWay, "page_order", _order_results,
    fields=lambda arguments: frozenset({"tie_order" if arguments.among == "ties" else "page_order"}),
    seeded=lambda arguments: arguments.way == "permuted", inverse=same,
    neutral=(redrawn("order of equally good results", {"among": "ties", "way": "permuted"}),),
)  # fmt: skip
ALIAS_TOOLS = corpus_kind(
    "alias-tools", "tools have other names", Vocabulary, "tool_names", _exchange("tool_names", TOOL_WORDS),
    inverse=same,
)  # fmt: skip
RENAME_ARGUMENTS = corpus_kind(
    "rename-arguments", "arguments of tools have other names", Vocabulary, "argument_names",
    _exchange("argument_names", ARGUMENT_WORDS), inverse=same,
)  # fmt: skip
RENAME_FIELDS = corpus_kind(
    "rename-fields", "fields of results have other names", Vocabulary, "field_names",
    _exchange("field_names", FIELD_WORDS), inverse=same,
)  # fmt: skip
NEST_FIELDS = corpus_kind(
    "nest-fields", "fields of results go into an object, or come out of it", Group, "field_groups", _nest,
    inverse=same,
)  # fmt: skip
WRAP_TEXT = corpus_kind(
    "wrap-text", "the text of search results goes into an object table_context that says it is placed before, or "
    "comes out of it", Nothing, "wrapped_text", _wrap, inverse=same,
)  # fmt: skip
ON_INTERFACE = (ORDER_RESULTS, ALIAS_TOOLS, RENAME_ARGUMENTS, RENAME_FIELDS, NEST_FIELDS, WRAP_TEXT)
