"""What the firewall examines of OfficeQA: questions over the bulletins of Full."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from chase.benchmarks.corpus.subject import Examination, ScorerFacts
from chase.benchmarks.officeqa import scoring, terms

if TYPE_CHECKING:
    from chase.benchmarks.officeqa.benchmark import OfficeQA


def examination(benchmark: OfficeQA, indexes: Path) -> Examination:
    """`indexes`: the folder where those of the fixed documents are kept."""
    return Examination(
        base=benchmark.base,
        content_hash=benchmark.content_hash,
        collection=benchmark.full,
        check_tasks=[*benchmark.tasks("evo"), *benchmark.tasks("disc")],
        task=benchmark.task,
        operations=terms.OPERATIONS,
        limits=terms.LIMITS,
        scoring=ScorerFacts(scorer=scoring.score, identity=scoring.VERSION, fixtures=scoring.FIXTURES),
        states=_states,
        indexes=indexes,
    )


def _states(text: str, answer: str) -> bool:
    """Whether a text states an answer, as the scorer reads it. One without a figure states no figure."""
    if any(c.isdigit() for c in answer) and not any(c.isdigit() for c in text):
        return False
    return scoring.fuzzy_match(answer, text)
