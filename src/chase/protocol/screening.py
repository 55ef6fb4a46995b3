"""The host's screen of a Challenger's drafts: parse, firewall, duplicates, inactivity; then the pre-evaluation ranking.

Nothing here costs a rollout. The ranking is deterministic: it favours a larger observable change on the fixed example,
relevance to more discovery tasks, and more of the suspected mechanisms (the paper's "Challenger Update").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from chase.core.agents import MOST_OPERATORS, Draft
from chase.core.errors import UserError
from chase.core.interfaces import FirewallSubject
from chase.protocol.firewall import FirewallRecord
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal

RANKING = (
    "rank = (how much it changes observables on the fixed example, against the proposal that changes most) + (on how "
    "many discovery tasks anything looks different, against the most) + (for each observable that it names as "
    "suspected and really changes: 1, 1/2, 1/3, … by the observable's place in the order in which all proposals "
    "together name suspects, the first proposal first). Ties keep the order of the proposals. The best-ranked is taken "
    "first, then the best-ranked that changes another set of observables; others only where no such proposal is left."
)
"""The rule below in words, as a Challenger is told it."""
Verdict = Literal["valid", "refused", "invalid", "duplicate", "inactive"]


@dataclass(frozen=True, kw_only=True)
class Screening:
    """A draft with what the host found."""

    draft: Draft
    verdict: Verdict
    reason: str = ""
    """What its author may know: why parsing refused it, or the names of the failed checks."""
    proposal: Proposal[Any] | None = None
    firewall: FirewallRecord | None = None
    touched: Mapping[str, float] = field(default_factory=dict)
    """Observables changed on the fixed example."""
    relevance: int = 0
    """Discovery tasks that look different."""

    @property
    def kind(self) -> frozenset[str]:
        """The set of observables touched: two proposals of one kind say the same."""
        return frozenset(self.touched)

    @property
    def operators(self) -> int:
        return len(self.proposal.transformation.operators) if self.proposal else 0


def exclusion(
    proposal: Proposal[Any], subject: FirewallSubject[Any], archived: Collection[str]
) -> Literal["duplicate", "inactive"] | None:
    """Why a valid proposal is not worth a rollout: its canonical form is archived, or nothing looks any different."""
    if proposal.transformation.hash in archived:
        return "duplicate"
    return None if is_active(proposal, subject) else "inactive"


def is_active(proposal: Proposal[Any], subject: FirewallSubject[Any]) -> bool:
    """Whether what the check tasks share, the fixed example, or any other of them is shown differently."""
    return any(
        subject.present(proposal.transformation.apply(subject.state(unit))).view != subject.released(unit).view
        for unit in (*subject.shared, *subject.check_tasks)
    )


def parse_draft(kit: ProtocolKit, draft: Draft, most_operators: int = MOST_OPERATORS) -> Proposal[Any]:
    """The proposal that a draft describes; a `UserError` where it is none or has too many operators."""
    proposal = kit.parse(draft.form)
    if len(proposal.transformation.operators) > most_operators:
        raise UserError(f"a proposal has at most {most_operators} operator{'s'[: most_operators != 1]} in this run")
    return proposal


def screen_draft(
    kit: ProtocolKit,
    draft: Draft,
    *,
    archived: Collection[str],
    discovery: Sequence[str] = (),
    most_operators: int = MOST_OPERATORS,
) -> Screening:
    """One draft through all screens, the cheap ones first; an invalid one is never also called a duplicate."""
    try:
        proposal = parse_draft(kit, draft, most_operators)
    except UserError as error:
        return Screening(draft=draft, verdict="refused", reason=str(error))
    record = kit.run_checks(proposal)
    if not record.valid:
        failed = ", ".join(record.failed)
        return Screening(draft=draft, verdict="invalid", reason=failed, proposal=proposal, firewall=record)
    if excluded := exclusion(kit.lift(proposal), kit.subject, archived):
        return Screening(draft=draft, verdict=excluded, reason=excluded, proposal=proposal, firewall=record)
    return Screening(
        draft=draft,
        verdict="valid",
        proposal=proposal,
        firewall=record,
        touched=kit.touched(proposal.transformation, kit.example),
        relevance=sum(kit.looks_different(proposal.transformation, task) for task in discovery),
    )


def screen_drafts(
    kit: ProtocolKit,
    drafts: Sequence[Draft],
    *,
    archived: Collection[str],
    discovery: Sequence[str],
    most_operators: int = MOST_OPERATORS,
) -> list[Screening]:
    """All drafts. One that repeats an earlier one of the same round is a duplicate too."""
    found: list[Screening] = []
    seen = set(archived)
    for draft in drafts:
        screened = screen_draft(kit, draft, archived=seen, discovery=discovery, most_operators=most_operators)
        if screened.verdict == "valid" and screened.proposal is not None:
            seen.add(screened.proposal.transformation.hash)
        found.append(screened)
    return found


def shortlist(screened: Sequence[Screening], count: int = 2) -> list[Screening]:
    """At most `count` valid drafts, best first: the best-ranked of each kind; then, where there is room, the others."""
    ranked = rank(screened)
    best: dict[frozenset[str], Screening] = {}
    for found in ranked:
        best.setdefault(found.kind, found)
    firsts = list(best.values())
    return [*firsts, *(s for s in ranked if s is not best[s.kind])][:count]


def rank(screened: Sequence[Screening]) -> list[Screening]:
    """The valid ones, best first. Ties keep the Challenger's order."""
    valid = [s for s in screened if s.verdict == "valid"]
    suspects = list(dict.fromkeys(name for s in screened for name in s.draft.suspected))
    most_change = max((sum(s.touched.values()) for s in valid), default=0.0) or 1.0
    most_relevance = max((s.relevance for s in valid), default=0) or 1

    def score(s: Screening) -> float:
        # A mechanism that the Challenger names first counts most: it orders its suspicions.
        places = sorted(suspects.index(name) for name in set(s.draft.suspected) & s.kind)
        mechanisms = sum(1 / (1 + place) for place in places)
        return sum(s.touched.values()) / most_change + s.relevance / most_relevance + mechanisms

    return sorted(valid, key=score, reverse=True)
