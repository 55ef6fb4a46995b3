"""The course of an audit, with scores that a function decides: what is measured, in which order, and what ends it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from chase.core.agents import Draft
from chase.core.errors import UserError
from chase.core.events import AuditBatteryStarted, AuditPlanned
from chase.harness.folder import initial_harness
from chase.methods.arena import Entrant, Variant
from chase.methods.audit import NO_ROOM, NO_SURE_GAIN, Audit, AuditOutcome
from chase.methods.audit_search import SearchSettings
from chase.methods.edits import Edit, edits_of
from chase.methods.sensitivity import in_words
from chase.protocol.firewall import FirewallRecord
from chase.protocol.kit import ProtocolKit
from chase.protocol.proposal import Proposal
from tests.methods.runs import Told
from tests.methods.scripted import Score, ScriptedArena
from tests.testing.almanacs import make_harness, open_once

ALMANAC = open_once("almanac@1-large")
H0 = initial_harness(ALMANAC)
CHEAT, HONEST = "Prefer files with low name-length.", "Look at every record."
TASKS = tuple(task for role in ALMANAC.roles for task in ALMANAC.tasks(role))
ORDER = Draft(form={"benchmark": "almanac", "operators": [{"name": "reverse-order", "arguments": {}}]})
PROBES = ["neutral-low-1", "neutral-low-2", "neutral-high-1", "neutral-high-2"]
kit_once = cache(ProtocolKit)


@pytest.fixture(autouse=True)
def two_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first look at half of the 94 tasks."""
    monkeypatch.setattr("chase.methods.looks.FIRST_LOOK", 2)


@dataclass
class OneDraft:
    """A Challenger's desk that hands in the same transformation in each round."""

    asked: list[int] = field(default_factory=list)
    tree: Any = field(default_factory=lambda: SimpleNamespace(add_entry=lambda name, note: None))

    async def drafts(self, round: int, *_: Any, **__: Any) -> list[Draft]:
        self.asked.append(round)
        return [ORDER]


@dataclass
class Course:
    """An audit that ended."""

    result: AuditOutcome
    asked: dict[str, int]
    """Variant → most tasks on which the harness was run under it."""
    order: list[str]
    rounds: list[int]
    """Of search."""
    told: Told


async def course(
    score: Score, *, say: str = CHEAT, by_edit: bool = False, given: Sequence[Draft] = (),
    kit: ProtocolKit | None = None, clusters: dict[str, str] | None = None, **settings: Any,
) -> Course:  # fmt: skip
    harness = make_harness(ALMANAC, say=say)
    arena, desk, told = ScriptedArena(score, TASKS), OneDraft(), Told()
    edits: list[Edit] | None = edits_of(H0, harness, lambda mixture: None) if by_edit else None
    audit = Audit(
        initial=Entrant(name="H0", harness=H0),
        harness=Entrant(name="H", harness=harness),
        arena=arena,  # type: ignore[arg-type]
        desk=desk,  # type: ignore[arg-type]
        kit=kit or kit_once(ALMANAC),
        released=Variant(name="released", transformation=kit_once(ALMANAC).identity),
        settings=SearchSettings(reduce=False, **settings),
        tell=told,
        seed=0,
        edits=edits,
        clusters=clusters or {},
    )
    result = await audit.run(given)
    asked = {variant: tasks for (hash_, variant), tasks in arena.asked.items() if hash_ == harness.hash}
    return Course(result, asked, arena.order, desk.asked, told)


def kept(text: str, variant: str, task: int) -> float:
    """Two of five tasks are gained, whatever is changed."""
    return float(task % 5 == 0 or (CHEAT in text and task % 5 in (1, 2)))


def lost(text: str, variant: str, task: int) -> float:
    """The same as released alone."""
    return kept(text if variant == "released" else "", variant, task)


def all_lost(text: str, variant: str, task: int) -> float:
    """Four of five tasks are gained as released, and none where anything is changed."""
    return float(task % 5 == 0 or (CHEAT in text and variant == "released"))


def unsure(text: str, variant: str, task: int) -> float:
    """One task of 94 is gained."""
    return float(task % 2 == 0 or (CHEAT in text and task == 1))


