"""The arithmetic of the study of evolution, on made-up rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from studies import evolution
from studies.evolution import SETTINGS, cases_of
from studies.evolution_summary import CHASE, EQUAL, FIGURES, LABELS, PLAIN, REPAIR, goal_line, summary
from studies.evolution_worth import CUES, named_features, named_observables, random_protocol, shortcut_kept, worth
from studies.planted_harnesses import harness_of
from studies.running import mean_of, opened, with_reader, workspace

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.benchmarks.syn_ledger.features import FEATURES
from chase.core.observables import OBSERVABLES
from chase.engine.sandbox import Sandbox
from chase.harness.spec import Activation, Guidance
from chase.methods.arena import Contender
from chase.models.chat import ChatModel
from chase.protocol.kit import ProtocolKit
from chase.testing.ledger import H0

PAPER = ("filename", "depth", "rank", "position", "serialization")


def made_up(kept: Mapping[str, list[float]], g_0: Mapping[str, list[float]] | None = None) -> list[dict[str, Any]]:
    """Rows with these figures of each method, seed by seed; everything else is 0."""
    return [
        {
            **dict.fromkeys(FIGURES, 0.0),
            "method": method,
            "seed": seed,
            "shortcut_kept": value,
            "g_0": (g_0 or {}).get(method, [0.0] * len(values))[seed],
            "cue": value != 0,
            "initial": False,
            "entries": [],
            "confirmations": 0,
        }
        for method, values in kept.items()
        for seed, value in enumerate(values)
    ]


GOOD = {PLAIN: [0.08, 0.09, 0.1], EQUAL: [0.10, 0.09, 0.11], CHASE: [0.0, 0.01, 0.0], REPAIR: [0.0, 0.0, 0.02]}


def test_a_mean_has_its_standard_error_and_an_interval_by_students_t() -> None:
    found = mean_of([float(n) for n in range(1, 11)])
    assert (found["value"], found["se"]) == (5.5, pytest.approx(0.957427, abs=1e-6))
    assert (found["low"], found["high"]) == (pytest.approx(3.334, abs=3e-3), pytest.approx(7.666, abs=3e-3))


def test_differences_are_paired_by_seed_whatever_the_order_of_the_rows() -> None:
    found = summary(made_up(GOOD)[::-1])
    difference = found["differences"]["CHASE − CHASE without Challenger"]["shortcut_kept"]
    assert difference["value"] == pytest.approx((-0.08 - 0.08 - 0.10) / 3)
    assert difference["se"] == pytest.approx(0.0066667, abs=1e-6)  # of -0.08, -0.08, -0.10
    other = found["differences"]["CHASE with repair − CHASE without Challenger, at CHASE's rollouts"]
    assert other["shortcut_kept"]["value"] == pytest.approx((-0.10 - 0.09 - 0.09) / 3)
    assert list(found["methods"]) == list(LABELS)


def test_rows_over_different_seeds_are_not_compared() -> None:
    with pytest.raises(ValueError, match="same seeds"):
        summary(made_up({**GOOD, CHASE: [0.0, 0.0]}))


def test_the_goal_is_met_only_if_all_four_parts_hold() -> None:
    met = summary(made_up(GOOD))
    assert met["goal"]["met"]
    assert goal_line(met).startswith("Goal met: shortcut gain kept with repair 0.7 (at most 1: yes)")
    broken: dict[str, list[dict[str, Any]]] = {
        "repair_keeps_little": made_up({**GOOD, REPAIR: [0.02, 0.0, 0.02]}),
        "plain_keeps_much": made_up({**GOOD, EQUAL: [0.04, 0.05, 0.05]}),
        "difference_excludes_0": made_up({**GOOD, EQUAL: [0.0, 0.0, 0.3]}),
        "g_0_no_worse": made_up(GOOD, {REPAIR: [0.0, 0.01, 0.0], EQUAL: [0.2, 0.2, 0.21]}),
    }
    for part, rows in broken.items():
        found = summary(rows)
        assert not found["goal"]["met"]
        assert [name for name, holds in found["goal"].items() if not holds] == [part, "met"]
        assert goal_line(found).startswith("Goal NOT met")


def test_seeds_short_of_chases_rollouts_are_counted() -> None:
    rows = made_up(GOOD)
    for row in rows:
        row["rollouts"] = {CHASE: 100, EQUAL: (120, 90, 100)[row["seed"]]}.get(row["method"], 0)
    assert summary(rows)["short_of_rollouts"] == 1


def test_archived_counterfactuals_that_were_not_tried_elsewhere_are_in_no_share() -> None:
    rows = made_up(GOOD)
    tried = {"operators": 2, "elsewhere": -0.01, "leans": {"depth": 0.02}}
    next(row for row in rows if row["method"] == CHASE)["entries"] = [tried, {"operators": 1}]
    archive = summary(rows)["archives"][CHASE]
    assert (archive["entries"], archive["operators"]) == (2, [2, 1])
    assert (archive["false"]["value"], archive["false"]["n"]) == (1.0, 1)
    assert (archive["on_a_real_lean"]["value"], archive["on_a_real_lean"]["n"]) == (1.0, 1)


def test_shortcut_gain_kept_looks_at_named_features_alone() -> None:
    carried = {"filename": 0.03, "depth": -0.01, "rank": 0.2}
    assert shortcut_kept(carried, ["filename", "depth"]) == 0.03
    assert shortcut_kept(carried, ["depth"]) == -0.01
    assert shortcut_kept(carried, []) == 0.0


def test_named_features_are_the_planted_ones_that_an_edit_shows() -> None:
    assert named_features({"name-initial", "bar-count", "title-length"}, PAPER) == ["filename", "serialization"]
    assert set(CUES) == set(FEATURES)
    assert {name for names in CUES.values() for name in names} <= set(OBSERVABLES)


def test_observables_come_from_the_record_and_from_the_difference() -> None:
    structure = {"retrieval.rank": [{"observable": "path-depth", "prefer": "low", "weight": 3.0}]}
    harness = harness_of(prompt=["Prefer files with low name-length."], structure=structure)
    module = Guidance(name="more", when=Activation(), text="Read on in files with low extension-length.")
    named = Contender(name="H1", harness=replace(harness, guidance=(module,)))
    assert named_observables(named) == {"path-depth", "name-length", "extension-length"}
    recorded = replace(named, record={"edits": [{"observable": "bar-count"}, {"observable": None}, {}]})
    assert named_observables(recorded) == {"path-depth", "name-length", "extension-length", "bar-count"}
    assert named_observables(Contender(name="H0", harness=H0)) == set()


def test_worth_is_taken_from_mean_scores() -> None:
    final = Contender(name="H1", harness=harness_of(prompt=["Prefer files with low path-depth."]))
    neutralised = {f"neutralise-{feature}": 0.5 for feature in PAPER}
    drawn = {"random-1": 0.5, "random-2": 0.6, "random-3": 0.7}
    initial = {"released": 0.5, "neutral": 0.1, **neutralised, **dict.fromkeys(drawn, 0.5)}
    mine = {"released": 0.75, "neutral": 0.2, **neutralised, **drawn}
    mine |= {"neutralise-depth": 0.625, "neutralise-rank": 0.0, "neutralise-position": 0.75}
    found = worth(final, {final.harness.hash: mine, H0.hash: initial}, PAPER)
    assert (found["g_rel"], found["g_0"], found["delta_bs"]) == pytest.approx((0.25, 0.1, 0.15))
    assert found["g_random"] == pytest.approx(0.1)
    assert (found["named"], found["shortcut_kept"]) == (["depth"], 0.125)
    assert found["largest_destruction"] == 0.75
    assert not found["initial"]


def test_a_random_protocol_permutes_every_aspect_and_the_records(ledger: SynLedger) -> None:
    _, kit = opened(ledger.name)
    drawn = [random_protocol(kit, seed) for seed in (1, 2)]
    told = drawn[0].symbols()
    assert drawn[0].hash != drawn[1].hash
    for aspect in (
        "name",
        "digits",
        "folder",
        "depth",
        "format",
        "rank",
        "listing",
        "title",
        "casing",
        "preamble",
        "section",
    ):
        assert aspect in told
    assert "records" in told


def test_reported_seeds_are_not_those_of_development() -> None:
    reported, developed = (
        {case["benchmark"].split(":")[0].split("/")[0] for case in cases_of(list(SETTINGS), develop=develop)}
        for develop in (False, True)
    )
    assert reported == {f"syn-ledger@{seed}" for seed in range(601, 621)}
    assert developed == {f"syn-ledger@{seed}" for seed in range(101, 121)}


@pytest.mark.slow
def test_rounds_go_on_until_chases_rollouts_are_reached_and_reused_ones_count(ledger: SynLedger) -> None:
    small = ledger.fewer(dict.fromkeys(ledger.roles, 4))
    case = {"setting": "document handling only", "seed": 1, "benchmark": ledger.name}
    plan = replace(evolution._plan(case), benchmark=small, kit=ProtocolKit(small))

    async def work(model: ChatModel, sandbox: Sandbox) -> tuple[dict[str, int], dict[str, int], int]:
        with workspace() as store:
            done = {row: await evolution._evolved(row, plan, store, model, sandbox) for row in (CHASE, PLAIN, EQUAL)}
            used = {row: evolution._used(store, row) for row in done}
            newly = sum(not found.reused for found in store.used(evolution._run_id(PLAIN)))
        return used, {row: len(outcome.rounds) for row, outcome in done.items()}, newly

    used, rounds, newly = with_reader(work)
    assert rounds[CHASE] == rounds[PLAIN] == 3
    assert used[CHASE] <= used[EQUAL] < used[CHASE] + 3 * 4 * 2  # at most a round of three candidates more
    assert rounds[EQUAL] > 3
    assert used[PLAIN] > newly  # what CHASE had run counts as if it had run alone
