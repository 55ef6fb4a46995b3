"""The firewall's self-test: positive controls must pass, and each negative control must be caught by its check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from chase.core.errors import UserError
from chase.core.interfaces import FirewallSubject
from chase.protocol.firewall import CHECKS, examine
from chase.protocol.proposal import Proposal
from chase.protocol.screen import is_active

State = TypeVar("State")


@dataclass(frozen=True, kw_only=True)
class Negative(Generic[State]):
    """A negative control with the check that must catch it, and whether no other may."""

    name: str
    proposal: Proposal[State]
    check: str
    alone: bool


@dataclass(frozen=True, kw_only=True)
class Controls(Generic[State]):
    """What a benchmark brings to the self-test."""

    positive: Mapping[str, Proposal[State]]
    negative: Sequence[Negative[State]]
    refused: Mapping[str, Callable[[], object]]
    """Proposals that must not pass parsing: calling them must raise a `UserError`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How one control came out."""

    control: str
    expected: str
    found: str
    passed: bool


def selftest(
    subject: FirewallSubject[State], controls: Controls[State], progress: Callable[[str], None]
) -> list[Outcome]:
    """Every control's outcome, and for each check whether some control is caught by it alone."""
    outcomes = [_positive(name, proposal, subject, progress) for name, proposal in controls.positive.items()]
    outcomes += [_refused(name, attempt) for name, attempt in controls.refused.items()]
    caught_alone: set[str] = set()
    for negative in controls.negative:
        progress(negative.name)
        failed = examine(negative.proposal, subject).failed
        if failed == (negative.check,):
            caught_alone.add(negative.check)
        passed = failed == (negative.check,) if negative.alone else negative.check in failed
        expected = f"caught by {negative.check}{' alone' if negative.alone else ''}"
        outcomes.append(
            Outcome(control=negative.name, expected=expected, found=", ".join(failed) or "accepted", passed=passed)
        )
    for check in CHECKS:
        found = "yes" if check in caught_alone else "no"
        expected = "some control is caught by it alone"
        outcomes.append(Outcome(control=f"check {check}", expected=expected, found=found, passed=check in caught_alone))
    return outcomes


def _positive(
    name: str, proposal: Proposal[State], subject: FirewallSubject[State], progress: Callable[[str], None]
) -> Outcome:
    progress(name)
    record = examine(proposal, subject)
    active = is_active(proposal, subject)
    should_act = bool(proposal.transformation.operators)
    found = ("valid" if record.valid else f"failed {', '.join(record.failed)}") + ("" if active else ", inactive")
    expected = "valid" if should_act else "valid, inactive"
    return Outcome(control=name, expected=expected, found=found, passed=found == expected)


def _refused(name: str, attempt: Callable[[], object]) -> Outcome:
    try:
        attempt()
    except UserError:
        return Outcome(control=name, expected="refused in parsing", found="refused in parsing", passed=True)
    return Outcome(control=name, expected="refused in parsing", found="parsed", passed=False)
