"""Confirmation of a frozen transformation: what it costs, and what it takes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from chase.benchmarks.officeqa.benchmark import OfficeQA
from chase.core.errors import UserError
from chase.core.events import ConfirmationPlanned, ConfirmationSkipped, Confirmed, PlacebosTested
from chase.protocol.firewall import FirewallRecord
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal
from chase.runs.narration import lines
from tests.methods.replay import CONFIRMATION, DISCOVERY, replay


class FailsOnFreshTasks(ProtocolKit):
    """What holds on the check set does not hold on the confirmation tasks."""

    def run_checks(self, proposal: Proposal[Any], tasks: Sequence[str] | None = None) -> FirewallRecord:
        record = super().run_checks(proposal, tasks)
        first, *others = record.verdicts
        return record if tasks is None else replace(record, verdicts=(replace(first, passed=False), *others))


async def test_no_rollout_is_spent_on_a_transformation_that_is_invalid_on_the_confirmation_tasks(
    officeqa_kit: ProtocolKit,
) -> None:
    made = replay(FailsOnFreshTasks(officeqa_kit.benchmark), rounds=1)
    evolved = await made.evolve()
    assert {role for role, *_ in made.arena.asked} == {"evo", "disc"}
    found = evolved.rounds[0]["confirmation"]
    assert (found["destruction"], found["valid"], found["confirmed"]) == (None, False, False)
    assert found["failed"] == ["task-and-answer"]
    assert evolved.archive.entries == ()
    [event] = [event for event in made.told if isinstance(event, Confirmed)]
    assert list(lines(event)) == ["  on conf1: not measured and not confirmed, failed checks: task-and-answer"]


# Calibrated: all tasks of a replay are alike, so on eight of them a gain destruction has p = 1/256.


def on_conf(made: Any) -> list[int | None]:
    return [count for role, count in made.arena.counts if role.startswith("conf")]


async def test_a_calibrated_confirmation_ends_as_soon_as_it_is_sure(officeqa_kit: ProtocolKit) -> None:
    made = replay(officeqa_kit, size=8, rounds=1, rule="calibrated")
    evolved = await made.evolve()
    found = evolved.rounds[0]["confirmation"]
    assert on_conf(made) == [2]  # of five rollouts
    assert (found["confirmed"], found["by_noise"], found["test"]["alpha"]) == (True, 0.05, 0.05)
    [look] = found["test"]["looks"]
    assert (look["rollouts"], look["p"], look["step"]) == (2, 1 / 256, "reject")
    assert [entry.name for entry in evolved.archive.entries] == ["b1"]
    [event] = [event for event in made.told if isinstance(event, Confirmed)]
    assert next(iter(lines(event))) == "  on conf1: gain destruction +14.0 ± 0.0 after 2 of 5 rollouts: confirmed"


async def test_a_first_look_may_not_spend_all_of_the_error(officeqa_kit: ProtocolKit) -> None:
    """On six tasks p = 1/64: below 0.05 / 3 = 1/60, but above two and four fifths of it."""
    made = replay(officeqa_kit, size=6, rule="calibrated")
    found = (await made.evolve()).rounds[0]["confirmation"]
    assert on_conf(made)[:3] == [2, 4, 5]
    assert [look["step"] for look in found["test"]["looks"]] == ["go on", "go on", "reject"]
    assert found["confirmed"]


async def test_the_papers_rule_takes_all_rollouts_and_has_no_test(officeqa_kit: ProtocolKit) -> None:
    made = replay(officeqa_kit, size=8, rounds=1)
    found = (await made.evolve()).rounds[0]["confirmation"]
    assert on_conf(made) == [None]
    assert found.keys() == {"role", "destruction", "eta", "by_noise", "valid", "failed", "confirmed"}
    assert not [event for event in made.told if isinstance(event, ConfirmationPlanned)]


@pytest.mark.parametrize(
    ("delta", "size", "asked", "step"),
    [
        (Fraction(0), 8, [2], "futile"),
        (Fraction(14, 100), 3, [2, 4, 5], "accept"),
        (Fraction(1, 100), 8, [2], "reject"),
    ],
)
async def test_it_is_not_confirmed_without_a_test_that_rejects_and_a_destruction_of_eta(
    officeqa_kit: ProtocolKit, delta: Fraction, size: int, asked: list[int], step: str
) -> None:
    confirmation = {**CONFIRMATION, ("conf1", "r1-integrated"): delta}
    made = replay(officeqa_kit, size=size, rounds=1, confirmation=confirmation, rule="calibrated")
    evolved = await made.evolve()
    assert on_conf(made) == asked
    assert evolved.rounds[0]["confirmation"]["test"]["looks"][-1]["step"] == step
    assert not evolved.rounds[0]["confirmation"]["confirmed"]
    assert evolved.archive.entries == ()


async def test_what_destroys_nothing_on_disc_is_not_put_to_a_calibrated_test(officeqa_kit: ProtocolKit) -> None:
    nothing = {
        **DISCOVERY,
        ("r1-integrated", "wrap-text"): Fraction(0),
        ("r1-integrated", "shift-passages"): Fraction(-1, 98),
    }
    made = replay(officeqa_kit, size=8, rounds=1, discovery=nothing, rule="calibrated")
    record = (await made.evolve()).rounds[0]
    assert record["unconfirmed"] == "its gain destruction on disc is not above 0"
    assert "confirmation" not in record
    assert on_conf(made) == []
    assert [event.round for event in made.told if isinstance(event, ConfirmationSkipped)] == [1]
    assert "confirmation" in (await replay(officeqa_kit, size=8, rounds=1, discovery=nothing).evolve()).rounds[0]


async def test_the_error_is_shared_by_the_rounds_and_what_one_leaves_the_next_has(officeqa_kit: ProtocolKit) -> None:
    """Round 2 of the replay has nothing to challenge."""
    made = replay(officeqa_kit, size=8, rule="calibrated")
    records = (await made.evolve()).rounds
    assert "confirmation" not in records[1]
    alphas = [records[t]["confirmation"]["test"]["alpha"] for t in (0, 2)]
    assert alphas == pytest.approx([0.05 / 3, 0.05 - 0.05 / 3])


async def test_its_power_is_told_first_and_warned_of(officeqa_kit: ProtocolKit) -> None:
    made = replay(officeqa_kit, rounds=1, rule="calibrated")
    evolved = await made.evolve()
    [planned] = [event for event in made.told if isinstance(event, ConfirmationPlanned)]
    assert made.told[0] is planned
    assert (planned.effect, planned.tasks, planned.rollouts, planned.alpha) == (0.15, 4, 5, 0.05)
    assert planned.power == 0.0  # four tasks: no choice of signs is rarer than 1/16
    assert planned.tasks_needed == 43
    said = list(lines(planned))
    assert "a gain destruction of 15 points is confirmed 0 % of the time; 80 % takes 43 tasks" in said[0]
    assert (planned.mean_power, planned.mean_tasks_needed) == (0.0, 95)
    assert "above 0 is shown 0 % of the time; 80 % takes 95 tasks" in said[0]
    assert "warning: that is less than every second time" in said[1]
    assert "43 tasks would find it 80 % of the time" in evolved.warnings[-1]
    assert "the paper's rule is recommended" in evolved.warnings[-1]


async def test_a_mean_above_zero_is_said_only_where_its_bound_is(officeqa_kit: ProtocolKit) -> None:
    """Eight tasks that all lose 14 points are rejected by their signs; Gaffke's bound goes 0.6 of the way from −2."""
    made = replay(officeqa_kit, size=8, rounds=1, rule="calibrated")
    test = (await made.evolve()).rounds[0]["confirmation"]["test"]
    assert test["mean_low"] == pytest.approx(0.14 - 2.14 * (1 - (0.05 / 3) ** (1 / 8)), abs=0.005)
    assert test["mean_power"] == 0.0
    [event] = [event for event in made.told if isinstance(event, Confirmed)]
    assert "the mean over tasks is not shown to be above 0 (at least -72.1)" in list(lines(event))[2]


