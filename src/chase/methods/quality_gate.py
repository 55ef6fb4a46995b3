"""HarnessEvolve's quality gate: an edit is looked at before it is evaluated, and may go back for revision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chase.core.errors import UserError
from chase.harness.spec import Harness
from chase.methods.selection import Standing, Submitted, Violation
from chase.methods.task_leaks import SPAN, TaskSecrets, leaks

MOST_ADDED = 3_000
"""Characters that an edit may add to what a model reads and to `control.py`; the paper gives no figure."""
MOST_OVER_INITIAL = 12_000
"""Characters that a harness may have beyond those of `H_0`."""


@dataclass(frozen=True, kw_only=True)
class QualityGate:
    """Task leakage and prompt bloat."""

    initial: Harness
    secrets: Sequence[TaskSecrets]
    """Of the tasks in the batches."""
    name = "quality-gate"
    contract = (
        "Before it is evaluated, an edit is scanned. It is sent back where it holds a task's id, a task's answer, "
        f"{SPAN} words in a row of a task's question, or the name of a document that holds an answer; where it adds "
        f"more than {MOST_ADDED} characters to the current harness; or where it has more than {MOST_OVER_INITIAL} "
        "characters beyond the initial one."
    )

    def admit(self, submitted: Submitted) -> None:
        found = [*leaks(submitted.harness, self.initial, self.secrets), *self._bloat(submitted)]
        if found:
            raise UserError(f"quality gate: {'; '.join(found)}")

    def violations(self, standing: Standing) -> tuple[Violation, ...]:
        """Nothing that an evaluation could show."""
        return ()

    def _bloat(self, submitted: Submitted) -> list[str]:
        size = characters(submitted.harness)
        limits = ((submitted.current, MOST_ADDED, "the current harness"), (self.initial, MOST_OVER_INITIAL, "H_0"))
        return [
            f"it has {size - characters(base)} characters more than {what}, and {most} are allowed"
            for base, most, what in limits
            if size - characters(base) > most
        ]


def characters(harness: Harness) -> int:
    """Of everything that a model may read of a harness, and of its code."""
    texts = [harness.prompt, harness.memory, harness.structure.tools.instructions, harness.control_source or ""]
    return sum(map(len, [*texts, *(module.text for module in harness.guidance)]))
