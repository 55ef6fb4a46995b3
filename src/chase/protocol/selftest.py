"""The firewall's self-test: positive controls must pass, and each negative control must be caught by its check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chase.core.controls import Controls, NegativeControl
from chase.core.errors import UserError
from chase.core.interfaces import Benchmark, FirewallSubject, Progress
from chase.core.values import Json
from chase.protocol.firewall import CHECKS, run_checks
from chase.protocol.proposal import Proposal, parse_for
from chase.protocol.screening import is_active
from chase.protocol.transformation import OperatorList


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How one control came out."""

    control: str
    expected: str
    found: str
    passed: bool


def selftest(benchmark: Benchmark[Any], progress: Progress, controls: Controls | None = None) -> list[Outcome]:
    """Every control's outcome (the benchmark's own, unless others are given), and for each check whether some control
    is caught by it alone.
    """
    controls, subject = controls or benchmark.controls(), benchmark.subject
    outcomes = []
    for name, operators in controls.positive.items():
        progress(name)
        outcomes.append(_positive(name, parse_for(benchmark, _form(benchmark, operators)).lifted(subject), subject))
    outcomes += [_refused(name, benchmark, operators) for name, operators in controls.refused.items()]
    caught_alone: set[str] = set()
    for negative in controls.negative:
        progress(negative.name)
        failed = run_checks(_proposal(benchmark, negative), subject).failed
        if failed == (negative.check,):
            caught_alone.add(negative.check)
        passed = failed == (negative.check,) if negative.alone else negative.check in failed
        expected = f"caught by {negative.check}{' alone' if negative.alone else ''}"
        found = ", ".join(failed) or "accepted"
        outcomes.append(Outcome(control=negative.name, expected=expected, found=found, passed=passed))
    for check in CHECKS:
        found = "yes" if check in caught_alone else "no"
        expected = "some control is caught by it alone"
        outcomes.append(Outcome(control=f"check {check}", expected=expected, found=found, passed=check in caught_alone))
    return outcomes


def _form(benchmark: Benchmark[Any], operators: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    return {"benchmark": benchmark.base, "operators": [dict(o) for o in operators], "seed": 7}


def _proposal(benchmark: Benchmark[Any], control: NegativeControl) -> Proposal[Any]:
    """A negative control as a proposal that passed parsing, so that a check has to catch it."""
    transformation: OperatorList[Any] = OperatorList(operators=(control.operator,))
    return Proposal(benchmark=benchmark.base, transformation=transformation, declared=control.declared)


def _positive(name: str, proposal: Proposal[Any], subject: FirewallSubject[Any]) -> Outcome:
    record = run_checks(proposal, subject)
    active = is_active(proposal, subject)
    should_act = bool(proposal.transformation.operators)
    found = ("valid" if record.valid else f"failed {', '.join(record.failed)}") + ("" if active else ", inactive")
    expected = "valid" if should_act else "valid, inactive"
    return Outcome(control=name, expected=expected, found=found, passed=found == expected)


def _refused(name: str, benchmark: Benchmark[Any], operators: Sequence[Mapping[str, Json]]) -> Outcome:
    try:
        parse_for(benchmark, _form(benchmark, operators))
    except UserError:
        return Outcome(control=name, expected="refused in parsing", found="refused in parsing", passed=True)
    return Outcome(control=name, expected="refused in parsing", found="parsed", passed=False)
