"""A whole task as the firewall sees it: everything that an agent's view is made from.

Transformations act on manifests. Lifted to worlds (`Lifted`), they can be compared with transformations that reach
for more, which is how the firewall's own controls show that it would notice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from chase.benchmarks.syn_ledger import rendering, scoring
from chase.benchmarks.syn_ledger.contents import Document
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.benchmarks.syn_ledger.rendering import RenderedFile
from chase.benchmarks.syn_ledger.tools import LIMITS, TOOLS
from chase.core.interfaces import Operator
from chase.core.values import Json, Limits, ToolSpec

Scorer = Callable[[int, str | None], float]


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """One task as it stands: question, contents, protocol, tools, budgets and scorer."""

    question: str
    documents: tuple[Document, ...]
    manifest: Manifest
    tools: tuple[ToolSpec, ...] = TOOLS
    limits: Limits = LIMITS
    scorer: Scorer = scoring.score

    def files(self) -> tuple[RenderedFile, ...]:
        """The documents as shown, in the order of the list. Each has the protocol of its own id, or it is an error."""
        if [document.id for document in self.documents] != [protocol.id for protocol in self.manifest]:
            raise ValueError("the manifest is not that of the documents")
        return tuple(
            rendering.render(document, protocol)
            for document, protocol in zip(self.documents, self.manifest, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Lifted:
    """An operator on manifests as a change of the world that touches the manifest alone."""

    operator: Operator[Manifest]

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
        return replace(state, manifest=self.operator.apply(state.manifest, seed=seed))

    def inverse(self) -> Operator[World] | None:
        inverse = self.operator.inverse()
        return None if inverse is None else Lifted(inverse)