class Clustered(OfficeQA):
    """Eight tasks of two sources."""

    def clusters(self) -> dict[str, str]:
        return {f"conf1-{place}": str(place % 2) for place in range(1, 9)}


@pytest.mark.parametrize("rule", ["paper", "calibrated"])
async def test_tasks_of_a_cluster_are_one_in_the_test_and_in_the_interval(officeqa_kit: ProtocolKit, rule: str) -> None:
    """Signs of two clusters are as they are one time in four, so nothing is confirmed by them."""
    made = copy(officeqa_kit.benchmark)
    made.__class__ = Clustered
    alone = (await replay(officeqa_kit, size=8, rounds=1, rule=rule).evolve()).rounds[0]["confirmation"]
    found = (await replay(ProtocolKit(made), size=8, rounds=1, rule=rule).evolve()).rounds[0]["confirmation"]
    assert found["destruction"]["low"] < alone["destruction"]["low"] - 0.3
    assert found["destruction"]["value"] == alone["destruction"]["value"]
    assert alone["confirmed"]
    if rule == "calibrated":
        assert [look["p"] for look in found["test"]["looks"]] == [1 / 4] * 3
        assert not found["confirmed"]


class Placeboed(OfficeQA):
    """OfficeQA itself has none."""

    def variants(self) -> Sequence[str]:
        return ("released", "placebo-a", "placebo-b", "placebo-c")

    def variant(self, name: str) -> Any:
        return super().variant("other-tools" if name.startswith("placebo-") else name)


@pytest.fixture
def placebo_kit(officeqa: OfficeQA) -> ProtocolKit:
    made = copy(officeqa)
    made.__class__ = Placeboed
    return ProtocolKit(made)


@pytest.mark.parametrize("rule", ["paper", "calibrated"])
async def test_placebos_go_the_same_way_and_are_never_archived(placebo_kit: ProtocolKit, rule: str) -> None:
    made = replay(placebo_kit, size=8, rounds=1, placebos=2, rule=rule)
    evolved = await made.evolve()
    placebos = evolved.rounds[0]["confirmation"]["placebos"]
    assert len({placebo["name"] for placebo in placebos}) == 2
    assert all(placebo["name"].startswith("placebo-") for placebo in placebos)
    assert [placebo["confirmed"] for placebo in placebos] == [True, True]  # the replay makes no difference
    assert len(evolved.archive.entries) == 1
    assert on_conf(made) == ([2] * 3 if rule == "calibrated" else [None] * 3)
    [event] = [event for event in made.told if isinstance(event, PlacebosTested)]
    [said] = lines(event)
    assert said.startswith("  placebos on conf1: 2 of 2 would be confirmed: placebo-")


async def test_more_placebos_than_there_are_are_refused(placebo_kit: ProtocolKit) -> None:
    with pytest.raises(UserError, match=r"placebos=6: officeqa has 3\. Give at most that many"):
        await replay(placebo_kit, rounds=1, placebos=6).evolve()


async def test_a_round_with_a_test_and_placebos_keeps_the_committed_schema(placebo_kit: ProtocolKit) -> None:
    schema = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "chase.evolve.json").read_text())
    form = schema["properties"]["rounds"]["items"]["properties"]["confirmation"]
    record = (await replay(placebo_kit, size=8, rounds=1, rule="calibrated", placebos=1).evolve()).rounds[0]
    jsonschema.validate(record["confirmation"], {"$defs": schema["$defs"], **form})
