"""A corpus, and the libraries that variants make of it."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from pathlib import Path

from chase.benchmarks.corpus.index import PassageIndex, open_index
from chase.benchmarks.corpus.library import Library, Texts, indexed
from chase.benchmarks.corpus.protocol import AnyProtocol, Layout
from chase.benchmarks.corpus.rendering import PLAIN, Rendering
from chase.benchmarks.corpus.texts import Corpus
from chase.core.interfaces import Progress, Transformation
from chase.core.keyed import digest

LIBRARIES_KEPT = 8


class Voice:
    """Passes on what is told of an index that is built. All that a library can reach of whoever opened it."""

    def __init__(self) -> None:
        self.tell: Progress = lambda _: None

    def __call__(self, step: str) -> None:
        self.tell(step)


class Collection:
    """A corpus, shown under any variant. Host-side."""

    def __init__(self, corpus: Corpus, released: AnyProtocol, indexes: Path, rendering: Rendering = PLAIN) -> None:
        """`indexes`: the folder where they are kept."""
        self.corpus = corpus
        self.released = released
        self.rendering = rendering
        self._folder = indexes
        self._voice = Voice()
        self._libraries: OrderedDict[str, tuple[AnyProtocol, Library]] = OrderedDict()

    def under(self, transformation: Transformation[AnyProtocol]) -> tuple[AnyProtocol, Library]:
        """The protocol state and the library of a variant: made once, as it is the same in all tasks."""
        key = transformation.hash
        if key not in self._libraries:
            protocol = transformation.apply(self.released)
            texts = self.rendering.shown(self.corpus, protocol.layout)
            name = self.rendering.name(protocol.layout)
            index = partial(_index, self.corpus, texts, protocol.layout, name, (self._folder, self._voice))
            self._libraries[key] = protocol, Library(texts, protocol, index)
        self._libraries.move_to_end(key)
        if len(self._libraries) > LIBRARIES_KEPT:
            self._libraries.popitem(last=False)
        return self._libraries[key]

    def tell_of_building(self, tell: Progress) -> None:
        self._voice.tell = tell


def _index(corpus: Corpus, texts: Texts, layout: Layout, name: str, built: tuple[Path, Progress]) -> PassageIndex:
    """Built where no variant with the same passages was ever searched."""
    key = index_key(corpus, layout=name, length=layout.passage_lines, shift=layout.passage_shift)
    return open_index(key, lambda: indexed(texts, corpus.ids, layout), *built, total=len(corpus.ids))


def index_key(corpus: Corpus, *, layout: str, length: int, shift: int) -> str:
    """The key of an index: the documents, how their text is laid out, and how it is cut."""
    return digest([corpus.content_hash, layout, length, shift])
