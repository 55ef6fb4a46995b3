"""docs/results.md and docs/faults.md say what the committed results say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from docs import make_fixed_filter
from studies import local_again, local_report, local_shown
from studies.local_harnesses import studied
from studies.local_model import (
    BASELINES,
    VARIANTS,
    finished,
    scores_of,
    summary_of_features,
    summary_of_harnesses,
    summary_of_initial,
)
from studies.reader_scores import RESULTS
from studies.report import FAULTS, TABLES, cuts, intervals

from chase.benchmarks.registry import open_benchmark

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "results.md").read_text()


@pytest.mark.parametrize("name", [name for name in TABLES if (RESULTS / f"{name}.json").exists()])
def test_every_line_of_a_study_stands_on_the_page(name: str) -> None:
    lines = list(TABLES[name]())
    assert len(lines) > 3
    assert [line for line in lines if line not in PAGE.splitlines()] == []


def test_the_tables_on_a_local_models_page_are_those_of_its_results_no_row_less_and_none_more() -> None:
    shown = json.loads((RESULTS / f"{local_shown.NAME}.json").read_text())
    lines = [*local_report.tables(), *local_shown.table(shown)]
    page, _, rest = (DOCS / "local-model-study.md").read_text().partition("\n## Run it with a model of yours\n")
    assert Counter(line for line in page.splitlines() if line.startswith("|")) == Counter(filter(None, lines))
    assert "| Item | What | Rollouts |" in rest  # the one table that tells no figures
    for audit in local_again.AUDITS:
        ((word, _),) = local_again.words(audit)
        assert f"is *{word}*" in page or f"the second *{word}*" in page


def test_a_local_models_figures_come_from_its_rollouts() -> None:
    found = json.loads((RESULTS / "local_model.json").read_text())
    rows = list(finished(RESULTS / "local_model.rows.jsonl").values())
    initial = [row for row in rows if row["harness"] == "initial"]
    assert summary_of_initial([row for row in initial if row["variant"] in VARIANTS]) == found["item 1"]
    assert summary_of_features(initial) == found["item 1, feature by feature"]
    whole = scores_of(rows)["initial", "released"]
    for name, row in found["item 2"].items():
        scores = {r["task"]: r["score"] for r in rows if r["harness"] == name and r["variant"] == "released"}
        assert row["r_neutral"]["n"] == len(whole)
        assert row["r_released"]["value"] == pytest.approx(sum(scores[task] for task in whole) / len(whole))
    harnesses = studied(open_benchmark("syn-ledger-small@201"))
    for item, baseline in BASELINES.items():
        assert summary_of_harnesses(rows, baseline, harnesses) == found[f"item {item}"]


def test_a_local_models_audit_is_told_with_what_was_confirmed_and_an_evolution_with_what_it_changed() -> None:
    def about(value: float) -> dict[str, float]:
        return {"value": value, "low": value - 0.1, "high": value + 0.1, "n": 9}

    audit = {
        "kind": "cheat", "verdict": "not supported", "tasks_needed": None, "g_rel": about(0.3),
        "scores": {"baseline": about(0.1), "harness": about(0.4)},
        "confirmed": [{"what": "names", "destruction": about(0.2)}],
        "not_confirmed": [{"what": "folders", "destruction": about(0.25)}],
    }  # fmt: skip
    [*_, row, _] = local_report.RUNS["item 3: audits"]({"cheat-of-two": audit})
    assert "| 10 % → 40 % | +30 (+20 to +40) | +20 (+10 to +30): names | not supported | 9 |  |" in row
    evolution = {
        "sizes": "evo=16,disc=8", "rounds": 2, "changes": ["tools.open_first = 4"], "archive": 1, "rollouts": 7,
        "candidates": {"H0": 0.5, "r1-structural": 0.25}, "archived": [{"what": "names"}],
        "gains": {"released": about(0.3), "neutral": about(0.1)},
    }  # fmt: skip
    [*_, row, _] = local_report.RUNS["item 4: evolutions"]({"chase 1": evolution})
    assert row.startswith("| chase 1 | 2 | 16 | +25 | tools.open_first = 4 | names | +30 (+20 to +40) | +10 ")


def test_refused_candidates_of_a_local_model_are_counted_by_what_is_wrong_with_them() -> None:
    reasons = {
        "r1-guidance: a guidance candidate changes the other track": "track",
        "r1-guidance: the same as a harness of the pool": "new",
        "r1-structural: r1-structural/harness.toml is not valid TOML: Invalid statement (at line 1, column 1).": "read",
        "r1-structural: r1-structural/x.toml does not belong in a harness: unknown file 'x.toml'.": "read",
        "r1-guidance: its check failed": "other",
    }
    assert {reason: local_report.why_refused(reason) for reason in reasons} == reasons


def test_the_picture_of_what_a_filter_catches_is_drawn_from_the_result() -> None:
    drawn = make_fixed_filter.draw(json.loads(make_fixed_filter.RESULT.read_text()))
    assert drawn == make_fixed_filter.PICTURE.read_text(), "run `python docs/make_fixed_filter.py` and commit it"
    assert "simulated reader" in drawn
    assert drawn.count("<rect") == 1 + 3 + 15


def test_the_table_of_intervals_stands_on_its_page_and_no_bounded_one_misses_more_than_it_says() -> None:
    lines = list(intervals())
    assert len(lines) > 16
    assert [line for line in lines if line not in (DOCS / "audit.md").read_text().splitlines()] == []
    found = json.loads((RESULTS / "intervals.json").read_text())
    assert found["draws"] >= 2000
    for case in found["cases"].values():
        for size in case["sizes"].values():
            for side in ("misses_below", "misses_above"):
                assert size["bounded"][side] <= 0.025 + 2.33 * (0.025 * 0.975 / found["draws"]) ** 0.5


def test_the_table_of_cuts_stands_on_its_page_and_ours_is_the_narrowest_on_scores_it_was_not_chosen_on() -> None:
    lines = list(cuts())
    assert len(lines) == 2 + 12
    assert [line for line in lines if line not in (DOCS / "statistics.md").read_text().splitlines()] == []
    for row in json.loads((RESULTS / "false_confirmations.json").read_text())["certificates"]:
        assert row["0.9"] < row["0.75"] < row["0.5"] < row["hoeffding"]


def test_every_line_of_the_study_of_faults_stands_on_its_page_and_nothing_was_lost() -> None:
    lines = [line for table in FAULTS.values() for line in table()]
    assert len(lines) > 16
    assert [line for line in lines if line not in (DOCS / "faults.md").read_text().splitlines()] == []
    rows = json.loads((RESULTS / "faults.json").read_text())["rows"]
    assert all(row["same"] == row["rollouts"] and not row["lost"] and not row["doubled"] for row in rows)
    for run in json.loads((RESULTS / "faults.json").read_text())["run"]["rows"]:
        assert run["scores"] == run["rollouts"]
        assert all(run[key] for key in ("final", "archive", "selections", "certified", "same_ledger"))
