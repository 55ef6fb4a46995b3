"""What the firewall examines: parts of fixed documents, alone or with a task, and all that a view is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from chase.benchmarks.corpus.index import words
from chase.benchmarks.corpus.protocol import AnyProtocol
from chase.benchmarks.corpus.texts import Corpus
from chase.benchmarks.naming import Operation
from chase.core.keyed import sorted_by_key
from chase.core.values import Limits

Scorer = Callable[[str, str | None], float]
FIXTURES = 12
"""Documents that are examined, chosen by a hash: the cost does not grow with the corpus."""
FIXTURE_LINES = 240
"""The first lines of each."""
QUERY_WORDS = (6, 12, 24)
"""How many words the fixed searches have: with fewer, unlike passages have equal scores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Excerpt:
    """The first lines of a document."""

    id: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """One unit as it stands. `question` and `answer` are None for the corpus."""

    question: str | None
    answer: str | None
    documents: tuple[Excerpt, ...]
    protocol: AnyProtocol
    """Of the corpus: that of all documents. Of a task: that of the excerpts."""
    queries: tuple[str, ...]
    """The fixed searches."""
    operations: tuple[Operation, ...]
    limits: Limits
    scorer: Scorer


class ExcerptTexts:
    """Excerpts as a library reads them."""

    def __init__(self, documents: Sequence[Excerpt]) -> None:
        self._lines = {document.id: document.lines for document in documents}
        self.line_counts: Mapping[str, int] = {id_: len(lines) for id_, lines in self._lines.items()}

    def lines(self, id_: str, start: int = 1, end: int | None = None) -> tuple[str, ...]:
        return self._lines[id_][start - 1 : end]


def excerpts(corpus: Corpus, base: str) -> tuple[Excerpt, ...]:
    """The fixture documents of a benchmark's corpus, in the order of their ids."""
    chosen = sorted(sorted_by_key(corpus.ids, f"{base}-fixtures")[:FIXTURES])
    return tuple(Excerpt(id=id_, lines=corpus.lines(id_, 1, FIXTURE_LINES)) for id_ in chosen)


def fixed_queries(documents: Sequence[Excerpt]) -> tuple[str, ...]:
    """Searches that find something: the words that most of the documents have, without figures."""
    counts: dict[str, int] = {}
    for document in documents:
        for word in set(words("\n".join(document.lines))):
            if len(word) > 3 and word.isalpha():
                counts[word] = counts.get(word, 0) + 1
    common = sorted(counts, key=lambda word: (-counts[word], word))
    return tuple(dict.fromkeys(" ".join(common[:count]) for count in QUERY_WORDS if common))
