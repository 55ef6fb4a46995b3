"""The repair of an audited harness: what survives of a gain, the sentence about it, and what speaks against it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.core.events import Repaired
from chase.methods.arena import Contender, Variant
from chase.methods.repair import Attempt, RepairOutcome
from chase.methods.repair_audited import AuditedRepair, RepairPlan, _in_words, _searched
from chase.methods.repair_measurement import AuditedCounterfactual, Gains, unexplained_standing
from chase.methods.selection import Standing
from chase.methods.verdict import Source
from chase.protocol.kit import ProtocolKit
from chase.stats.estimates import Estimate
from chase.testing.ledger import H0
from tests.engine.rollouts import make_harness
from tests.methods.runs import ROLLOUTS, few_tasks


def estimate(value: float, radius: float) -> Estimate:
    return Estimate(value=value, se=radius / 2, n=24, low=value - radius, high=value + radius, level=0.95)


def gains(released: float, worst: str = "c1", radius: float = 0.08, **under: float) -> Gains:
    """Gains that the base rate explains nothing of."""
    return Gains(
        by_variant={name: estimate(value, 0.02) for name, value in {"released": released, **under}.items()},
        unexplained={name: estimate(released - value, radius) for name, value in under.items()},
        expected_share=dict.fromkeys(under, 1.0),
        worst=worst,
    )


def test_the_surviving_gain_is_that_under_the_counterfactual_of_the_search_not_the_least_on_these_tasks() -> None:
    found = gains(0.12, worst="c2", c1=0.013, c2=0.05)
    assert found.surviving.value == 0.05
    assert found.to_json()["worst"] == "c2"


def test_the_sentence_has_both_harnesses_in_points() -> None:
    before, after = gains(0.122, c1=0.013), gains(0.079, c1=0.074)
    assert _in_words(before, after) == ("gain +12.2 points as released and +1.3 surviving; repaired +7.9 and +7.4")
    assert _in_words(before, None) == (
        "gain +12.2 points as released and +1.3 surviving; "
        "on the search tasks nothing of it is left without the shortcut: keep the baseline"
    )


@pytest.mark.parametrize(
    ("found", "doubts"),
    [
        (gains(0.079, c1=0.074), []),
        (gains(0.079, c1=0.029), []),
        (
            gains(0.079, c1=0.028),
            ["5.1 points of the repaired gain are destroyed under equal names, more than epsilon"],
        ),
        (gains(0.079, c1=0.01), ["6.9 points of the repaired gain are destroyed", "not told from 0"]),
        (gains(0.079, c1=0.04, radius=0.02), ["3.9 points of the repaired gain are surely destroyed"]),
        (gains(0.079, worst="c2", c1=0.0, c2=0.079), []),
        (gains(0.079, worst="c2", radius=0.02, c1=0.0, c2=0.079), ["surely destroyed under equal names"]),
        (gains(0.02, c1=0.02), ["not told from 0"]),
    ],
)
def test_fresh_tasks_may_speak_against_a_repair(found: Gains, doubts: list[str]) -> None:
    said = found.doubts("0.05", {"c1": "equal names", "c2": "equal depths"})
    assert len(said) == len(doubts)
    assert all(doubt in line for doubt, line in zip(doubts, said, strict=True))


def test_a_search_is_told_with_what_it_took_out_or_that_nothing_was_found() -> None:
    harness = Contender(name="H", harness=H0)
    measured = Standing(name="H", released=Fraction(1, 2), gain=Fraction(1, 4), destruction={})
    best = Attempt(form=(), contender=harness, dropped=("a",), generalised=("b", "c"), measured=measured)
    none = RepairOutcome(of=harness, repaired=None, best=None, attempts=(best, best), cells=7)
    found = RepairOutcome(of=harness, repaired=harness, best=best, attempts=(best,), cells=3)
    assert _searched(none) == Repaired(
        round=None, of="H", repaired=None, dropped=(), generalised=(), tried=2, cells=7
    )  # fmt: skip
    assert _searched(found) == Repaired(
        round=None, of="H", repaired="H'", dropped=("a",), generalised=("b", "c"), tried=1, cells=3
    )  # fmt: skip


def test_nothing_to_repair_has_neither_a_harness_nor_a_measurement() -> None:
    found = AuditedRepair(ending="nothing to repair", reason="why")
    assert found.harness is None
    assert (found.to_json()["repaired"], found.to_json()["measured"], found.to_json()["tried"]) == (None, None, [])


def repair_plan(ledger: SynLedger, seen: Collection[str] = ()) -> RepairPlan:
    """A repair under a probe of two draws and a counterfactual that was searched for."""
    benchmark = few_tasks(ledger)
    draw = Variant(name="b", transformation=ledger.variant("released"))
    sources: list[tuple[str, Source, bool]] = [("neutral", "battery", False), ("c1", "search", True)]
    against = tuple(
        AuditedCounterfactual(name=name, what="", source=source, confirmed=confirmed, draws=(draw, draw))
        for name, source, confirmed in sources
    )
    return RepairPlan(
        benchmark=benchmark, kit=ProtocolKit(benchmark), rollouts=ROLLOUTS, seed=0, audit="a", verdict="in doubt",
        baseline=H0, harness=make_harness(memory="x"), counterfactuals=against, shortcuts=("one",), honest=("other",),
        seen=frozenset(seen), epsilon="0.05", level=0.95,
    )  # fmt: skip


def test_on_tasks_that_the_audit_used_the_headline_is_under_what_was_fixed_before(ledger: SynLedger) -> None:
    fresh = repair_plan(ledger)
    assert fresh.headline == ["neutral", "c1"]
    assert repair_plan(ledger, fresh.measured_tasks).headline == ["neutral"]


def test_the_search_has_the_audits_words_on_edits_and_allows_for_the_base_rate(ledger: SynLedger) -> None:
    limits = repair_plan(ledger).limits(Fraction(1, 2))
    assert (limits.shortcuts, limits.honest) == (("one",), ("other",))
    assert limits.measure is unexplained_standing


def test_a_shortcut_edit_alone_is_something_to_repair(ledger: SynLedger) -> None:
    unconfirmed = replace(repair_plan(ledger), counterfactuals=())
    assert unconfirmed.accused
    assert not replace(unconfirmed, shortcuts=()).accused
