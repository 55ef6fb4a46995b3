"""What a benchmark of documents lets a harness be, and what it suggests for a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chase.benchmarks.corpus.schema import MOST_RESULTS
from chase.benchmarks.corpus.slots import PLACEHOLDERS, slots
from chase.benchmarks.documents.description import Answer, Budgets, Run
from chase.core.values import AnswerForm, Defaults, HarnessBounds, Placeholder
from chase.harness.folder import render_files
from chase.harness.spec import INITIAL_PROMPT, Harness, Structure, Tools

BASE = "documents"
_PAPER = {"evo": 2, "disc": 2, "conf1": 5, "conf2": 5, "conf3": 5, "cert": 3}
FILLED = 4
"""A placeholder is offered where at least one question in so many fills it."""


def answer_form(answer: Answer) -> AnswerForm:
    return AnswerForm(
        name="one-line",
        instruction=answer.instruction,
        repair="Reply with the answer alone, on one line.",
        pattern=rf"\s*\S[^\n]{{0,{answer.longest - 1}}}\s*",
    )


def bounds(budgets: Budgets) -> HarnessBounds:
    opened = min(8, budgets.read)
    return HarnessBounds(results=MOST_RESULTS, opened=opened, reserved_reads=min(4, opened), templates=4)


def initial(form: AnswerForm, bounded: HarnessBounds) -> Mapping[str, str]:
    """`H_0`: the paper's initial harness. No memory; searches match all words of the unmodified query; nothing else."""
    structure = Structure(benchmark=BASE, answer=form.name, tools=Tools(opened_files=bounded.opened))
    return render_files(Harness(structure=structure, prompt=INITIAL_PROMPT))


def placeholders(questions: Sequence[str]) -> Mapping[str, Placeholder]:
    """Those that enough of the questions fill."""
    filled = [name for question in questions for name, values in slots(question).items() if values]
    return {name: held for name, held in PLACEHOLDERS.items() if filled.count(name) * FILLED >= len(questions)}


def defaults(run: Run) -> Defaults:
    rollouts = _PAPER if run.rollouts is None else dict.fromkeys(_PAPER, run.rollouts)
    return Defaults(rounds=run.rounds, epsilon=str(run.epsilon), eta=str(run.eta), rollouts=rollouts)
