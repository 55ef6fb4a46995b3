"""The protocol state of a benchmark of documents: that of a corpus, with folders, serialization and feedback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from chase.benchmarks.corpus.protocol import (
    RELEASED_NAMES,
    AnyProtocol,
    CorpusProtocol,
    DocumentProtocol,
    InterfaceProtocol,
    Layout,
    ResultOrder,
    listing_places,
)
from chase.benchmarks.corpus.serialization import Feedback, Manner, Serialization


@dataclass(frozen=True, kw_only=True, slots=True)
class PlacedDocument(DocumentProtocol):
    """What one document is called, in which folder it lies and where it is listed."""

    folder: str = ""
    """Without a slash at its end; empty: in none."""

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}" if self.folder else self.name


_AS_WRITTEN = ResultOrder()


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentsInterface(InterfaceProtocol):
    """What the tools look like, how results and messages are written, and the order of demonstrations."""

    serialization: Serialization = "json"
    feedback: Feedback = "plain"
    demonstration_order: ResultOrder = _AS_WRITTEN

    def manner(self) -> Manner:
        return Manner(serialization=self.serialization, feedback=self.feedback)


RELEASED_INTERFACE = DocumentsInterface(**RELEASED_NAMES)  # type: ignore[arg-type]
PROTOCOL_FIELDS = frozenset(
    {"name", "order", "folder", *Layout.__dataclass_fields__, *DocumentsInterface.__dataclass_fields__}
)


def released_protocol(paths: Mapping[str, str], passage_lines: int) -> AnyProtocol:
    """The released state: documents under their paths, listed by them. `paths`: by id."""
    places = listing_places(paths)
    documents = (_placed(id_, PurePosixPath(path), places[id_]) for id_, path in sorted(paths.items()))
    layout = Layout(passage_lines=passage_lines)
    return CorpusProtocol(documents=tuple(documents), layout=layout, interface=RELEASED_INTERFACE)


def _placed(id_: str, path: PurePosixPath, order: int) -> PlacedDocument:
    folder = "" if str(path.parent) == "." else str(path.parent)
    return PlacedDocument(id=id_, name=path.name, folder=folder, order=order)
