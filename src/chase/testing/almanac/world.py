"""The corpus, alone or with a task's question, as the firewall sees it: everything that a view is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chase.benchmarks.naming import Operation
from chase.core.values import Limits
from chase.testing.almanac import rendering, scoring
from chase.testing.almanac.contents import Document
from chase.testing.almanac.protocol import Protocol
from chase.testing.almanac.rendering import RenderedDocument
from chase.testing.almanac.schema import LIMITS, OPERATIONS

Scorer = Callable[[str, str | None], float]


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """One unit as it stands. `question` is None for the corpus."""

    question: str | None
    documents: tuple[Document, ...]
    protocol: Protocol
    operations: tuple[Operation, ...] = OPERATIONS
    limits: Limits = LIMITS
    scorer: Scorer = scoring.score

    def rendered(self) -> tuple[RenderedDocument, ...]:
        """The documents as shown. Each has the protocol of its own id, or it is an error."""
        if [document.id for document in self.documents] != [held.id for held in self.protocol.documents]:
            raise ValueError("the protocol is not that of the documents")
        pairs = zip(self.documents, self.protocol.documents, strict=True)
        return tuple(rendering.render(document, held) for document, held in pairs)
