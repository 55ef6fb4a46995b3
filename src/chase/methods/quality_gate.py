"""HarnessEvolve's quality gate: an edit is looked at before it is evaluated, and may go back for revision."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from chase.core.errors import UserError
from chase.core.gate_facts import GateFacts
from chase.harness.spec import Harness
from chase.methods.gate.finding import examine
from chase.methods.gate.known import SPAN, Known
from chase.methods.gate.leaks import TASK_LEAKS
from chase.methods.gate.scan import Scan
from chase.methods.selection import AdmissionGate, Submitted

MOST_ADDED = 3_000
"""Characters that an edit may add to what a model reads and to `control.py`; the paper gives no figure."""
MOST_OVER_INITIAL = 12_000
"""Characters that a harness may have beyond those of `H_0`."""


@dataclass(frozen=True, kw_only=True)
class QualityGate(AdmissionGate):
    """Task leakage and prompt bloat. Harnesses are read as the generalization gate reads them."""

    initial: Harness
    known: Known
    """Of the tasks in the batches, and of nothing else."""
    name = "quality-gate"
    contract = (
        "Before it is evaluated, an edit is scanned. It is sent back where it holds a task's id, a task's answer, "
        f"{SPAN} words in a row of a task's question, or the name of a document that holds an answer; where it adds "
        f"more than {MOST_ADDED} characters to the current harness; or where it has more than {MOST_OVER_INITIAL} "
        "characters beyond the initial one."
    )

    @classmethod
    def of(cls, facts: GateFacts, tasks: Collection[str], initial: Harness) -> QualityGate:
        """`tasks` are those in the batches."""
        trained = tuple(task for task in facts.tasks if task.id in frozenset(tasks))
        known = Known.of(replace(facts, tasks=trained, documents=()), {task.role for task in trained})
        return cls(initial=initial, known=known)

    def admit(self, submitted: Submitted) -> None:
        found = [*self._leaks(submitted.harness), *self._bloat(submitted)]
        if found:
            raise UserError(f"quality gate: {'; '.join(found)}")

    def _leaks(self, harness: Harness) -> Iterator[str]:
        """What a harness holds of tasks and `H_0` does not, each kind once. No leak is quoted."""
        found = {(finding.check, finding.spot.what) for finding in examine(Scan(harness), self.known, TASK_LEAKS)}
        kinds = {check for check, _ in found - self._of_initial}
        yield from (f"it {check.means}" for check in TASK_LEAKS if check.name in kinds)

    @cached_property
    def _of_initial(self) -> frozenset[tuple[str, str]]:
        found = examine(Scan(self.initial), self.known, TASK_LEAKS)
        return frozenset((finding.check, finding.spot.what) for finding in found)

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
