"""The agent's interface to the documents: the tools of a corpus, and the worked examples as a variant orders them."""

from __future__ import annotations

from collections.abc import Sequence

from chase.benchmarks.corpus.environment import CorpusEnvironment
from chase.benchmarks.corpus.library import Library
from chase.benchmarks.corpus.protocol import InterfaceProtocol
from chase.benchmarks.naming import Operation
from chase.core.values import Limits


class DocumentsEnvironment(CorpusEnvironment):
    """One rollout's tools and examples."""

    def __init__(
        self,
        question: str,
        library: Library,
        interface: InterfaceProtocol,
        *,
        operations: Sequence[Operation],
        limits: Limits,
        examples: str = "",
    ) -> None:
        super().__init__(question, library, interface, operations=operations, limits=limits)
        self.examples = examples
