"""The corpus, alone or with a task's question, as the firewall sees it: everything that a view is made from.

Transformations act on the protocol. Lifted to worlds (`Lifted`), they can be compared with transformations that reach
for more, which is how the firewall's own controls show that it would notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from chase.core.interfaces import Operator
from chase.core.values import Json, Limits
from chase.testing.almanac import rendering, scoring
from chase.testing.almanac.contents import Document
from chase.testing.almanac.protocol import Protocol
from chase.testing.almanac.rendering import RenderedDocument
from chase.testing.almanac.schema import LIMITS, OPERATIONS, Operation

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


@dataclass(frozen=True, slots=True)
class Lifted:
    """An operator on the protocol as a change of the world that touches the protocol alone."""

    operator: Operator[Protocol]

    @property
    def name(self) -> str:
        return self.operator.name

    @property
    def version(self) -> int:
        return self.operator.version

    @property
    def arguments(self) -> Mapping[str, Json]:
        return self.operator.arguments

    @property
    def fields(self) -> frozenset[str]:
        return self.operator.fields

    @property
    def seeded(self) -> bool:
        return self.operator.seeded

    def apply(self, state: World, *, seed: int) -> World:
        return replace(state, protocol=self.operator.apply(state.protocol, seed=seed))

    def inverse(self) -> Operator[World] | None:
        inverse = self.operator.inverse()
        return None if inverse is None else Lifted(inverse)
