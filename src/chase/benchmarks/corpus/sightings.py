"""What can be shown of the documents of a large corpus for one question."""

from __future__ import annotations

from dataclasses import replace

from chase.benchmarks.corpus.collection import Collection
from chase.benchmarks.corpus.environment import CorpusEnvironment
from chase.benchmarks.corpus.index import Hit
from chase.benchmarks.corpus.library import Library
from chase.benchmarks.corpus.protocol import AnyProtocol
from chase.benchmarks.corpus.schema import READ_LINES
from chase.core.interfaces import Transformation
from chase.core.markdown_tables import cells, is_row
from chase.core.values import Sighting
from chase.protocol.transformation import OperatorList

SIGHTED = 20
"""Documents of a broad search that are looked at for a task."""
BROAD = 100
"""Passages of a broad search."""


def sighted(
    collection: Collection, environment: CorpusEnvironment, transformation: Transformation[AnyProtocol]
) -> list[Sighting]:
    """The documents that a search for any word of the question shows first as released, as a variant shows them: with
    the best passage of each, the place in the listing, and the first lines. `environment` is the variant's.

    A variant is not searched for this, since that may take an index of its own: where documents are cut otherwise,
    shown is the passage that now holds the middle of the one that was found.
    """
    _, released = collection.under(OperatorList())
    _, library = collection.under(transformation)
    found = library.ordered(_best_passages(released, environment.question))
    return [
        replace(
            environment.show_hit(library.moved(hit), place, len(found)),
            listing=library.places[hit.document],
            listing_of=len(library.listed),
            window=0,
            text=library.window(hit.document, 1, READ_LINES).text,
        )
        for place, hit in enumerate(found)
    ]


def _best_passages(library: Library, question: str) -> list[Hit]:
    """The best passages of the first documents in a search for any word of the question."""
    hits, _ = library.search(question, match="any", limit=BROAD)
    best: dict[str, Hit] = {}
    for hit in hits:
        best.setdefault(hit.document, hit)
    return list(best.values())[:SIGHTED]


def pieces_of(shown: Sighting) -> list[str]:
    """The lines of what was shown that say something, rows of tables by their cells."""
    lines = (shown.text or "").split("\n")
    return [" | ".join(cells(line)) if is_row(line) else line.strip() for line in lines if line.strip()]
