"""What the firewall examines of a benchmark of documents: in addition the messages and the worked examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chase.benchmarks.corpus.index import words
from chase.benchmarks.corpus.protocol import InterfaceProtocol
from chase.benchmarks.corpus.subject import CorpusSubject, Examination, ScorerFacts
from chase.benchmarks.corpus.world import World
from chase.benchmarks.documents.demonstrations import in_order, shown_examples
from chase.benchmarks.documents.description import Demonstration
from chase.core.keyed import digest
from chase.core.values import Json, Presentation

if TYPE_CHECKING:
    from chase.benchmarks.documents.benchmark import Documents

OUTPUTS = (None, "1", "0", "yes", " ")
"""Predictions that a scorer's verdicts are compared on; None stands for the answer itself."""
UNASKED = (" ",)
"""Those that a judge is not asked about."""


def examination(benchmark: Documents, indexes: Path) -> Examination:
    """`indexes`: the folder where those of the fixed documents are kept."""
    tasks = [*benchmark.tasks("evo"), *benchmark.tasks("disc")]
    answers = sorted(benchmark.task(task).answer for task in tasks)[:4]
    scorer = benchmark.scorer
    # A judge is not asked here: its identity, which is compared too, says all that decides its verdicts.
    fixed = OUTPUTS if scorer.prompt is None else UNASKED
    fixtures = [(answer, output or answer, 0.0) for answer in answers for output in fixed]
    return Examination(
        base=benchmark.base,
        content_hash=benchmark.content_hash,
        collection=benchmark.collection,
        check_tasks=tasks,
        task=benchmark.task,
        operations=benchmark.operations,
        limits=benchmark.limits,
        scoring=ScorerFacts(scorer=scorer.score, identity=scorer.identity, fixtures=fixtures),
        states=states,
        indexes=indexes,
    )


def states(text: str, answer: str) -> bool:
    """Whether a text holds an answer's words in a row."""
    wanted, said = words(answer), words(text)
    return bool(wanted) and any(said[i : i + len(wanted)] == wanted for i in range(len(said) - len(wanted) + 1))


class DocumentsSubject(CorpusSubject):
    """A corpus's subject, which also looks at what messages say and at the worked examples."""

    def __init__(self, examined: Examination, demonstrations: Sequence[Demonstration]) -> None:
        super().__init__(examined)
        self._demonstrations = demonstrations

    def present(self, state: World) -> Presentation:
        shown = super().present(state)
        interface: Any = state.protocol.interface
        ordered = in_order(self._demonstrations, interface.demonstration_order)
        examples = sorted([example.question, example.answer] for example in ordered)
        messages = [interface.manner().say(text, ok=ok) for text, ok in _MESSAGES]
        return replace(
            shown,
            access={**shown.access, "messages": _said(interface), "examples": examples},
            view=digest([shown.view, messages, shown_examples(ordered), interface.serialization]),
        )


_MESSAGES = (("3 passages hold every word.", True), ("There is no such document.", False))


def _said(interface: InterfaceProtocol) -> Json:
    """The fixed messages, there and back again."""
    manner = interface.manner()
    return [manner.said(manner.say(text, ok=ok), ok=ok) for text, ok in _MESSAGES]
