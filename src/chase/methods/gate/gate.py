"""The generalization gate as a method uses it: its contract, and all checks on a candidate before it is evaluated."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from chase.core.errors import UserError
from chase.core.gate_facts import GateFacts
from chase.core.keyed import digest
from chase.core.values import Json
from chase.harness.spec import Harness
from chase.methods.gate.changes import CHANGES
from chase.methods.gate.contract import contract_text
from chase.methods.gate.finding import Finding, examine
from chase.methods.gate.known import Known
from chase.methods.gate.leaks import LEAKS
from chase.methods.gate.rules import RULES
from chase.methods.gate.scan import Scan
from chase.methods.selection import AdmissionGate, Submitted

CONTENT = (*LEAKS, *RULES)
MOST_TOLD = 4
"""Problems that a refusal names; the others show when these are mended."""


class GeneralizationGate(AdmissionGate):
    """Fixed before the first round: the same contract and the same checks for every candidate.

    What stands in the initial harness already is nobody's edit, and is not held against a candidate.
    """

    name = "generalization-gate"

    def __init__(self, facts: GateFacts, *, initial: Harness, observed: Collection[str]) -> None:
        """`observed` are the roles whose tasks the Proposer may read."""
        self.contract = contract_text(facts.realisation)
        self._known = Known.of(facts, observed)
        self._initial = initial

    @property
    def record(self) -> dict[str, Json]:
        """What stands in a run's record of it."""
        checks = [check.name for check in CHANGES] + [c.name for c in CONTENT if c.applies(self._known)]
        return {"contract": digest(self.contract), "checks": checks}

    def admit(self, submitted: Submitted) -> None:
        problems = [f"{check.name}: {said}" for check in CHANGES for said in check.find(submitted)]
        problems += [finding.said for finding in self.findings(submitted.harness)]
        problems = list(dict.fromkeys(problems))
        if problems:
            more = len(problems) - MOST_TOLD
            others = [f"({more} more problem{'s' if more > 1 else ''}.)"] if more > 0 else []
            raise UserError(" ".join(["the generalization gate refuses it:", *problems[:MOST_TOLD], *others]))

    def findings(self, harness: Harness) -> list[Finding]:
        """What the content checks find in a harness and not in the initial one."""
        found = examine(Scan(harness), self._known, CONTENT)
        return [finding for finding in found if (finding.check, finding.spot.what) not in self._of_initial]

    @cached_property
    def _of_initial(self) -> frozenset[tuple[str, str]]:
        found = examine(Scan(self._initial), self._known, CONTENT)
        return frozenset((finding.check, finding.spot.what) for finding in found)
