"""A whole task as the firewall sees it: everything that an agent's view is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chase.benchmarks.syn_ledger import rendering, scoring
from chase.benchmarks.syn_ledger.contents import Document
from chase.benchmarks.syn_ledger.manifest import Manifest
from chase.benchmarks.syn_ledger.rendering import RenderedFile
from chase.benchmarks.syn_ledger.tools import LIMITS, TOOLS
from chase.core.values import Limits, ToolSpec

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
