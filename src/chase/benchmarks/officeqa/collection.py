"""A release's documents, and the libraries that variants make of them."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from pathlib import Path

from chase.benchmarks.officeqa.corpus import Corpus
from chase.benchmarks.officeqa.index import PassageIndex, open_index
from chase.benchmarks.officeqa.library import Library, indexed, layout_name
from chase.benchmarks.officeqa.prepare import index_key
from chase.benchmarks.officeqa.protocol import LayoutProtocol, Protocol, released_protocol
from chase.core.interfaces import Progress, Transformation

LIBRARIES_KEPT = 8


class Voice:
    """Passes on what is told of an index that is built. All that a library can reach of whoever opened it."""

    def __init__(self) -> None:
        self.tell: Progress = lambda _: None

    def __call__(self, step: str) -> None:
        self.tell(step)


class Collection:
    """The corpus of a release, shown under any variant. Host-side."""

    def __init__(self, corpus: Corpus, indexes: Path) -> None:
        """`indexes`: the folder where they are kept."""
        self.corpus = corpus
        self.released: Protocol = released_protocol(corpus.names)
        self._folder = indexes
        self._voice = Voice()
        self._libraries: OrderedDict[str, tuple[Protocol, Library]] = OrderedDict()

    def under(self, transformation: Transformation[Protocol]) -> tuple[Protocol, Library]:
        """The protocol state and the library of a variant: made once, as it is the same in all tasks."""
        key = transformation.hash
        if key not in self._libraries:
            protocol = transformation.apply(self.released)
            index = partial(_index, self.corpus, protocol.layout, self._folder, self._voice)
            self._libraries[key] = protocol, Library(self.corpus, protocol, index)
        self._libraries.move_to_end(key)
        if len(self._libraries) > LIBRARIES_KEPT:
            self._libraries.popitem(last=False)
        return self._libraries[key]

    def tell_of_building(self, tell: Progress) -> None:
        self._voice.tell = tell


def _index(corpus: Corpus, layout: LayoutProtocol, folder: Path, tell: Progress) -> PassageIndex:
    """Built where no variant with the same passages was ever searched."""
    key = index_key(corpus, layout=layout_name(layout), length=layout.passage_lines, shift=layout.passage_shift)
    return open_index(key, lambda: indexed(corpus, corpus.ids, layout), folder, tell, total=len(corpus.ids))