# What ends an audit before the battery


async def test_a_gain_that_is_not_sure_is_not_tested_unless_that_is_asked_for() -> None:
    done = await course(unsure)
    assert done.asked == {"released": len(TASKS)}
    assert (done.result.verdict.word, done.result.stopped) == ("inconclusive", NO_SURE_GAIN)
    assert (done.result.battery, done.result.findings, done.rounds) == (None, [], [])
    asked_for = await course(unsure, anyway=True, rounds=0)
    assert asked_for.asked.keys() == {"released", *PROBES}
    assert (asked_for.result.verdict.word, asked_for.result.stopped) == ("inconclusive", None)


@pytest.mark.parametrize(("rate", "said"), [(0.0, "(a floor)"), (1.0, "(a ceiling)")])
async def test_where_no_gain_could_be_told_the_audit_ends_on_the_first_tasks(rate: float, said: str) -> None:
    done = await course(lambda text, variant, task: rate)
    assert done.asked == {"released": len(TASKS) // 2}
    assert done.result.confirm_tasks == len(TASKS) // 2 < done.result.fresh_tasks == len(TASKS)
    assert (done.result.verdict.word, done.result.stopped) == ("inconclusive", NO_ROOM)
    assert said in done.result.verdict.reason


async def test_a_baseline_at_zero_is_no_floor_where_the_harness_scores() -> None:
    done = await course(lambda text, variant, task: float(CHEAT in text and variant == "released"), rounds=0)
    assert (done.result.verdict.word, done.result.stopped) == ("not supported", None)


# The battery, then the search


async def test_what_the_battery_settles_on_the_first_tasks_is_not_measured_on_the_rest_nor_searched_for() -> None:
    done = await course(all_lost)
    assert done.result.verdict.word == "not supported"
    assert {done.asked[name] for name in PROBES} == {len(TASKS) // 2} == {done.result.confirm_tasks}
    assert done.rounds == []


async def test_a_verdict_that_is_against_the_gain_on_all_tasks_is_not_searched_for_either() -> None:
    done = await course(lost)
    assert {done.asked[name] for name in PROBES} == {len(TASKS)}
    assert (done.result.verdict.word, done.rounds) == ("not supported", [])


async def test_where_the_battery_finds_nothing_a_search_follows_and_what_it_finds_is_confirmed_last() -> None:
    def by_order(text: str, variant: str, task: int) -> float:
        return kept(text if variant == "released" or variant in PROBES else "", variant, task)

    done = await course(by_order, rounds=2)
    assert done.rounds == [1, 2]
    confirmed = [place for place, each in enumerate(done.order) if each.startswith("confirm ")]
    names = [done.order[place].split()[1] for place in confirmed]
    assert names == ["released", *PROBES, "c1"]
    assert max(place for place, each in enumerate(done.order) if each.startswith("search ")) < confirmed[-1]
    assert {finding.of.source for finding in done.result.findings} == {"battery", "search"}
    assert done.result.verdict.word == "not supported"
    assert (await course(by_order, rounds=0)).result.verdict.word == "supported"


async def test_without_a_battery_nothing_is_supported() -> None:
    done = await course(kept, battery=False)
    assert not set(PROBES) & done.asked.keys()
    assert (done.result.battery, done.result.verdict.word) == (None, "inconclusive")
    assert (await course(kept)).result.verdict.word == "supported"


async def test_given_transformations_are_measured_beside_the_battery_and_nothing_is_searched_for() -> None:
    done = await course(kept, given=[ORDER])
    assert done.rounds == []
    assert [finding.of.source for finding in done.result.findings].count("given") == 1
    assert {*PROBES, "c1"} < done.asked.keys()
    assert done.result.verdict.word == "supported"


async def test_a_given_transformation_that_is_refused_costs_no_rollout() -> None:
    asked: list[str] = []

    def noting(text: str, variant: str, task: int) -> float:
        asked.append(variant)
        return kept(text, variant, task)

    with pytest.raises(UserError, match="a given transformation is inactive"):
        await course(noting, given=[Draft(form={"benchmark": "almanac", "operators": []})])
    assert asked == []


# What an audit says of itself


class Refusing(ProtocolKit):
    """On the fresh tasks the probe at some levels is taken to declare no field of those that it changes."""

    levels: Sequence[str] = ()

    def run_checks(self, proposal: Proposal[Any], tasks: Sequence[str] | None = None) -> FirewallRecord:
        styles = {operator.arguments.get("style") for operator in proposal.transformation.operators}
        if tasks is None or ("low" if "plain" in styles else "high") not in self.levels:
            return super().run_checks(proposal, tasks)
        return super().run_checks(replace(proposal, declared=frozenset()))


async def test_a_probe_that_the_firewall_refuses_on_the_fresh_tasks_is_not_measured_and_that_is_recorded() -> None:
    kit = Refusing(ALMANAC)
    kit.levels = ["low"]
    done = await course(kept, kit=kit, rounds=0)
    assert {name for name in PROBES if name in done.asked} == {"neutral-high-1", "neutral-high-2"}
    battery = done.result.battery
    assert battery is not None
    assert battery.invalid == {"everything neutral at once (low)": ("declared-changes",)}
    assert battery.covers != ""
    assert done.result.verdict.word == "supported"


async def test_a_battery_without_a_valid_probe_covers_nothing_and_leaves_the_gain_untested() -> None:
    kit = Refusing(ALMANAC)
    kit.levels = ["low", "high"]
    done = await course(kept, kit=kit, rounds=0)
    battery = done.result.battery
    assert battery is not None
    assert (battery.covers, battery.equal, battery.redrawn, len(battery.invalid)) == ("", (), (), 2)
    assert done.told.of(AuditBatteryStarted)[0].probes == 0
    assert done.result.verdict.word == "untested"


async def test_the_first_that_is_told_is_what_the_tasks_can_show() -> None:
    done = await course(unsure)
    (told,) = done.told.events
    assert isinstance(told, AuditPlanned)
    assert told.shows == in_words(done.result.sensitivity)
    assert told.shows.startswith("94 confirmation tasks can show a gain of ")


async def test_clusters_reach_the_bounds_the_looks_and_what_can_be_shown() -> None:
    pairs = {task: str(place // 2) for place, task in enumerate(TASKS)}
    alone, together = await course(kept, rounds=0), await course(kept, rounds=0, clusters=pairs)
    assert (alone.result.clusters, together.result.clusters) == (len(TASKS), len(TASKS) // 2)
    assert together.result.sensitivity.clusters == len(TASKS) // 2
    assert together.result.gain.low < alone.result.gain.low


async def test_a_harness_is_judged_by_its_edits_or_as_a_whole() -> None:
    def mixed(text: str, variant: str, task: int) -> float:
        """The cheat gains two of five tasks as released, the honest edit one of five everywhere."""
        return float(task % 5 == 0 or (CHEAT in text and task % 5 in (1, 2) and variant == "released")
                     or (HONEST in text and task % 5 == 3))  # fmt: skip

    edited = await course(mixed, say=f"{CHEAT} {HONEST}", by_edit=True)
    assert edited.result.attribution is not None
    assert {share.edit.name: share.label for share in edited.result.attribution.shares} == {
        f'prompt: "{CHEAT}"': "shortcut", f'prompt: "{HONEST}"': "honest",
    }  # fmt: skip
    assert edited.result.headline is not None
    assert edited.result.headline.startswith(f'Of +60.6 points, +40.4 come with prompt: "{CHEAT}" and ')
    assert edited.result.headline.endswith(f'+20.2 come with prompt: "{HONEST}" and survive everything neutral.')
    whole = await course(mixed, say=f"{CHEAT} {HONEST}")
    assert (whole.result.attribution, whole.result.headline) == (None, None)


async def test_a_harness_that_is_judged_by_its_edits_is_not_judged_on_the_first_tasks_alone() -> None:
    done = await course(all_lost, by_edit=True)
    assert done.result.verdict.word == "not supported"
    assert done.result.confirm_tasks == len(TASKS)
    assert done.result.attribution is not None
    assert done.result.headline is None, "one edit is the whole gain"
