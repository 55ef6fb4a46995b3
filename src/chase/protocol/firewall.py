"""The validity firewall: seven executable checks, all of which a transformation must pass. It cannot be switched off.

Generic over what a benchmark supplies (`FirewallSubject`). Each check is a named function that returns what is wrong
with one task, or None; it stops at the first failing task. The Challenger's claims are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from chase.core.interfaces import FirewallSubject
from chase.core.values import Json, Presentation
from chase.protocol.proposal import Proposal

State = TypeVar("State")


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """One check's Boolean with its evidence, which stays on the host."""

    check: str
    passed: bool
    evidence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class FirewallRecord:
    """What the firewall found: valid if and only if every check passed."""

    verdicts: tuple[Verdict, ...]
    tasks: int

    @property
    def valid(self) -> bool:
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the failed checks: all that a rejected proposal's author learns."""
        return tuple(verdict.check for verdict in self.verdicts if not verdict.passed)


@dataclass(frozen=True, kw_only=True)
class UnitComparison(Generic[State]):
    """One unit before and after, worked out as the checks ask for it: what breaks, breaks in a check."""

    subject: FirewallSubject[State]
    proposal: Proposal[State]
    unit: str
    """A task, or what tasks share."""
    other: str
    """The unit whose question and contents are put in for the check of task independence."""

    @cached_property
    def state(self) -> State:
        return self.subject.state(self.unit)

    @cached_property
    def transformed(self) -> State:
        return self.proposal.transformation.apply(self.state)

    @cached_property
    def before(self) -> Presentation:
        return self.subject.released(self.unit)

    @cached_property
    def after(self) -> Presentation:
        return self.subject.present(self.transformed)


def task_and_answer(e: UnitComparison[Any]) -> str | None:
    """The question, requested target and ground-truth answer are unchanged, and the answer is not shown."""
    truth = e.subject.answer(e.unit)
    if e.after.question != e.before.question:
        return "the question changed"
    if e.after.answer != truth:
        return f"the answer recomputed from the view is {e.after.answer}"
    if e.subject.newly_shown(e.unit, e.before, e.after):
        return "the view newly shows an answer"
    return None


def available_information(e: UnitComparison[Any]) -> str | None:
    """Membership and contents of the documents are the same."""
    if e.after.contents.keys() != e.before.contents.keys():
        return f"documents changed: {sorted(e.after.contents.keys() ^ e.before.contents.keys())}"
    changed = [document for document, held in e.before.contents.items() if e.after.contents[document] != held]
    return f"contents changed in {changed}" if changed else None


def access_and_resources(e: UnitComparison[Any]) -> str | None:
    """The same documents and tool operations are accessible within the same limits, whatever the tools are called."""
    return _difference(e.before.access, e.after.access)


def scoring(e: UnitComparison[Any]) -> str | None:
    """The scorer and its verdicts on fixed outputs are the same."""
    return _difference(e.before.scoring, e.after.scoring)


def declared_changes(e: UnitComparison[Any]) -> str | None:
    """Only protocol fields that the proposal declares are modified."""
    modified = {
        field
        for document, fields in e.before.protocol.items()
        for field, value in fields.items()
        if e.after.protocol.get(document, {}).get(field) != value
    }
    undeclared = sorted(modified - e.proposal.declared)
    return f"undeclared fields changed: {undeclared}" if undeclared else None


def task_independence(e: UnitComparison[Any]) -> str | None:
    """With another task's question, answer, labels, record values and ids the protocol changes in the same way."""
    exchanged = e.subject.exchanged(e.unit, e.other)
    theirs = _changes(e.subject, exchanged, e.proposal.transformation.apply(exchanged))
    same = theirs == _changes(e.subject, e.state, e.transformed)
    return None if same else f"the change depends on what the task is about (exchanged with {e.other})"


def replay_and_inversion(e: UnitComparison[Any]) -> str | None:
    """A second run gives the same bytes, the records are recovered, and a stated inverse restores the state."""
    transformation = e.proposal.transformation
    again = e.subject.present(transformation.apply(e.subject.state(e.unit)))
    if again != e.after:
        return "a replay shows something else"
    if _pieces(again) != _pieces(e.before):
        return "the contents are not recovered"
    inverse = transformation.inverse()
    if inverse is not None:
        back = e.subject.present(inverse.apply(e.transformed))
        if (back.view, back.protocol) != (e.before.view, e.before.protocol):
            return "the inverse does not restore the original"
    return None


def _changes(subject: FirewallSubject[State], before: State, after: State) -> list[str]:
    """What becomes of each document's protocol, whatever the document's id."""
    now = subject.protocol(after)
    return sorted(str((fields, now.get(document))) for document, fields in subject.protocol(before).items())


def _pieces(presented: Presentation) -> list[str]:
    """All pieces of content, whichever document holds them: where they are is for `available_information`."""
    return sorted(str(piece) for held in presented.contents.values() for piece in held or ["unreadable"])


def _difference(before: Json, after: Json) -> str | None:
    if before == after:
        return None
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = sorted(k for k in before.keys() | after.keys() if before.get(k) != after.get(k))
        return f"changed: {', '.join(keys)}"
    return "changed"


CHECKS: Mapping[str, Callable[[UnitComparison[Any]], str | None]] = {
    "task-and-answer": task_and_answer,
    "available-information": available_information,
    "access-and-resources": access_and_resources,
    "scoring": scoring,
    "declared-changes": declared_changes,
    "task-independence": task_independence,
    "replay-and-inversion": replay_and_inversion,
}
"""In the order of the paper's table."""


def run_checks(
    proposal: Proposal[State], subject: FirewallSubject[State], tasks: Sequence[str] | None = None
) -> FirewallRecord:
    """Run the seven checks over the validity-check set, or over given tasks (confirmation's, before it starts).

    What tasks share belongs to the check set: it is examined with it, once.
    """
    checked = list(tasks if tasks is not None else subject.check_tasks)
    units = [(task, checked[place - 1]) for place, task in enumerate(checked)]
    if tasks is None:
        units = [*((unit, unit) for unit in subject.shared), *units]
    wrong: dict[str, str] = {}
    for unit, other in units:
        examined = UnitComparison(proposal=proposal, subject=subject, unit=unit, other=other)
        for name, check in CHECKS.items():
            if name not in wrong and (problem := _safely(check, examined)) is not None:
                wrong[name] = f"{unit}: {problem}"
        if len(wrong) == len(CHECKS):
            break
    return FirewallRecord(
        verdicts=tuple(
            Verdict(check=name, passed=name not in wrong, evidence=wrong.get(name, f"held on {len(checked)} tasks"))
            for name in CHECKS
        ),
        tasks=len(checked),
    )


def _safely(check: Callable[[UnitComparison[Any]], str | None], examined: UnitComparison[Any]) -> str | None:
    """A check that cannot be carried out has failed: an operator that breaks on this task, say."""
    try:
        return check(examined)
    except Exception as error:
        return f"could not be checked: {type(error).__name__}"
