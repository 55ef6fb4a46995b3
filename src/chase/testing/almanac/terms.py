"""What Almanac lets a harness be, and what it suggests for a run."""

from __future__ import annotations

from collections.abc import Mapping

from chase.core.values import AnswerForm, Defaults, HarnessBounds, Placeholder
from chase.harness.folder import render_files
from chase.harness.spec import Control, Harness, Structure
from chase.testing.almanac.generator import ROLES
from chase.testing.almanac.schema import MOST_RESULTS

BASE = "almanac"

ANSWER_FORM = AnswerForm(
    name="name-or-number",
    instruction="Reply with the answer alone and call no tool: a number in the unit that is asked for, a name, or "
    "names with semicolons between them.",
    repair="Reply with a number, a name, or names with semicolons between them, and nothing else.",
    pattern=r"\s*(?:[+\-−]?\d[\d,]*(?:\.\d+)?|[A-Z][a-z]+(?: [A-Z][a-z]+)*(?:; ?[A-Z][a-z]+(?: [A-Z][a-z]+)*)*)\s*",
)
BOUNDS = HarnessBounds(results=MOST_RESULTS, opened=4, reserved_reads=3, templates=3)
PLACEHOLDERS: Mapping[str, Placeholder] = {
    "place": Placeholder(description="the place that the question asks about"),
    "year": Placeholder(description="the first year"),
    "years": Placeholder(description="every year: one query for each", each=True),
    "question": Placeholder(description="the whole question", tells_tasks_apart=False),
}
INITIAL: Mapping[str, str] = render_files(
    Harness(
        structure=Structure(benchmark=BASE, answer=ANSWER_FORM.name, control=Control(repairs=1)),
        prompt="You work in an archive of reports. Find what is asked for, and answer.",
        memory="Reports were printed in two versions.",
    )
)
"""`H_0`: another prompt than Syn-Ledger's, with memory and a repair."""
DEFAULTS = Defaults(rounds=2, epsilon="0.05", eta="0.05", rollouts=dict.fromkeys(ROLES, 1))
