"""`chase analyze`: scores of another runner get an audit's verdict, or a sentence that says what is wrong with them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import chase as library
from chase.core.errors import UserError
from chase.methods.audit_findings import Counterfactual, Pair, judge_pair
from tests.cli.commands import Commands, checked

Rates = Mapping[tuple[str, str], float]
SHORTCUT: Rates = {
    ("old", "released"): 0.4, ("new", "released"): 0.9, ("old", "names"): 0.4, ("new", "names"): 0.4,
}  # fmt: skip
HEADER = "task,harness,variant,rollout,score"


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(monkeypatch, capsys)


def drawn(rates: Rates, tasks: int = 60, rollouts: int = 3, seed: int = 1) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    return [
        {"task": f"t{task}", "harness": harness, "variant": variant, "rollout": k, "score": int(draw.random() < rate)}
        for task in range(tasks)
        for (harness, variant), rate in rates.items()
        for k in range(rollouts)
    ]


def released_alone(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["variant"] == "released"]


def as_csv(rows: list[dict[str, Any]], path: Path) -> Path:
    lines = [",".join(str(value) for value in row.values()) for row in rows]
    path.write_text("\n".join([HEADER, *lines, ""]))
    return path


def as_jsonl(rows: list[dict[str, Any]], path: Path) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(("write", "name"), [(as_csv, "s.csv"), (as_jsonl, "s.jsonl")])
def test_scores_get_the_audits_own_verdict(
    chase: Commands, tmp_path: Path, write: Callable[[list[dict[str, Any]], Path], Path], name: str
) -> None:
    rows = drawn(SHORTCUT)
    file = write(rows, tmp_path / name)
    finished = chase("analyze", "--scores", file, "--baseline", "old")
    assert finished.code == 5
    assert finished.out.startswith("Verdict: the gain is NOT SUPPORTED.\n")
    assert "confirmed: names" in finished.out
    assert re.search(
        r"\n  gain destruction \+\d+\.\d points \(.*\), \d+ % \(\d+ to \d+ %\) of the gain\n", finished.out
    )
    payload = checked(chase("analyze", "--scores", file, "--baseline", "old", "--json").out)
    means = {
        cell: {
            f"t{task}": Fraction(sum(r["score"] for r in rows if _is(r, f"t{task}", *cell)), 3) for task in range(60)
        }
        for cell in SHORTCUT
    }
    names = Counterfactual(name="names", what="names", source="given", draws=("names",))
    pair = Pair(means=means, harness="new", baseline="old")
    judged = judge_pair(pair, [names], seed=0, level=0.95, battery_required=False)
    assert {key: payload[key] for key in judged.to_json()} == judged.to_json()
    assert (payload["tasks"], payload["rollouts"], payload["variants"]) == (60, 3, ["names"])


def _is(row: Mapping[str, Any], task: str, harness: str, variant: str) -> bool:
    return (row["task"], row["harness"], row["variant"]) == (task, harness, variant)


def test_a_gain_that_survives_is_supported_against_what_was_given_and_no_more(chase: Commands, tmp_path: Path) -> None:
    survives = {
        (harness, variant): rate
        for variant in ("released", "names", "order")
        for harness, rate in (("old", 0.4), ("new", 0.9))
    }
    file = as_csv(drawn(survives), tmp_path / "s.csv")
    finished = chase("analyze", "--scores", file, "--baseline", "old")
    assert finished.code == 0
    assert finished.out.startswith("Verdict: the gain is SUPPORTED against names, order.\n")
    assert "surviving gain" not in finished.out
    assert chase.json("analyze", "--scores", file, "--baseline", "old")["against"] == ["names", "order"]


def test_what_could_not_have_shown_anything_leaves_the_gain_untested(chase: Commands, tmp_path: Path) -> None:
    """Under `names` the baseline solves everything: nothing could score more."""
    file = as_csv(drawn({**SHORTCUT, ("old", "names"): 1.0, ("new", "names"): 1.0}), tmp_path / "s.csv")
    finished = chase("analyze", "--scores", file, "--baseline", "old")
    assert finished.code == 5
    assert finished.out.startswith("Verdict: UNTESTED: nothing could be shown.\n  no counterfactual could have shown")
    assert "not informative: names" in finished.out
    assert "surviving gain" not in finished.out
    assert finished.sentence.startswith("chase: the gain of new is untested: ")
    payload = checked(chase("analyze", "--scores", file, "--baseline", "old", "--fail-on", "none", "--json").out)
    assert (payload["against"], payload["gamma"]) == ([], 0)


def test_tasks_of_a_cluster_count_as_one_for_the_intervals(chase: Commands, tmp_path: Path) -> None:
    rows = drawn(SHORTCUT)
    clustered = [{**row, "cluster": f"c{int(row['task'][1:]) // 6}"} for row in rows]
    (tmp_path / "clustered.csv").write_text(
        "\n".join([f"{HEADER},cluster", *(",".join(map(str, row.values())) for row in clustered), ""])
    )
    alone = chase("analyze", "--scores", as_csv(rows, tmp_path / "s.csv"), "--baseline", "old", "--json")
    together = chase("analyze", "--scores", tmp_path / "clustered.csv", "--baseline", "old", "--json")
    one, other = checked(alone.out), checked(together.out)
    assert (one["clusters"], other["clusters"]) == (60, 10)
    assert one["g_rel"]["value"] == other["g_rel"]["value"]
    assert other["g_rel"]["low"] < one["g_rel"]["low"]


def test_released_scores_alone_are_a_paired_comparison_and_no_verdict(chase: Commands, tmp_path: Path) -> None:
    file = as_csv(released_alone(drawn(SHORTCUT)), tmp_path / "s.csv")
    finished = chase("analyze", "--scores", file, "--baseline", "old")
    assert finished.code == 0
    assert finished.out.startswith("new against old, paired by task: it scores higher.")
    assert "upported" not in finished.out
    assert "SUPPORTED" not in finished.out
    payload = chase.json("analyze", "--scores", file, "--baseline", "old")
    assert (payload["verdict"], payload["gamma"], payload["g_min"]) == (None, None, None)
    assert 0 < payload["g_rel"]["low"] < payload["g_rel"]["value"] < payload["g_rel"]["high"]


def test_what_is_not_told_apart_says_how_many_tasks_would_and_can_fail_a_job(chase: Commands, tmp_path: Path) -> None:
    same = {("old", "released"): 0.5, ("new", "released"): 0.6}
    file = as_csv(drawn(same, tasks=10, rollouts=1, seed=2), tmp_path / "s.csv")
    finished = chase("analyze", "--scores", file, "--baseline", "old", "--fail-on", "inconclusive")
    assert finished.code == 5
    assert "the two are not told apart" in finished.out
    assert re.search(r"about \d+ such tasks would settle it; there were 10", finished.out)


def test_a_harness_and_the_released_variant_can_be_named(chase: Commands, tmp_path: Path) -> None:
    named = {("old", "v1"): 0.5, ("new", "v1"): 0.8, ("third", "v1"): 0.5}
    file = as_csv(drawn(named), tmp_path / "s.csv")
    finished = chase("analyze", "--scores", file, "--baseline", "old", "--released", "v1")
    assert (finished.code, finished.sentence) == (2, "chase: beside old there are new, third: name one with --harness.")
    payload = chase.json("analyze", "--scores", file, "--baseline", "old", "--released", "v1", "--harness", "new")
    assert payload["harness"] == "new"
    assert payload["g_rel"]["low"] > 0


def test_decimals_are_taken_as_they_are_written() -> None:
    rows = [
        {"task": task, "harness": harness, "variant": "released", "rollout": 0, "score": score}
        for task in "ab"
        for harness, score in (("old", "0.1"), ("new", 0.3))
    ]
    assert library.analyze(scores=rows, baseline="old").gain.value == 0.2  # in floating point 0.19999999999999998


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty: it must have rows with task, harness, variant, rollout, score."),
        (f"{HEADER}\n", "is empty: it must have rows with"),
        (f"{HEADER}\nt1,old,released,0,1.5\n", "line 2: score=1.5 must be a number from 0 to 1"),
        (f"{HEADER}\nt1,old,released,0,-0.1\n", "line 2: score=-0.1 must be a number from 0 to 1"),
        (f"{HEADER}\nt1,old,released,0,nan\n", "line 2: score=nan must be a number from 0 to 1"),
        (f"{HEADER}\nt1,old,released,0,yes\n", "line 2: score=yes must be a number from 0 to 1"),
        ('{"task": 1, "harness": "old", "variant": "released", "rollout": 0, "score": true}\n', "score=True must be"),
        (
            f"{HEADER},seed\nt1,old,released,0,1,4\n",
            "line 2 'seed'. Valid: task, harness, variant, rollout, score, cluster.",
        ),
        ("task,harness,variant,score\nt1,old,released,1\n", "line 2 has no rollout: the columns are task, harness"),
        (f"{HEADER}\nt1,old,released,0\n", "line 2 has 4 values, and there are 5 columns."),
        (f"{HEADER},task\nt1,old,released,0,1,t1\n", "column 'task' is there twice: leave one out."),
        (f"{HEADER}\n,old,released,0,1\n", "line 2: task= must be a name or a number."),
        (
            f"{HEADER}\nt1,old,released,0,1\nt1,old,released,0,0\n",
            "rollout 0 is there twice, first in",
        ),
        ("[1, 2]\n", "line 1 must be one JSON object with task"),
        ('{"task": \n', "line 1 is not valid JSON"),
        (f"{HEADER}\nt1,old,released,0,1\n", "there is no harness but old: a comparison needs two."),
        (f"{HEADER}\nt1,old,b1,0,1\nt1,new,b1,0,1\n", "unknown released variant 'released'. Valid: b1."),
        (f"{HEADER}\nt1,old,released,0,1\nt1,new,released,0,1\n", "there is one task (t1): an interval needs at least"),
        ('"unfinished', "is not valid CSV"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence(chase: Commands, tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "s.txt"
    file.write_text(text)
    finished = chase("analyze", "--scores", file, "--baseline", "old")
    assert finished.code == 2
    assert sentence in finished.sentence


def test_what_is_missing_is_listed_and_nothing_is_judged(chase: Commands, tmp_path: Path) -> None:
    rows = [r for r in drawn(SHORTCUT, tasks=3, rollouts=2) if not _is(r, "t1", "new", "names")]
    rows = [row for row in rows if not (_is(row, "t2", "old", "released") and row["rollout"] == 1)]
    rows += drawn({("new", "order"): 0.5}, tasks=3, rollouts=2)
    finished = chase("analyze", "--scores", as_csv(rows, tmp_path / "s.csv"), "--baseline", "old")
    assert (finished.code, finished.out) == (2, "")
    for missing in (
        "old under released, task t2 (1 of 2)", "new under names, task t1 (0 of 2)", "old under order (all 3 tasks)",
    ):  # fmt: skip
        assert missing in finished.sentence


def test_a_long_list_of_what_is_missing_is_cut_with_its_number(tmp_path: Path) -> None:
    rows = [r for r in drawn(SHORTCUT, tasks=14, rollouts=1) if r["harness"] == "old" or r["task"] in ("t0", "t1")]
    with pytest.raises(UserError, match=r"; and 14 more\. Run what is missing"):
        library.analyze(scores=as_csv(rows, tmp_path / "s.csv"), baseline="old")


def test_a_baseline_must_be_named_and_be_there(tmp_path: Path) -> None:
    file = as_csv(drawn(SHORTCUT, tasks=2, rollouts=1), tmp_path / "s.csv")
    with pytest.raises(UserError, match=r"baseline is missing: give --baseline NAME, one of old, new\."):
        library.analyze(scores=file)
    with pytest.raises(UserError, match=r"unknown baseline 'odl'\. Did you mean 'old'"):
        library.analyze(scores=file, baseline="odl")
    with pytest.raises(UserError, match=r"scores is missing: give --scores\."):
        library.analyze(baseline="old")
    with pytest.raises(UserError, match="must be a path, or a list of rows"):
        library.analyze(scores=5, baseline="old")  # type: ignore[arg-type]
