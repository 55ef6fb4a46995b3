"""What can be observed of a document, whatever the benchmark: of its path, its places, and the shape of its text."""

from __future__ import annotations

from collections.abc import Sequence

from chase.benchmarks.corpus.observables import digit_sum, listed
from chase.core.observables import ObservableFunction
from chase.core.values import Sighting

ACROSS_WINDOWS = frozenset({"window"})
"""Those that tell windows of one document apart rather than documents."""
CANDIDATES: tuple[ObservableFunction, ...] = (
    *listed(("id-initial", "id-final", "listing-position", "hit-position", "window")),
    *listed(("name-length", "name-initial")),
    ObservableFunction("name-digits", "sum of the digits in the document's path", lambda s: digit_sum(s.path)),
    *listed(("path-depth", "folder-initial", "folder-length", "extension-length")),
    *listed(("passage-number", "passage-start", "text-size", "digit-share", "capital-share", "bar-share")),
    *listed(("year-count", "heading-count", "longest-line", "table-count", "table-rows")),
    *listed(("lines-before-table", "lines-after-table", "window-size", "window-digits", "window-bars")),
    *listed(("title-length", "title-initial", "second-initial", "preamble-lines", "capital-words")),
)
LEAST_SHARE = 0.75
"""Of the tasks looked at: where an observable varies in fewer, it does not apply."""


def applying(tasks: Sequence[Sequence[Sighting]]) -> tuple[ObservableFunction, ...]:
    """The observables that differ between the documents of most tasks. `tasks`: what is sighted in some of them."""
    kept = []
    for observable in CANDIDATES:
        varied = sum(len({observable(shown) for shown in seen}) > 1 for seen in tasks)
        if observable.name in ACROSS_WINDOWS or varied >= LEAST_SHARE * len(tasks):
            kept.append(observable)
    return tuple(kept)
