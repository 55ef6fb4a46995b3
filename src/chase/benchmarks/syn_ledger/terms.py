"""What Syn-Ledger lets a harness be, and what it suggests for a run."""

from __future__ import annotations

from collections.abc import Mapping

from chase.benchmarks.syn_ledger.tools import MOST_RESULTS
from chase.core.values import AnswerForm, Defaults, HarnessBounds, Placeholder, TypicalRollout
from chase.harness.folder import render_files
from chase.harness.spec import INITIAL_PROMPT, Harness, Structure, Tools

BASE = "syn-ledger"

ANSWER_FORM = AnswerForm(
    name="integer",
    instruction="When you have the answer, reply with the integer alone and call no tool.",
    repair="That is not one integer. Reply with the integer alone.",
    pattern=r"\s*[+\-−]?\d[\d,]*\s*",
)
BOUNDS = HarnessBounds(results=MOST_RESULTS, opened=6, reserved_reads=5, templates=4)
PLACEHOLDERS: Mapping[str, Placeholder] = {
    "entity": Placeholder(description="the entity that the question asks about"),
    "period": Placeholder(description="the first period"),
    "periods": Placeholder(description="every period: one query for each", each=True),
    "question": Placeholder(description="the whole question", tells_tasks_apart=False),
}
INITIAL: Mapping[str, str] = render_files(
    Harness(
        structure=Structure(benchmark=BASE, answer=ANSWER_FORM.name, tools=Tools(opened_files=BOUNDS.opened)),
        prompt=INITIAL_PROMPT,
    )
)
"""`H_0`: the paper's initial harness. No memory, no rewriting, no fallback, no reranking."""

DEFAULTS = Defaults(
    rounds=3,
    epsilon="0.05",
    eta="0.05",
    rollouts={"evo": 2, "disc": 2, "conf1": 5, "conf2": 5, "conf3": 5, "cert": 3},
    typical=TypicalRollout(
        source="measured once on 5,184 rollouts of sim:reader; a language model may write longer replies",
        measured=5_184,  # a whole `chase evolve` on syn-ledger@7, seed 1
        requests=8.6,
        input_tokens=4_991,
        cached_tokens=0,
        output_tokens=76,
    ),
)
