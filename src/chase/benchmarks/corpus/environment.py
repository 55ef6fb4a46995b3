"""The agent's interface to a corpus: `search`, `read`, `list_documents` and `calculator`, under a variant's names.

It is made from a library, which holds what can be shown: no answer, no source label, no role.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from chase.benchmarks.corpus.index import Hit, words
from chase.benchmarks.corpus.library import Library
from chase.benchmarks.corpus.protocol import InterfaceProtocol
from chase.benchmarks.corpus.schema import (
    ALL,
    DEFAULT_RESULTS,
    LISTED,
    MATCHES,
    MOST_RESULTS,
    READ_LINES,
    show_fields,
    show_interface,
)
from chase.benchmarks.counted_tools import CountedTools, Handler, is_count
from chase.benchmarks.naming import Operation, show_arguments, show_layout
from chase.core.arithmetic import calculate
from chase.core.values import Json, Limits, ResultItem, Sighting, ToolResult

VERSION = 1
LONGEST_QUERY = 2_000
"""Characters of a query, and of a text that names must hold."""


class CorpusEnvironment(CountedTools):
    """One rollout's tools. Every call is counted, also those that were refused."""

    def __init__(
        self,
        question: str,
        library: Library,
        interface: InterfaceProtocol,
        *,
        operations: Sequence[Operation],
        limits: Limits,
    ) -> None:
        super().__init__(interface, operations=operations, limits=limits)
        self.question = question
        self.interface = show_interface(interface)
        self._library = library
        self._names = interface
        self._manner = interface.manner()
        self._layout = show_layout(interface) if self._manner.serialization == "json" else None
        self._reads: Counter[str] = Counter()

    @property
    def _handlers(self) -> Mapping[str, Handler]:
        return {
            "search": self._search,
            "read": self._read,
            "list_documents": self._list,
            "calculator": self._calculate,
        }

    def refusal(self, message: str) -> ToolResult:
        return ToolResult(head=self._manner.say(message, ok=False), ok=False, layout=self._layout)

    def _answer(self, head: str, items: Sequence[ResultItem] = (), **more: Json) -> ToolResult:
        return ToolResult(head=self._manner.say(head, ok=True), items=tuple(items), layout=self._layout, **more)

    def _item(self, shown: Sighting, place: int = 0, opens: Mapping[str, Json] | None = None) -> ResultItem:
        """A result, as this variant writes it."""
        return ResultItem(shown=shown, line=self._manner.line(place, shown.fields), opens=opens)

    def _search(self, arguments: Mapping[str, Json]) -> ToolResult:
        query, limit = arguments["query"], arguments.get("limit", DEFAULT_RESULTS)
        if not isinstance(query, str) or len(query) > LONGEST_QUERY or not words(query):
            return self.refusal(f"What to look for is a text of one word or more and at most {LONGEST_QUERY} letters.")
        if not is_count(limit) or limit > MOST_RESULTS:
            return self.refusal(f"Results are counted from 1 to {MOST_RESULTS}.")
        match = arguments.get("match", ALL)
        if match not in MATCHES:
            return self.refusal(f"What must match is one of {', '.join(MATCHES)}.")
        hits, whole = self._library.search(query, match=match, limit=limit)
        items = [
            self._item(
                self.show_hit(hit, place, len(hits), matches=True if match == ALL else None),
                place,
                self._range(hit.document, hit.start),
            )
            for place, hit in enumerate(hits)
        ]
        head = " ".join([f"{whole} passages hold every word.", *self._cuts(hits)])
        return self._answer(head, items, coverage=whole)

    def _cuts(self, hits: Sequence[Hit]) -> Iterator[str]:
        """A sentence for each hit whose text is not shown whole."""
        for place, hit in enumerate(hits, start=1):
            if note := self._library.window(hit.document, hit.start, hit.end).note:
                yield f"Result {place}: {note}"

    def show_hit(self, hit: Hit, place: int, count: int, *, matches: bool | None = None) -> Sighting:
        """A passage as a result of a search shows it."""
        name = self._library.names[hit.document]
        fields = {
            "document": hit.document,
            "name": name,
            "passage": hit.passage,
            "lines": f"{hit.start}-{hit.end}",
            "text": self._library.window(hit.document, hit.start, hit.end).text,
        }
        shown = show_fields(self._names, "search", fields)
        return Sighting(id=hit.document, path=name, hit=place, hit_of=count, matches=matches, fields=shown)

    def _read(self, arguments: Mapping[str, Json]) -> ToolResult:
        wanted, first = arguments["document"], arguments.get("start", 1)
        found = self._library.document(wanted) if isinstance(wanted, str) else None
        if found is None:
            return self.refusal("There is no such document. Give an id or a name that was found or listed.")
        count = self._library.line_counts[found]
        if not is_count(first) or first > count:
            return self.refusal(f"Lines of this document are counted from 1 to {count}.")
        last = arguments.get("end", first + READ_LINES - 1)
        if not is_count(last) or last < first:
            return self.refusal("The last line must be a number, and not before the first.")
        last = min(last, first + READ_LINES - 1, count)
        window, name = self._library.window(found, first, last), self._library.names[found]
        lines = f"{first}-{window.last}"
        fields = {"document": found, "name": name, "lines": lines, "of": count, "text": window.text}
        reading = self._reads[found]
        self._reads[found] += 1
        shown = show_fields(self._names, "read", fields)
        item = self._item(Sighting(id=found, path=name, window=reading, text=window.text, fields=shown))
        reads_on = self._range(found, window.last + 1) if window.last < count else None
        return self._answer(window.note, [item], reads_on=reads_on)

    def _range(self, document: str, first: int) -> Mapping[str, Json]:
        """The arguments that read as many lines as a call may from a line on."""
        last = min(self._library.line_counts[document], first + READ_LINES - 1)
        return show_arguments(self._names, "read", {"document": document, "start": first, "end": last})

    def _list(self, arguments: Mapping[str, Json]) -> ToolResult:
        contains, offset = arguments.get("contains", ""), arguments.get("offset", 0)
        if not isinstance(contains, str) or len(contains) > LONGEST_QUERY:
            return self.refusal(f"What names must hold is a text of at most {LONGEST_QUERY} letters.")
        if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
            return self.refusal("How many are passed over is a number, 0 or more.")
        names = self._library.names
        found = [id_ for id_ in self._library.listed if contains.lower() in names[id_].lower()]
        page = found[offset : offset + LISTED]
        items = [self._item(self._listed(id_, len(found)), place) for place, id_ in enumerate(page)]
        return self._answer(f"{len(page)} of {len(found)} documents, {min(offset, len(found))} passed over.", items)

    def _listed(self, id_: str, count: int) -> Sighting:
        name = self._library.names[id_]
        shown = show_fields(self._names, "list_documents", {"document": id_, "name": name, "of": count})
        place, every = self._library.places[id_], len(self._library.listed)
        return Sighting(id=id_, path=name, listing=place, listing_of=every, fields=shown)

    def _calculate(self, arguments: Mapping[str, Json]) -> ToolResult:
        expression = arguments["expression"]
        if not isinstance(expression, str):
            return self.refusal("What to work out is a text, such as (1250.5 - 980) / 980.")
        try:
            return self._answer(calculate(expression))
        except ValueError as error:
            return self.refusal(f"That cannot be worked out: {error}.")
