"""Tool-output fixtures: what a variant's tools answer to fixed calls, brought back from JSON to canonical names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chase.benchmarks.corpus.environment import CorpusEnvironment
from chase.benchmarks.corpus.library import Library, passages_of
from chase.benchmarks.corpus.schema import ANY, MATCHES, MOST_RESULTS, READ_LINES, RESULT_FIELDS, canonical_fields
from chase.benchmarks.corpus.world import World
from chase.benchmarks.naming import show_arguments, show_layout
from chase.core.values import Json


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Fixed calls of a variant's tools, each in an environment of its own, and what its JSON says."""

    state: World
    library: Library

    def _environment(self) -> CorpusEnvironment:
        names, state = self.state.protocol.interface, self.state
        return CorpusEnvironment("", self.library, names, operations=state.operations, limits=state.limits)

    def _call(self, tool: str, arguments: Mapping[str, Json]) -> tuple[list[Mapping[str, Json] | None], str]:
        """The items under canonical names (None where one cannot be brought back), and the text as it was shown."""
        names = self.state.protocol.interface
        text = self._environment().call(names.tool_names[tool], show_arguments(names, tool, arguments)).text
        items = names.manner().items(text, show_layout(names))
        found = [canonical_fields(names, tool, item) for item in items or ()]
        expected = set(RESULT_FIELDS[tool])
        return [None if isinstance(item, str) or item.keys() != expected else item for item in found], text

    def read(self, id_: str) -> tuple[tuple[str, ...] | None, list[str]]:
        """A document's lines, window after window; None where they do not follow each other."""
        lines: list[str] = []
        texts = []
        count = self.library.line_counts[id_]
        while len(lines) < count:
            items, text = self._call("read", {"document": id_, "start": len(lines) + 1})
            texts.append(text)
            item = items[0] if items else None
            last = self.library.window(id_, len(lines) + 1, min(count, len(lines) + READ_LINES)).last
            if item is None or (item["document"], item["lines"]) != (id_, f"{len(lines) + 1}-{last}"):
                return None, texts
            window = item["text"].split("\n")
            if len(lines) + len(window) != last:
                return None, texts
            lines += window
        return tuple(lines), texts

    def search(self, query: str) -> Iterator[tuple[str, str]]:
        """Of a search for all words and for any: what is wrong with its results, and its text."""
        for match in MATCHES:
            items, text = self._call("search", {"query": query, "match": match, "limit": MOST_RESULTS})
            hits, _ = self.library.search(query, match=match, limit=MOST_RESULTS)
            whole = len(items) == len(hits) and all(item is not None and self._is_passage(item) for item in items)
            found = whole and (match != ANY or bool(items))
            yield "" if found else f"{match}: its results are no passages of the documents", text

    def _is_passage(self, item: Mapping[str, Json]) -> bool:
        """Whether a result is the passage that it says it is."""
        layout, id_ = self.state.protocol.layout, item["document"]
        if id_ not in self.library.names or item["name"] != self.library.names[id_]:
            return False
        passages = passages_of(self.library.line_counts[id_], layout)
        passage = passages[item["passage"] - 1]
        same_lines = item["lines"] == f"{passage.start}-{passage.end}"
        return same_lines and bool(item["text"] == self.library.window(id_, passage.start, passage.end).text)

    def listing(self) -> tuple[Json, str]:
        items, text = self._call("list_documents", {})
        return sorted(item["document"] for item in items if item is not None), text
