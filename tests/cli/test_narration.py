"""A run in words: what is said of an event depends on its type alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from chase.cli.watching import Watch
from chase.core.events import (
    AgentWaiting,
    EpochSelected,
    EpochStarted,
    Event,
    FailuresGrouped,
    PoolEntry,
    Repaired,
    RepairMeasurementStarted,
    RepairStarted,
    RoundStarted,
    Selected,
    ShortcutShown,
)


@dataclass(frozen=True, kw_only=True)
class BatchDrawn(Event):
    """An event of some other method."""

    tasks: int


def said(event: Event, capsys: pytest.CaptureFixture[str]) -> list[str]:
    Watch().told(event)
    return capsys.readouterr().err.splitlines()


def test_a_round_is_told_with_its_number_of_rounds_where_that_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    for rounds, of in ((3, " of 3"), (None, "")):
        event = RoundStarted(round=2, rounds=rounds, current="H0", archive=("released", "b1"))
        assert said(event, capsys) == [f"round 2{of}: from H0, archive: released, b1"]


def test_a_violation_is_told_by_how_much_where_that_is_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    pool = (
        PoolEntry(harness="H0", hash="a" * 64, released=0.5, gain=0.0, destruction={}, violates={}),
        PoolEntry(
            harness="r1-1",
            hash="b" * 64,
            released=1.0,
            gain=0.5,
            destruction={"b1": 0.1},
            violates={"b1": 0.05, "leak": None},
        ),
    )
    lines = said(Selected(round=1, pool=pool, selected="H0", refused=("r1-2: why",)), capsys)
    assert lines == [
        "  * H0     50.0 %",
        "    r1-1  100.0 %  gain destruction b1 +10.0  violates b1 by 5.0, leak",
        "    refused r1-2: why",
    ]


def test_epochs_and_batches_are_told_with_sizes_references_and_causes(capsys: pytest.CaptureFixture[str]) -> None:
    started = EpochStarted(epoch=2, epochs=3, batches=(27, 27, 26), current="r1-1")
    assert said(started, capsys) == ["epoch 2 of 3: from r1-1, batches of 27/27/26 tasks"]
    references = {"admitted": 26, "fallback": 1, "attempts_refused": 2}
    groups = [{"cause": "not read on", "failures": 9}, {"cause": "wrong answer", "failures": 2}]
    grouped = FailuresGrouped(round=4, tasks=27, references=references, groups=groups)
    assert said(grouped, capsys) == ["  references: 26 of 27 verified", "  failures: not read on 9, wrong answer 2"]
    assert said(replace(grouped, groups=()), capsys)[1] == "  no failure on 27 tasks"
    pool = (PoolEntry(harness="H0", hash="a" * 64, released=0.5, gain=0.0, destruction={}, violates={}),)
    ended = EpochSelected(epoch=2, pool=pool, selected="H0")
    assert said(ended, capsys) == ["selection after epoch 2, on held-out tasks", "  * H0   50.0 %"]


def test_a_repair_is_told_with_what_was_taken_out_and_that_it_is_not_in_the_paper(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (line,) = said(RepairStarted(round=2, of="r1-guidance", breaks=("b1", "b2")), capsys)
    assert line == (
        "  repair (beyond the paper): r1-guidance scores more than what can be selected and breaks b1, b2; "
        "trying it without parts of it"
    )
    ended = Repaired(
        round=2, of="r1-guidance", repaired="r2-repair", dropped=("guidance cue",), generalised=("guidance where",),
        tried=3, cells=5,
    )  # fmt: skip
    assert said(ended, capsys) == [
        "  repaired as r2-repair (3 forms tried, 5 new cells)",
        "    without: guidance cue",
        "    without its condition: guidance where",
    ]
    in_vain = replace(ended, repaired=None, dropped=(), generalised=())
    assert said(in_vain, capsys) == [
        "  no form of r1-guidance keeps all constraints and scores more (3 forms tried, 5 new cells)"
    ]


def test_an_agent_that_takes_long_is_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(AgentWaiting(purpose="propose", what="it thinks", seconds=20), capsys) == [
        "  Proposer: it thinks, 20 s"
    ]


def test_an_event_that_nobody_knows_is_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(BatchDrawn(tasks=3), capsys) == []


def test_a_repair_of_an_audited_harness_is_told_step_by_step(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(ShortcutShown(breaks={"c1": 0.258, "c2": 0.1}, parts=3), capsys) == [
        "search: gain destruction c1 +25.8, c2 +10.0; trying the harness without some of its 3 edits"
    ]
    for harnesses, what in ((2, "harness and repaired harness"), (1, "the harness")):
        assert said(RepairMeasurementStarted(harnesses=harnesses, tasks=48), capsys) == [
            f"measuring {what} on 48 tasks that the search did not use"
        ]
