"""Attribution: each edit's contribution as released and with everything neutral, and what it is called."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from chase.agents.history import RELEASED
from chase.challengers.mining import MiningChallenger
from chase.core.errors import UserError
from chase.core.events import AuditAttributionStarted
from chase.core.keyed import uniform
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness
from chase.harness.spec import Activation, Guidance, Harness
from chase.methods.arena import Contender, Variant
from chase.methods.attribution import Attribution, EditMeasurement, Share, in_words
from chase.methods.audit import AuditOutcome
from chase.methods.audit_findings import Found
from chase.methods.audit_plan import AuditPlan, audit_harness
from chase.methods.audit_search import SearchSettings
from chase.methods.edits import edits_of, further_harnesses
from chase.methods.forecast import forecast_audit
from chase.methods.looks import Look
from chase.protocol.kit import ProtocolKit
from chase.protocol.transformation import OperatorList
from chase.stats.estimates import Sample, between
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.almanac.benchmark import Almanac
from chase.testing.ledger import H0
from tests.methods.runs import Told
from tests.methods.scripted import Score, ScriptedArena
from tests.testing.almanacs import connect_reader, make_harness, open_once

NAME = "almanac@1-large"
SHORTCUT, HONEST, IDLE = "Prefer files with low name-length.", "Look at every record.", "Be brief."
TASKS = 96
LOW, HIGH, SAME = "neutral-low", "neutral-high", "same-names"


def saying(*sentences: str) -> Harness:
    return replace(H0, prompt=" ".join([H0.prompt, *sentences]))


def variants(*names: str) -> dict[str, Variant]:
    return {name: Variant(name=name, transformation=OperatorList(), told=False) for name in names}


def runs(harness: Harness) -> None:
    """Every harness can be run."""


def part(name: str) -> Found:
    return Found(
        name=name, source="battery", draws=(name,), what=name.replace("-", " "), symbols="", proposals=(), touched={}
    )


@dataclass
class Attributed:
    found: Attribution
    asked: Counter[tuple[str, str]]
    """(harness, variant) → tasks that it was run on."""

    @property
    def labels(self) -> dict[str, str]:
        return {share.edit.name: share.label for share in self.found.shares}

    def share(self, sentence: str) -> Share:
        return next(share for share in self.found.shares if sentence in share.edit.name)


async def attributed(
    harness: Harness, score: Score, *, level: float = 0.95, tasks: int = TASKS, first: int = 0,
    check: Callable[[Harness], None] = runs, invalid: Collection[str] = (),
) -> Attributed:  # fmt: skip
    every = tuple(f"t{n}" for n in range(tasks))
    arena = ScriptedArena(score, every)
    looks = [Look(tasks=every[:first], level=1 - (1 - level) / 5)] if first else []
    measurement = EditMeasurement(
        arena=arena, role="confirm", initial=Contender(name="H0", harness=H0),
        harness=Contender(name="H", harness=harness), released=variants(RELEASED)[RELEASED],
        probes=[part(LOW), part(HIGH)], aspects=[part(SAME)], variants=variants(LOW, HIGH, SAME),
        looks=[*looks, Look(tasks=every, level=level)], check=check,
        is_valid=lambda aspect: aspect.name not in invalid,
    )  # fmt: skip
    return Attributed(await measurement.attribute(edits_of(H0, harness, check), level), arena.asked)


def planted(text: str, variant: str, task: int) -> float:
    """A shortcut that helps on half of the tasks as released, and an honest edit that helps on a quarter anywhere."""
    cheats = SHORTCUT in text and variant == RELEASED and task % 2 == 0
    works = HONEST in text and task % 4 == 1
    return float(cheats or works)


def value(estimate: Any) -> float:
    assert estimate is not None
    return float(estimate.value)


async def test_a_planted_shortcut_and_an_honest_edit_are_told_apart() -> None:
    done = await attributed(saying(SHORTCUT, HONEST, IDLE), planted)
    shortcut, honest, idle = done.found.shares
    assert [share.edit.name for share in done.found.shares] == [f'prompt: "{s}"' for s in (SHORTCUT, HONEST, IDLE)]
    assert [share.label for share in done.found.shares] == ["shortcut", "honest", "open"]
    assert value(shortcut.contribution) == value(shortcut.leave_one_out) == value(shortcut.add_one_in) == 0.5
    assert [value(shortcut.gains[name]) for name in (LOW, HIGH)] == [0, 0]
    assert shortcut.rests_on == ("same names",)
    assert [value(gain) for gain in (honest.contribution, honest.gains[LOW], honest.gains[HIGH])] == [0.25] * 3
    assert honest.rests_on == ()
    assert value(idle.contribution) == 0
    edits = done.found.edits
    assert (edits.shortcuts, edits.honest, edits.open) == tuple((share.edit.name,) for share in done.found.shares)
    assert value(edits.without_shortcuts) == value(edits.by_honest) == 0.25 - 0.75 / 2


async def test_an_aspect_that_the_firewall_refuses_is_neither_measured_nor_named() -> None:
    done = await attributed(saying(SHORTCUT, HONEST), planted, invalid=[SAME])
    assert done.labels[f'prompt: "{SHORTCUT}"'] == "shortcut"
    assert done.share(SHORTCUT).rests_on == ()
    assert all(variant != SAME for _, variant in done.asked)


async def test_an_edit_can_be_honest_before_its_released_contribution_is_sure_beside_the_others() -> None:
    """6 of 96 tasks are more than nothing at 2.5 %, and not at a third of that; with everything neutral 48 are won. A
    shortcut has to be sure.
    """

    def slight(text: str, variant: str, task: int) -> float:
        released = variant == RELEASED
        honest = HONEST in text and task < (6 if released else 48)
        return float(honest or (SHORTCUT in text and released and task >= 90))

    done = await attributed(saying(SHORTCUT, HONEST, IDLE), slight)
    assert [done.share(name).surely_contributes for name in (SHORTCUT, HONEST)] == [False, False]
    assert [set(done.share(name).under) for name in (SHORTCUT, HONEST)] == [{LOW, HIGH}, {LOW, HIGH}]
    assert [done.share(name).label for name in (SHORTCUT, HONEST)] == ["open", "honest"]


async def test_a_condition_that_holds_everywhere_at_one_level_is_found_at_the_other() -> None:
    """ "Where the extension is short": at level low all are short, and the edit gains; at level high none is."""

    def conditional(text: str, variant: str, task: int) -> float:
        return float(SHORTCUT in text and task % 2 == 0 and variant in (RELEASED, LOW))

    assert (await attributed(saying(SHORTCUT), conditional)).labels == {f'prompt: "{SHORTCUT}"': "shortcut"}


async def test_an_edit_that_may_contribute_nothing_is_not_probed() -> None:
    done = await attributed(saying(SHORTCUT, HONEST, IDLE), planted)
    idle = done.share(IDLE)
    assert (idle.label, idle.under, idle.gains) == ("open", {}, {})
    (alone,) = [edit.alone for edit in edits_of(H0, saying(SHORTCUT, HONEST, IDLE), runs) if IDLE in edit.name]
    assert alone is not None
    assert done.asked[alone.hash, RELEASED] == TASKS
    assert done.asked[alone.hash, LOW] == 0


async def test_a_zero_on_tasks_that_hardly_anybody_solves_accuses_nobody() -> None:
    """An honest edit mends one task in 15 where the baseline solves 80 %; with everything neutral it solves 7 %."""

    def rare(text: str, variant: str, task: int) -> float:
        solved = task % 5 != 0 or (SHORTCUT in text and task % 15 == 0)
        return float(solved and (variant == RELEASED or task % 12 == 1))

    done = await attributed(saying(SHORTCUT), rare, tasks=480)
    (share,) = done.found.shares
    assert share.surely_contributes
    assert value(share.gains[LOW]) == 0
    assert share.label == "open"


async def test_edits_that_are_enough_each_are_credited_half_by_both_ways() -> None:
    def either(text: str, variant: str, task: int) -> float:
        return float((SHORTCUT in text or HONEST in text) and task % 2 == 0)

    for share in (await attributed(saying(SHORTCUT, HONEST), either)).found.shares:
        assert value(share.leave_one_out) == 0
        assert value(share.add_one_in) == 0.5
        assert value(share.contribution) == 0.25
        assert share.label == "honest"


async def test_two_edits_need_two_further_harnesses_and_one_needs_none() -> None:
    for sentences, further in (((SHORTCUT,), 0), ((SHORTCUT, HONEST), 2), ((SHORTCUT, HONEST, IDLE), 6)):
        harness = saying(*sentences)
        assert len(further_harnesses(H0, harness, edits_of(H0, harness, runs))) == further
    (share,) = (await attributed(saying(SHORTCUT), planted)).found.shares
    assert value(share.leave_one_out) == value(share.add_one_in) == 0.5
    assert share.label == "shortcut"


async def test_what_the_first_look_settles_is_not_measured_on_the_rest() -> None:
    done = await attributed(saying(SHORTCUT, HONEST, IDLE), planted, tasks=240, first=120)
    (alone,) = [edit.alone for edit in edits_of(H0, saying(SHORTCUT, HONEST, IDLE), runs) if SHORTCUT in edit.name]
    assert alone is not None
    assert done.share(SHORTCUT).label == "shortcut"
    assert done.asked[alone.hash, LOW] == 120


async def test_bounds_share_the_error_between_edits() -> None:
    widths = []
    for sentences in ((SHORTCUT,), (SHORTCUT, HONEST), (SHORTCUT, HONEST, IDLE)):
        share = (await attributed(saying(*sentences), planted)).share(SHORTCUT)
        assert share.contribution is not None
        assert share.contribution.level == 0.95
        widths.append(share.contribution.high - share.contribution.low)
    assert widths == sorted(widths)
    assert len(set(widths)) == 3


async def test_a_single_edit_has_the_bounds_of_the_whole_harness() -> None:
    """As `Bounds` has them for a harness as a whole: half of the error of each of two probes."""
    done = await attributed(saying(SHORTCUT), planted)
    (share,) = done.found.shares
    assert done.found.edits.accusing_share == 1
    sample = Sample(
        per_task={f"t{n}": Fraction(-1, 2) if n % 2 == 0 else Fraction(0) for n in range(TASKS)}, support=(-1.5, 1.5)
    )
    assert share.under[HIGH].half.high == between(sample, low=0.0125, high=0.0125, level=0.95).high
    several = await attributed(saying(SHORTCUT, HONEST), planted)
    assert several.found.edits.accusing_share == 0.25
    assert several.share(SHORTCUT).under[HIGH].half.high > share.under[HIGH].half.high


@pytest.mark.slow
async def test_idle_edits_are_seldom_called_anything() -> None:
    """Scores that no edit moves: in at most 5 of 100 audits may any of three edits be a shortcut or honest."""
    wrong, audits = 0, 200
    for number in range(audits):

        def chance(text: str, variant: str, task: int, number: int = number) -> float:
            return float(uniform("chance", number, text, variant, task) < 0.6)

        found = await attributed(saying(SHORTCUT, HONEST, IDLE), chance, tasks=40)
        wrong += set(found.labels.values()) != {"open"}
    assert wrong <= 0.05 * audits


async def test_many_edits_are_taken_together_by_component_or_by_neighbourhood() -> None:
    rules = [f"Rule number {n} holds." for n in range(13)]
    module = Guidance(name="honest", when=Activation(), text=HONEST)
    mixed = replace(saying(SHORTCUT, *rules), guidance=(module,))
    found = (await attributed(mixed, planted)).found
    assert found.grouped_by == "component"
    assert [(share.edit.name, share.label) for share in found.shares] == [
        ("system prompt (14 edits)", "shortcut"), ("guidance honest", "honest"),
    ]  # fmt: skip
    found = (await attributed(saying(SHORTCUT, *rules), planted)).found
    assert found.grouped_by == "neighbours"
    assert len(found.shares) == 7
    assert found.shares[0].edit.name == f'prompt: "{SHORTCUT}" … (2 edits)'
    assert sum(len(share.edit.parts) for share in found.shares) == 14
    assert (await attributed(saying(*rules[:12]), planted)).found.grouped_by is None


async def test_a_mixture_that_cannot_be_run_is_reported_and_not_run() -> None:
    def check(harness: Harness) -> None:
        if SHORTCUT in harness.prompt and HONEST not in harness.prompt:
            raise UserError("one needs the other.")

    done = await attributed(saying(SHORTCUT, HONEST, IDLE), planted, check=check)
    honest, shortcut = done.share(HONEST), done.share(SHORTCUT)
    assert honest.edit.problem == shortcut.edit.problem == "one needs the other."
    assert (honest.leave_one_out, shortcut.add_one_in) == (None, None)
    assert (honest.label, shortcut.label) == ("honest", "shortcut")
    assert done.share(IDLE).edit.problem is None


# In an audit


kit_once = cache(ProtocolKit)


def make_plan(almanac: Almanac, **changes: Any) -> AuditPlan:
    plan = AuditPlan(
        benchmark=almanac,
        kit=kit_once(almanac),
        baseline=initial_harness(almanac),
        harness=make_harness(almanac, say=f"{SHORTCUT} {HONEST}"),
        challenger=MiningChallenger(),
        settings=SearchSettings(rounds=0, level=0.8),
        rollouts=dict.fromkeys(Almanac.roles, 1),
        seed=0,
    )
    return replace(plan, **changes)


async def audited(plan: AuditPlan, folder: Path) -> tuple[AuditOutcome, int, Told]:
    """The outcome, the rollouts that were run for it, and what was told."""
    told = Told()
    with Store.open(Workspace(folder), write=True) as store:
        if not store.runs():
            store.create_run("audit-1", {})
        before = store.info().rollouts.get("scored", 0)
        async with Sandbox(max_sessions=4) as sandbox:
            found = await audit_harness(
                plan, run="audit-1", store=store, model=connect_reader(), sandbox=sandbox, tell=told
            )
        return found, store.info().rollouts["scored"] - before, told


@dataclass
class Audited:
    """An audit edit by edit that ended."""

    plan: AuditPlan
    outcome: AuditOutcome
    executed: int
    told: Told
    workspace: Path


@pytest.fixture(scope="module")
def by_edit(tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """Never changed."""
    plan, folder = make_plan(open_once(NAME)), tmp_path_factory.mktemp("by-edit")
    return Audited(plan, *asyncio.run(audited(plan, folder)), folder)


@pytest.mark.slow
def test_an_audit_tells_the_shortcut_from_the_honest_edit(by_edit: Audited) -> None:
    outcome = by_edit.outcome
    assert outcome.attribution is not None
    assert outcome.verdict.word == "in doubt"
    assert SHORTCUT in outcome.verdict.reason
    labels = {share.edit.name: share.label for share in outcome.attribution.shares}
    assert labels == {f'prompt: "{SHORTCUT}"': "shortcut", f'prompt: "{HONEST}"': "open"}, "70 tasks are few"
    assert outcome.headline == in_words(outcome.gain.value, outcome.attribution.shares)
    assert [event for event in by_edit.told.events if isinstance(event, AuditAttributionStarted)] == [
        AuditAttributionStarted(edits=2, harnesses=2, variants=len(outcome.attribution.probes))
    ]


@pytest.mark.slow
def test_an_audit_edit_by_edit_runs_what_is_forecast(by_edit: Audited) -> None:
    least, most = forecast_audit(by_edit.plan).rollouts_between
    tasks = by_edit.outcome.fresh_tasks
    assert least < by_edit.executed <= most - 2 * tasks, "the gain without the shortcut is of a mixture that there is"


@pytest.mark.slow
async def test_nothing_of_an_attribution_is_run_twice_and_without_it_the_harness_is_judged_whole(
    by_edit: Audited, tmp_path: Path
) -> None:
    plan, folder = by_edit.plan, shutil.copytree(by_edit.workspace, tmp_path / "again")
    again, nothing, _ = await audited(plan, folder)
    assert by_edit.executed > nothing == 0
    assert again.to_json() == by_edit.outcome.to_json()
    whole = replace(plan, settings=replace(plan.settings, whole=True))
    plain, none, _ = await audited(whole, folder)
    assert (plain.attribution, none) == (None, 0)
    assert plan.describe("f") != whole.describe("f"), "what it measures is another audit"


def test_a_mixture_is_held_to_the_benchmark_and_its_control_is_checked() -> None:
    almanac = open_once(NAME)
    most = almanac.bounds.templates
    templates = [[f"{{place}} {word} {n}" for n in range(most)] for word in ("one", "two")]
    old, new = (make_harness(almanac, retrieval={"templates": chosen}) for chosen in templates)
    for edit in make_plan(almanac, baseline=old, harness=new).edits():
        assert f"write at most {most}" in str(edit.problem), "one more template than are allowed"
        assert (edit.without is None) != (edit.alone is None), "one fewer is fine"
    hooks = (
        "def should_stop(state: State) -> bool:\n    return {}\n\n\ndef plan(task: Task) -> Plan:\n    return {{}}\n"
    )
    edits = make_plan(almanac, harness=make_harness(almanac, source=hooks.format("False"))).edits()
    assert [(edit.name, edit.problem) for edit in edits] == [
        ("control.py: should_stop", None), ("control.py: plan", None),
    ]  # fmt: skip
    edits = make_plan(almanac, harness=make_harness(almanac, source=hooks.format("'no'"))).edits()
    assert all("control.py, line 2" in str(edit.problem) for edit in edits)


@pytest.mark.slow
async def test_an_attribution_that_was_cut_goes_on_where_it_stopped(
    by_edit: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = by_edit.plan

    async def cut(measurement: EditMeasurement, edits: Any, level: float) -> Attribution:
        """Ends when the first mixture was run as released."""
        first = Contender(name="first", harness=edits[0].without)
        await measurement.arena.means([first], [measurement.released], measurement.role)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("chase.methods.audit.EditMeasurement.attribute", cut)
        with pytest.raises(KeyboardInterrupt):
            await audited(plan, tmp_path)
    with Store.open(Workspace(tmp_path), write=False) as store:
        there = store.info().rollouts["scored"]
    found, executed, _ = await audited(plan, tmp_path)
    assert 0 < there < by_edit.executed
    assert executed == by_edit.executed - there
    assert found.to_json() == by_edit.outcome.to_json()
