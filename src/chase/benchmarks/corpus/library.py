"""A corpus under one variant: its documents as lines, under their names, and what a search of them finds.

What all environments of a variant share. It is made from released lines and protocol state: no answer, no role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Protocol as TypingProtocol

from chase.benchmarks.corpus.index import Hit, Match, PassageIndex
from chase.benchmarks.corpus.passages import Passage, cut
from chase.benchmarks.corpus.protocol import AnyProtocol, Layout, ResultOrder
from chase.benchmarks.corpus.windows import Window, window
from chase.core.keyed import key_bits


class Texts(TypingProtocol):
    """The lines of documents by id, as released or as a layout shows them. A `Corpus` is one."""

    @property
    def line_counts(self) -> Mapping[str, int]: ...
    def lines(self, id_: str, start: int = 1, end: int | None = None) -> tuple[str, ...]: ...


class Library:
    """The documents as a variant shows them."""

    def __init__(self, texts: Texts, protocol: AnyProtocol, index: Callable[[], PassageIndex]) -> None:
        """`texts` are as the protocol's layout shows them. `index` opens the index of the passages: at the first
        search, as it may have to be built.
        """
        self.layout: Layout = protocol.layout
        self.names: Mapping[str, str] = {held.id: held.path for held in protocol.documents}
        self.listed: tuple[str, ...] = tuple(d.id for d in sorted(protocol.documents, key=lambda d: (d.order, d.id)))
        """Ids in the order of the listing."""
        self.places: Mapping[str, int] = {id_: place for place, id_ in enumerate(self.listed)}
        self.line_counts = texts.line_counts
        self._ids = {**{name: id_ for id_, name in self.names.items()}, **{id_: id_ for id_ in self.names}}
        self._open_index = index
        self._orders = protocol.interface.tie_order, protocol.interface.page_order
        self._texts = texts

    def document(self, wanted: str) -> str | None:
        """The id of the document that an id or a name means."""
        return self._ids.get(wanted)

    def between(self, id_: str, start: int, end: int) -> str:
        """The text of some lines, counted from 1."""
        return "\n".join(self._texts.lines(id_, start, end))

    def window(self, id_: str, start: int, end: int) -> Window:
        """The same as a tool's result shows it."""
        return window(self._texts.lines(id_, start, end), start, self.line_counts[id_])

    def text(self, id_: str) -> str:
        """The whole document."""
        return self.between(id_, 1, self.line_counts[id_])

    def search(self, query: str, *, match: Match, limit: int) -> tuple[list[Hit], int]:
        """The page of passages that is shown, in its order, and how many passages hold every word."""
        found, whole = self._index.search(query, match=match, limit=limit)
        return self.ordered(found), whole

    def ordered(self, hits: Sequence[Hit]) -> list[Hit]:
        """Hits in BM25 order as this variant orders a page of them."""
        return order_results(hits, *self._orders)

    def moved(self, hit: Hit) -> Hit:
        """The passage of this library that holds the middle line of one that was found under another cut."""
        middle = (hit.start + hit.end) // 2
        passages = passages_of(self.line_counts[hit.document], self.layout)
        number, found = next((n, p) for n, p in enumerate(passages, start=1) if p.end >= middle)
        return replace(hit, passage=number, start=found.start, end=found.end)

    @cached_property
    def _index(self) -> PassageIndex:
        return self._open_index()


def order_results(hits: Sequence[Hit], ties: ResultOrder, page: ResultOrder) -> list[Hit]:
    """A page of hits in another order: first within groups of equal score, then altogether."""
    groups: dict[float, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.score, []).append(hit)
    return _ordered([hit for group in groups.values() for hit in _ordered(group, ties)], page)


def _ordered(hits: Sequence[Hit], order: ResultOrder) -> list[Hit]:
    shown = list(hits)
    if order.seed:
        shown.sort(key=lambda hit: key_bits("results", order.seed, hit.document, hit.passage))
    return shown[::-1] if order.reversed else shown


def passages_of(lines: int, layout: Layout) -> tuple[Passage, ...]:
    """The passages of a document under a layout: its number of lines is the same in all."""
    return cut(lines, length=layout.passage_lines, shift=layout.passage_shift)


def indexed(texts: Texts, ids: Sequence[str], layout: Layout) -> Iterator[tuple[str, Sequence[str], Sequence[Passage]]]:
    """Every document as it is indexed, one after the other. `texts` are as the layout shows them."""
    for id_ in ids:
        yield id_, texts.lines(id_), passages_of(texts.line_counts[id_], layout)
