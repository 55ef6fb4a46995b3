"""The agent's interface to the corpus: `find`, `read` and `compute`, under the names of a variant.

It is made from rendered documents only: no answer, no contents apart from text, no role.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from chase.benchmarks.counted_tools import CountedTools, Handler, is_count
from chase.benchmarks.naming import Operation, show_arguments, show_fields, show_layout
from chase.core.values import Json, Limits, ResultItem, Sighting, ToolResult
from chase.testing.almanac.protocol import Protocol
from chase.testing.almanac.questions import written
from chase.testing.almanac.rendering import Passage, RenderedDocument
from chase.testing.almanac.schema import (
    ALL,
    ANY,
    DEFAULT_RESULTS,
    LARGEST,
    LIMITS,
    LINES,
    MATCHES,
    MOST_RESULTS,
    OPERATIONS,
    show_interface,
)

VERSION = 2
SNIPPET = 72
"""Characters of a passage that a result shows."""


def words_of(text: str) -> frozenset[str]:
    """The words of a text as the search compares them."""
    return frozenset(re.findall(r"[a-z]+|\d+(?:\.\d+)?", text.lower()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Shelved:
    """A passage as the search holds it."""

    document: RenderedDocument
    order: int
    number: int
    """Its place in the document, from 1."""
    passage: Passage
    words: frozenset[str]
    """Its own and those of the document's title."""

    @property
    def snippet(self) -> str:
        text = " ".join(self.document.between(self.passage.start, self.passage.end).split())
        return text if len(text) <= SNIPPET else f"{text[:SNIPPET]}…"


@dataclass(frozen=True, kw_only=True, slots=True)
class Library:
    """The corpus under one variant: what all tasks' environments share."""

    documents: tuple[RenderedDocument, ...]
    passages: tuple[Shelved, ...]

    def find(self, text: str) -> tuple[list[Shelved], int]:
        """Passages with any of the words, best first, and how many have them all."""
        wanted = words_of(text)
        found = [(len(wanted & p.words), p) for p in self.passages if wanted & p.words]
        found.sort(key=lambda hit: (-hit[0], hit[1].order, hit[1].document.id, hit[1].number))
        return [passage for _, passage in found], sum(score == len(wanted) for score, _ in found)

    def document(self, wanted: str) -> RenderedDocument | None:
        return next((d for d in self.documents if wanted in (d.id, d.name)), None)


def make_library(documents: Sequence[RenderedDocument], protocol: Protocol) -> Library:
    """The documents and their passages, ready to be found."""
    orders = {held.id: held.order for held in protocol.documents}
    passages = [
        Shelved(
            document=document,
            order=orders[document.id],
            number=number,
            passage=passage,
            words=words_of(f"{document.lines[0]}\n{document.between(passage.start, passage.end)}"),
        )
        for document in documents
        for number, passage in enumerate(document.passages, start=1)
    ]
    return Library(documents=tuple(documents), passages=tuple(passages))


class AlmanacEnvironment(CountedTools):
    """One rollout's tools. Every call is counted, also those that were refused."""

    def __init__(
        self,
        question: str,
        library: Library,
        protocol: Protocol,
        *,
        operations: Sequence[Operation] = OPERATIONS,
        limits: Limits = LIMITS,
    ) -> None:
        super().__init__(protocol.interface, operations=operations, limits=limits)
        self.question = question
        self.interface = show_interface(protocol.interface)
        self._library = library
        self._names = protocol.interface
        self._layout = show_layout(protocol.interface)
        self._reads: Counter[str] = Counter()

    @property
    def _handlers(self) -> Mapping[str, Handler]:
        return {"find": self._find, "read": self._read, "compute": self._compute}

    def refusal(self, message: str) -> ToolResult:
        return ToolResult(head=message, ok=False, layout=self._layout)

    def _answer(self, head: str, items: Sequence[ResultItem] = (), **more: Json) -> ToolResult:
        return ToolResult(head=head, items=tuple(items), layout=self._layout, **more)

    def _find(self, arguments: Mapping[str, Json]) -> ToolResult:
        text, top = arguments["text"], arguments.get("top", DEFAULT_RESULTS)
        if not isinstance(text, str) or not words_of(text):
            return self.refusal("The words to look for must be a text with at least one word.")
        if not is_count(top) or top > MOST_RESULTS:
            return self.refusal(f"Results are counted from 1 to {MOST_RESULTS}.")
        match = arguments.get("match", ANY)
        if match not in MATCHES:
            return self.refusal(f"What must match is one of {', '.join(MATCHES)}.")
        found, whole = self._library.find(text)
        hits = found[: min(top, whole) if match == ALL else top]
        items = [
            ResultItem(
                shown=self._hit(hit, place, len(hits), matches=place < whole),
                opens=self._range(hit.document, hit.passage.start),
            )
            for place, hit in enumerate(hits)
        ]
        return self._answer(f"{whole} passages hold every word.", items, coverage=whole)

    def _hit(self, hit: Shelved, place: int, count: int, *, matches: bool) -> Sighting:
        fields = {
            "document": hit.document.id,
            "name": hit.document.name,
            "passage": hit.number,
            "lines": f"{hit.passage.start}-{hit.passage.end}",
            "snippet": hit.snippet,
        }
        shown = show_fields(self._names, fields)
        document = hit.document
        return Sighting(id=document.id, path=document.name, hit=place, hit_of=count, matches=matches, fields=shown)

    def _read(self, arguments: Mapping[str, Json]) -> ToolResult:
        wanted, first = arguments["document"], arguments.get("from", 1)
        found = self._library.document(wanted) if isinstance(wanted, str) else None
        if found is None:
            return self.refusal("There is no such document. Give an id or a name that was found.")
        count = len(found.lines)
        if not is_count(first) or first > count:
            return self.refusal(f"Lines of this document are counted from 1 to {count}.")
        last = arguments.get("to", first + LINES - 1)
        if not is_count(last) or last < first:
            return self.refusal("The last line must be a number, and not before the first.")
        last = min(last, first + LINES - 1, count)
        text = found.between(first, last)
        fields = {"document": found.id, "name": found.name, "lines": f"{first}-{last}", "of": count, "text": text}
        window = self._reads[found.id]
        self._reads[found.id] += 1
        shown = Sighting(
            id=found.id, path=found.name, window=window, text=text, fields=show_fields(self._names, fields)
        )
        more = self._range(found, last + 1) if last < count else None
        return self._answer("", [ResultItem(shown=shown)], reads_on=more)

    def _range(self, document: RenderedDocument, first: int) -> Mapping[str, Json]:
        """The arguments that read as many lines as a call may from a line on."""
        last = min(len(document.lines), first + LINES - 1)
        return show_arguments(self._names, "read", {"document": document.id, "from": first, "to": last})

    def _compute(self, arguments: Mapping[str, Json]) -> ToolResult:
        left, right, kind = arguments["left"], arguments["right"], arguments["kind"]
        if not _is_number(left) or not _is_number(right):
            return self.refusal(f"Numbers must be between {-LARGEST} and {LARGEST}.")
        a, b = Decimal(str(left)), Decimal(str(right))
        if kind == "divide" and not b:
            return self.refusal("Nothing can be divided by 0.")
        results = {"add": lambda: a + b, "subtract": lambda: a - b, "multiply": lambda: a * b, "divide": lambda: a / b}
        if not isinstance(kind, str) or kind not in results:
            return self.refusal(f"It must be one of {', '.join(results)}.")
        return self._answer(written(results[kind]()))


def _is_number(value: Json) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not (isinstance(value, float) and not math.isfinite(value)) and abs(value) <= LARGEST
