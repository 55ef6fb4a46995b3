"""Placebos: what has nothing to do with evidence makes no difference to the simulated reader."""

from __future__ import annotations

import math
from statistics import fmean

import pytest
from tests.conftest import open_once
from tests.models.reader.reading import Deed, read

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.engine.trace import result_text

EXACT = ("line-endings", "trailing-whitespace", "metadata-order", "section-labels")
SEEDS = (3, 7, 11, 13, 17)
INDICES = (0, 1)


@pytest.fixture(scope="module")
def released(ledger: SynLedger) -> list[Deed]:
    return read(ledger, ledger.tasks("evo"), indices=INDICES)


@pytest.mark.parametrize("placebo", EXACT)
def test_a_placebo_changes_no_score_no_answer_and_no_call(
    ledger: SynLedger, released: list[Deed], placebo: str
) -> None:
    under = read(ledger, ledger.tasks("evo"), variant=f"placebo-{placebo}", indices=INDICES)
    for before, after in zip(released, under, strict=True):
        assert (after.task, after.score, after.answer) == (before.task, before.score, before.answer)
        assert after.calls == before.calls


@pytest.mark.parametrize("placebo", EXACT)
def test_a_placebo_really_changes_what_is_read(ledger: SynLedger, released: list[Deed], placebo: str) -> None:
    under = read(ledger, ledger.tasks("evo")[:12], variant=f"placebo-{placebo}", indices=INDICES)
    pairs = [(before, after) for before, after in zip(released, under, strict=False) if after.opened]
    assert len(pairs) > 6  # some questions are answered from what a search shows
    for before, after in pairs:
        assert results(after) != results(before)


def results(deed: Deed) -> list[str]:
    return [result_text(event) for event in deed.rollout.trace["events"] if event["event"] == "tool"]


def test_calls_can_differ_so_that_the_comparison_means_something(ledger: SynLedger, released: list[Deed]) -> None:
    neutral = read(ledger, ledger.tasks("evo"), variant="neutral", indices=INDICES)
    assert sum(a.calls != b.calls for a, b in zip(released, neutral, strict=True)) > len(released) / 2


@pytest.mark.slow
def test_the_order_of_distractors_makes_no_difference_beyond_chance() -> None:
    """Pooled over five benchmarks fixed beforehand. Tasks are independent, so the paired z is about normal."""
    differences = []
    changed = 0
    for seed in SEEDS:
        ledger = open_once(f"syn-ledger@{seed}")
        tasks = [task for role in ledger.roles if role != "cert" for task in ledger.tasks(role)]
        before = read(ledger, tasks, indices=INDICES)
        after = read(ledger, tasks, variant="placebo-distractor-order", indices=INDICES)
        changed += sum(a.calls != b.calls for a, b in zip(before, after, strict=True))
        pairs = list(zip(before, after, strict=True))
        per_task = [pairs[place : place + len(INDICES)] for place in range(0, len(pairs), len(INDICES))]
        differences += [fmean(b.score - a.score for a, b in group) for group in per_task]
    assert changed > 0
    spread = math.sqrt(sum(difference**2 for difference in differences))
    z = sum(differences) / spread if spread else 0.0
    assert abs(z) < 3, (z, len(differences))
