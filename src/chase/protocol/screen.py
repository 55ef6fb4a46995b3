"""The duplicate and inactivity screen, apart from the seven checks: a valid proposal may not be worth a rollout."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeVar

from chase.core.interfaces import FirewallSubject
from chase.protocol.proposal import Proposal

State = TypeVar("State")
Exclusion = Literal["duplicate", "inactive"]


def screen(proposal: Proposal[State], subject: FirewallSubject[State], archived: Collection[str]) -> Exclusion | None:
    """Why a proposal is left out: its canonical form is archived, or no check task looks any different."""
    if proposal.transformation.hash in archived:
        return "duplicate"
    return None if is_active(proposal, subject) else "inactive"


def is_active(proposal: Proposal[State], subject: FirewallSubject[State]) -> bool:
    """Whether the fixed example, or any other check task, is shown differently."""
    for task in subject.check_tasks:
        transformed = proposal.transformation.apply(subject.state(task))
        if subject.present(transformed).view != subject.released(task).view:
            return True
    return False
