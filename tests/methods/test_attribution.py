"""Attribution: which edit carries the gain and which its destruction, with intervals that hold together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from chase.challengers.mining import MiningChallenger
from chase.core.errors import UserError
from chase.core.events import AuditAttributionStarted
from chase.core.keyed import uniform
from chase.engine.sandbox import Sandbox
from chase.harness.folder import initial_harness
from chase.harness.spec import Activation, Guidance, Harness
from chase.methods.arena import Contender, Means, SomeTasks, StoreArena, Variant
from chase.methods.attribution import Attribution, Share, attribute, edits_of, further_harnesses
from chase.methods.audit import AuditOutcome
from chase.methods.audit_plan import AuditPlan, audit_harness
from chase.methods.audit_search import SearchSettings
from chase.protocol.kit import ProtocolKit
from chase.protocol.transformation import OperatorList
from chase.store.store import Store
from chase.store.workspace import Workspace
from chase.testing.almanac.benchmark import Almanac
from chase.testing.ledger import H0
from tests.methods.runs import Told
from tests.testing.almanacs import connect_reader, make_harness, open_once

NAME = "almanac@1-large"
SHORTCUT, HONEST, IDLE = "Prefer files with low name-length.", "Look at every record.", "Be brief."
TASKS = 40
Score = Callable[[str, str, int], float]
"""(prompt, variant, number of the task) → its mean score."""


@dataclass
class Scripted:
    """An arena with scores that a function decides; it notes what was asked for."""

    score: Score
    asked: list[tuple[int, int]] = field(default_factory=list)

    async def means(
        self,
        harnesses: Sequence[Contender],
        variants: Sequence[Variant],
        role: str,
        tasks: SomeTasks = None,
        rollouts: int | None = None,
    ) -> Means:
        self.asked.append((len(harnesses), len(variants)))
        return {
            (h.name, v.name): {
                f"t{n}": Fraction(self.score(said(h.harness), v.name, n)).limit_denominator(1000) for n in range(TASKS)
            }
            for h in harnesses
            for v in variants
        }


def said(harness: Harness) -> str:
    return "\n".join([harness.prompt, harness.memory, *(module.text for module in harness.guidance)])


def saying(*sentences: str) -> Harness:
    return replace(H0, prompt=" ".join([H0.prompt, *sentences]))


def variants(*names: str) -> list[Variant]:
    return [Variant(name=name, transformation=OperatorList(), told=False) for name in names]


def runs(harness: Harness) -> None:
    """Every harness can be run."""


async def attributed(
    harness: Harness, score: Score, *names: str, level: float = 0.95, cleared: bool = False,
    check: Callable[[Harness], None] = runs,
) -> Attribution:  # fmt: skip
    return await attribute(
        Scripted(score), "confirm", edits_of(H0, harness, check), initial=Contender(name="H0", harness=H0),
        harness=Contender(name="H", harness=harness), released=variants("released")[0], variants=variants(*names),
        level=level, cleared=cleared,
    )  # fmt: skip


def planted(text: str, variant: str, task: int) -> float:
    """A shortcut that helps on half of the tasks as released, and an honest edit that helps on a quarter anywhere."""
    cheats = SHORTCUT in text and variant == "released" and task % 2 == 0
    works = HONEST in text and task % 4 == 1
    return float(cheats or works)


def by_name(found: Attribution) -> dict[str, Share]:
    return {share.edit.name: share for share in found.shares}


def value(estimate: Any) -> float:
    assert estimate is not None
    return float(estimate.value)


async def test_a_planted_shortcut_and_an_honest_edit_are_told_apart() -> None:
    found = await attributed(saying(SHORTCUT, HONEST, IDLE), planted, "c1")
    shortcut, honest, idle = found.shares
    assert [share.edit.name for share in found.shares] == [f'prompt: "{s}"' for s in (SHORTCUT, HONEST, IDLE)]
    assert [share.label for share in found.shares] == ["shortcut", "honest", "unclear"]
    assert value(shortcut.gain.leave_one_out) == value(shortcut.gain.add_one_in) == 0.5
    assert value(shortcut.destruction["c1"].leave_one_out) == value(shortcut.destruction["c1"].add_one_in) == 0.5
    assert value(honest.gain.leave_one_out) == value(honest.gain.add_one_in) == 0.25
    assert value(honest.destruction["c1"].leave_one_out) == value(honest.destruction["c1"].add_one_in) == 0
    assert value(idle.gain.leave_one_out) == 0


async def test_leaving_out_and_adding_in_differ_where_edits_do_the_same() -> None:
    """Two edits of which either is enough: neither is missed, and each works alone."""

    def either(text: str, variant: str, task: int) -> float:
        return float((SHORTCUT in text or HONEST in text) and task % 2 == 0 and variant == "released")

    found = await attributed(saying(SHORTCUT, HONEST), either, "c1")
    for share in found.shares:
        assert value(share.gain.leave_one_out) == 0
        assert value(share.gain.add_one_in) == 0.5
        assert value(share.destruction["c1"].add_one_in) == 0.5
        assert share.label == "unclear", "alone it shows destruction: it is not honest; without it none goes"


async def test_two_edits_need_two_further_harnesses_and_one_needs_none() -> None:
    for sentences, further in (((SHORTCUT,), 0), ((SHORTCUT, HONEST), 2), ((SHORTCUT, HONEST, IDLE), 6)):
        harness = saying(*sentences)
        assert len(further_harnesses(H0, harness, edits_of(H0, harness, runs))) == further
    (share,) = (await attributed(saying(SHORTCUT), planted, "c1")).shares
    assert value(share.gain.leave_one_out) == value(share.gain.add_one_in) == 0.5
    assert share.label == "shortcut"


async def test_intervals_widen_with_what_is_reported_and_hold_the_level() -> None:
    few, many = saying(SHORTCUT, HONEST), saying(SHORTCUT, HONEST, IDLE)
    width = []
    for harness, names in ((few, ()), (few, ("c1",)), (few, ("c1", "c2")), (many, ("c1", "c2"))):
        found = await attributed(harness, planted, *names)
        gain = by_name(found)[f'prompt: "{SHORTCUT}"'].gain.leave_one_out
        assert gain is not None
        assert gain.level == found.level == 0.95
        width.append(gain.high - gain.low)
    assert width == sorted(width)
    assert len(set(width)) == 4


@pytest.mark.slow
async def test_idle_edits_are_seldom_called_anything() -> None:
    """Scores that no edit moves: in at most 5 of 100 audits may any of three edits be a shortcut or honest."""
    wrong, audits = 0, 200
    for number in range(audits):

        def chance(text: str, variant: str, task: int, number: int = number) -> float:
            return float(uniform("chance", number, text, variant, task) < 0.6)

        found = await attributed(saying(SHORTCUT, HONEST, IDLE), chance, "c1")
        wrong += any(share.label != "unclear" for share in found.shares)
    assert wrong <= 0.05 * audits


async def test_without_a_confirmed_counterfactual_only_the_gain_is_attributed() -> None:
    for cleared, label in ((True, "honest"), (False, "unclear")):
        found = await attributed(saying(HONEST, IDLE), planted, cleared=cleared)
        assert [share.destruction for share in found.shares] == [{}, {}]
        assert [share.label for share in found.shares] == [label, "unclear"]


async def test_many_edits_are_taken_together_by_component_or_by_neighbourhood() -> None:
    rules = [f"Rule number {n} holds." for n in range(13)]
    module = Guidance(name="honest", when=Activation(), text=HONEST)
    mixed = replace(saying(SHORTCUT, *rules), guidance=(module,))
    found = await attributed(mixed, planted, "c1")
    assert found.grouped_by == "component"
    assert [(share.edit.name, share.label) for share in found.shares] == [
        ("system prompt (14 edits)", "shortcut"), ("guidance honest", "honest"),
    ]  # fmt: skip
    found = await attributed(saying(SHORTCUT, *rules), planted, "c1")
    assert found.grouped_by == "neighbours"
    assert len(found.shares) == 7
    assert found.shares[0].edit.name == f'prompt: "{SHORTCUT}" … (2 edits)'
    assert sum(len(share.edit.parts) for share in found.shares) == 14
    assert (await attributed(saying(*rules[:12]), planted)).grouped_by is None


async def test_a_mixture_that_cannot_be_run_is_reported_and_not_run() -> None:
    def check(harness: Harness) -> None:
        if SHORTCUT in harness.prompt and HONEST not in harness.prompt:
            raise UserError("one needs the other.")

    found = by_name(await attributed(saying(SHORTCUT, HONEST, IDLE), planted, "c1", check=check))
    honest, shortcut = found[f'prompt: "{HONEST}"'], found[f'prompt: "{SHORTCUT}"']
    assert honest.edit.problem == shortcut.edit.problem == "one needs the other."
    assert (honest.gain.leave_one_out, shortcut.gain.add_one_in) == (None, None)
    assert (honest.label, shortcut.label) == ("honest", "shortcut")
    assert found[f'prompt: "{IDLE}"'].edit.problem is None


# In an audit


kit_once = cache(ProtocolKit)


def make_plan(almanac: Almanac, **changes: Any) -> AuditPlan:
    plan = AuditPlan(
        benchmark=almanac,
        kit=kit_once(almanac),
        baseline=initial_harness(almanac),
        harness=make_harness(almanac, say=f"{SHORTCUT} {HONEST}"),
        challenger=MiningChallenger(),
        settings=SearchSettings(rounds=1, proposals=4),
        rollouts=dict.fromkeys(Almanac.roles, 2),
        seed=0,
        attribute=True,
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


@pytest.mark.slow
async def test_an_audit_tells_the_shortcut_from_the_honest_edit(tmp_path: Path) -> None:
    almanac = open_once(NAME)
    searched = make_plan(almanac)
    outcome, _, told = await audited(searched, tmp_path)
    assert outcome.attribution is not None
    assert outcome.verdict.word == "not supported"
    labels = {share.edit.name: share.label for share in outcome.attribution.shares}
    assert labels == {f'prompt: "{SHORTCUT}"': "shortcut", f'prompt: "{HONEST}"': "honest"}
    assert told.events[-1] == AuditAttributionStarted(edits=2, harnesses=2, variants=1)


@pytest.mark.slow
async def test_attribution_runs_only_what_an_audit_has_not_and_nothing_twice(tmp_path: Path) -> None:
    plan = make_plan(open_once(NAME))
    plain, first, _ = await audited(replace(plan, attribute=False), tmp_path)
    assert plain.attribution is None
    attributed, more, _ = await audited(plan, tmp_path)
    again, nothing, _ = await audited(plan, tmp_path)
    assert first > 0
    assert more == 2 * 2 * plain.confirm_tasks * 2, "two harnesses, as released and under one, twice each"
    assert nothing == 0
    assert again.to_json() == attributed.to_json()
    assert {**attributed.to_json(), "attribution": None} == plain.to_json()
    assert plan.describe("f") == replace(plan, attribute=False).describe("f")


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
async def test_equal_harnesses_have_nothing_to_attribute(tmp_path: Path) -> None:
    almanac = open_once(NAME)
    with pytest.raises(UserError, match="no gain to audit"):
        await audited(make_plan(almanac, harness=initial_harness(almanac)), tmp_path)


@pytest.mark.slow
async def test_an_attribution_that_was_cut_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(open_once(NAME))
    whole, _, _ = await audited(plan, tmp_path / "whole")

    async def cut(arena: StoreArena, role: str, edits: Any, *, released: Variant, **_: object) -> Attribution:
        """Ends when the first mixture was run as released."""
        await arena.means([Contender(name="first", harness=edits[0].without)], [released], role)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("chase.methods.audit.attribute", cut)
        with pytest.raises(KeyboardInterrupt):
            await audited(plan, tmp_path / "cut")
    found, executed, _ = await audited(plan, tmp_path / "cut")
    assert executed == 3 * found.confirm_tasks * 2, "of two harnesses under two variants one cell was there"
    assert found.to_json() == whole.to_json()
