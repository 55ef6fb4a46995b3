"""What OfficeQA lets a harness be, what it suggests for a run, and what a question's text gives to templates."""

from __future__ import annotations

from collections.abc import Mapping

from chase.benchmarks.corpus.schema import MOST_RESULTS, TOOL_GROUPS, operations
from chase.core.values import AnswerForm, Defaults, HarnessBounds, Limits
from chase.harness.folder import render_files
from chase.harness.spec import INITIAL_PROMPT, Harness, Structure, Tools

BASE = "officeqa"

LIMITS = Limits(
    total_calls=16,
    group_calls={"search": 8, "read": 8, "list": 2, "calculate": 4},
    tool_groups=TOOL_GROUPS,
    steps=20,
    context_tokens=131_072,
    wall_seconds=600.0,
)
"""Under canonical names. Ours: the paper does not publish its own."""
OPERATIONS = operations(LIMITS)

ANSWER_FORM = AnswerForm(
    name="short-answer",
    instruction="When you have the answer, reply with the answer alone on one line and call no tool: a number in the "
    "unit that is asked for, numbers in brackets with commas between them, or a few words.",
    repair="Reply with the answer alone, on one line: a number, numbers in brackets, or a few words.",
    pattern=r"\s*\S[^\n]{0,299}\s*",
)
BOUNDS = HarnessBounds(results=MOST_RESULTS, opened=8, reserved_reads=4, templates=4)
INITIAL: Mapping[str, str] = render_files(
    Harness(
        structure=Structure(benchmark=BASE, answer=ANSWER_FORM.name, tools=Tools(opened_files=BOUNDS.opened)),
        prompt=INITIAL_PROMPT,
    )
)
"""`H_0`: the paper's initial harness. No memory; searches match all words of the unmodified query; nothing else."""
DEFAULTS = Defaults(
    rounds=3,
    epsilon="0.05",
    eta="0.075",
    rollouts={"evo": 2, "disc": 2, "conf1": 5, "conf2": 5, "conf3": 5, "cert": 3},
)
"""The paper's. `prov2`, where the data has it, gets three rollouts, too."""
PROV2_ROLLOUTS = 3
