"""Confirmation of a frozen transformation: what it costs, and what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.cli.narration import lines
from chase.core.events import Confirmed
from chase.protocol.firewall import FirewallRecord
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal
from tests.methods.replay import replay


class FailsOnFreshTasks(ProtocolKit):
    """What holds on the check set does not hold on the confirmation tasks."""

    def run_checks(self, proposal: Proposal[Any], tasks: Sequence[str] | None = None) -> FirewallRecord:
        record = super().run_checks(proposal, tasks)
        first, *others = record.verdicts
        return record if tasks is None else replace(record, verdicts=(replace(first, passed=False), *others))


async def test_no_rollout_is_spent_on_a_transformation_that_is_invalid_on_the_confirmation_tasks(
    ledger: SynLedger,
) -> None:
    made = replay(FailsOnFreshTasks(ledger), ledger, rounds=1)
    evolved = await made.evolve()
    assert {role for role, *_ in made.arena.asked} == {"evo", "disc"}
    found = evolved.rounds[0]["confirmation"]
    assert (found["destruction"], found["valid"], found["confirmed"]) == (None, False, False)
    assert found["failed"] == ["task-and-answer"]
    assert evolved.archive.entries == ()
    [event] = [event for event in made.told if isinstance(event, Confirmed)]
    assert list(lines(event)) == ["  on conf1: not measured and not confirmed, failed checks: task-and-answer"]
