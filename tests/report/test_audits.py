"""What a report says of an audit: the verdict with its coverage, edits, findings by source, the tasks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from chase.methods.verdict import FAILING, Word
from chase.report.document import Document, Text
from chase.report.drawing import Dot, Drawing, Label
from chase.report.page import html
from chase.runs.rendering import share_with_ends
from tests.report.audited import BATTERY, attributed, audited, estimate, finding, part, reported, tables_of

LOW, HIGH = (finding(name, 0.0, source="battery") for name in ("neutral-low", "neutral-high"))
CUE = finding("c1", 0.08)
FLOOR = "the harness scores 1.0 % here, which leaves no room below it (a floor)"
HEADLINE = 'Of +10.0 points, +6.0 come with "Read on." and survive; +3.0 come with "Prefer." and rest on folder depths.'


def texts(made: Document) -> str:
    return " ".join(block.text for section in made.sections for block in section.blocks if isinstance(block, Text))


def labels(drawing: Drawing) -> list[str]:
    return [mark.text for mark in drawing.marks if isinstance(mark, Label)]


def drawing_of(made: Document, name: str) -> Drawing:
    return next(drawing for drawing in made.drawings if drawing.name == name)


@pytest.mark.parametrize("word", get_args(Word))
def test_what_fails_a_command_is_shown_as_a_warning_and_only_a_supported_gain_as_good(
    word: Word, tmp_path: Path
) -> None:
    made = reported(audited(word, [LOW]), tmp_path)
    assert made.label == word
    assert (made.tone == "good") == (word == "supported")
    assert (made.tone == "bad") == (word in (*FAILING, "no gain"))
    assert f'<div class="verdict {made.tone}"><span class="label">{word}</span>' in html(made)
    assert ("Do not rely on this gain" in made.verdict) == (word in FAILING)


def test_a_verdict_names_what_it_is_against_and_what_was_not_tested(tmp_path: Path) -> None:
    made = reported(audited("partly supported", [LOW, HIGH, CUE]), tmp_path)
    assert made.details == (
        "Tested against changes of folder depths, file formats and file names, all at once, and against c1 in words; "
        "not tested: restyle, titles.",
    )
    assert f'<p class="detail">{made.details[0]}</p>' in html(made)


def test_what_could_have_shown_nothing_is_not_among_what_a_verdict_is_against(tmp_path: Path) -> None:
    floored = [finding(name, 0.0, source="battery", no_room=FLOOR) for name in ("neutral-low", "neutral-high")]
    one = reported(audited("supported", [LOW, floored[1]]), tmp_path)
    assert "all at once in 1 of 2 ways" in one.details[0]
    none = reported(audited("untested", floored), tmp_path)
    assert none.details == ("Not tested: folder depths, file formats, file names, restyle, titles.",)
    without = reported(audited("inconclusive", [CUE], battery=None), tmp_path)
    assert without.details == ("Tested against c1 in words; the battery was left out.",)


def test_an_audit_that_stopped_says_why_and_claims_no_coverage(tmp_path: Path) -> None:
    stopped = "No gain could be told on these tasks. Take an easier benchmark."
    made = reported(audited("inconclusive", [], battery=None, stopped=stopped), tmp_path)
    assert made.details == (stopped,)
    assert "tested" not in {section.id for section in made.sections}


def test_the_gain_by_its_edits_stands_below_the_verdict(tmp_path: Path) -> None:
    made = reported(audited("partly supported", [LOW], headline=HEADLINE), tmp_path)
    assert made.details[0] == HEADLINE
    assert made.details[1].startswith("Tested against changes of")


def test_only_what_counts_is_called_the_worst_change(tmp_path: Path) -> None:
    scaled = finding("c1", 0.05, status="scales with the base rate", expected_share=0.4)
    made = reported(audited("supported", [LOW, scaled]), tmp_path)
    assert "worst change" not in made.verdict
    assert "c1: the base rate alone would leave 40 % of the gain." in tables_of(made)["findings-search"].notes
    counted = reported(audited("not supported", [LOW, CUE]), tmp_path)
    assert "+2.0 under the worst change" in counted.verdict


def test_every_edit_has_its_contribution_as_released_and_under_each_probe(tmp_path: Path) -> None:
    parts = (
        part('"Read on."', 0.06, (0.11, 0.09), "honest"),
        part('"Prefer."', 0.03, (0.0, -0.01), "shortcut", rests_on=["folder depths", "file formats"]),
        part('"Be brief."', 0.001),
        part('"Odd."', None, problem="it cannot be run"),
    )
    made = reported(audited("partly supported", [LOW, HIGH], attribution=attributed(*parts)), tmp_path)
    rows = {row[0]: row[1:] for row in tables_of(made)["attribution"].rows}
    assert rows['"Read on."'] == ["honest", "+6.0 (+4.0 to +8.0)", "+11.0 (+9.0 to +13.0)", "+9.0 (+7.0 to +11.0)"]
    assert rows['"Prefer."'][0] == "shortcut, rests on folder depths and file formats"
    assert rows['"Be brief."'] == ["open", "+0.1 (-1.9 to +2.1)", "not measured", "not measured"]
    assert rows['"Odd."'][1] == "not measured"
    assert 'As released it may contribute nothing, so no probe was run for it: "Be brief.".' in texts(made)
    assert 'Not measured in full: "Odd.": it cannot be run' in texts(made)


def test_the_figure_of_edits_has_a_dot_for_each_contribution_where_its_figure_is(tmp_path: Path) -> None:
    parts = (
        part('"Read on."', 0.06, (0.12, 0.09), "honest"),
        part('"Prefer."', 0.03, (0.0, 0.03), "shortcut", rests_on=["folder depths"]),
        part('"Odd."', None),
    )
    made = reported(audited("partly supported", [LOW, HIGH], attribution=attributed(*parts)), tmp_path)
    drawn = drawing_of(made, "edits")
    dots = [mark for mark in drawn.marks if isinstance(mark, Dot)]
    assert [dot.shape for dot in dots] == ["circle", "square", "square"] * 2
    zero, point = dots[4].x, (dots[1].x - dots[0].x) / 6
    assert [(dot.x - zero) / point for dot in dots] == pytest.approx([6, 12, 9, 3, 0, 3])
    said = labels(drawn)
    assert [said.count(name) for name in ("as released", "neutral-low", "neutral-high")] == [2, 2, 2]
    assert {"honest", "shortcut, rests on folder depths", "open", "not measured"} <= set(said)
    assert '"Prefer." (shortcut, rests on folder depths): as released +3.0 (+1.0 to +5.0)' in drawn.description
    bottom = max(mark.y for mark in drawn.marks if isinstance(mark, Label))
    assert bottom < drawn.height


def test_an_edit_under_a_probe_that_could_show_nothing_says_so(tmp_path: Path) -> None:
    silent = part('"Look."', 0.05, (0.0,))
    silent["under"]["neutral-low"]["no_room"] = FLOOR
    made = reported(audited("inconclusive", [LOW], attribution=attributed(silent, grouped_by="component")), tmp_path)
    assert f'Of "Look." nothing could be shown under neutral-low: {FLOOR}.' in texts(made)
    section = next(section for section in made.sections if section.id == "attribution")
    assert "those of a component are taken together" in section.lead


def test_findings_stand_by_source_with_their_share_and_what_that_is_of_half(tmp_path: Path) -> None:
    gone, half, kept = finding("c1", 0.09), finding("c2", 0.05), finding("c3", 0.01, searched=estimate(0.07))
    given = finding("g1", 0.0, source="given")
    made = reported(audited("not supported", [gone, given, half, kept, LOW]), tmp_path)
    tables = {name: table for name, table in tables_of(made).items() if name.startswith("findings")}
    assert {name: [row[0] for row in table.rows] for name, table in tables.items()} == {
        "findings-battery": ["neutral-low"],
        "findings-search": ["c1", "c2", "c3"],
        "findings-given": ["g1"],
    }
    rows = {row[0]: row[2:] for row in tables["findings-search"].rows}
    assert rows["c1"] == ["confirmed", "+9.0 (+7.0 to +11.0)", "90 % (70 to 110 %)", "surely gone"]
    assert rows["c2"][-1] == "open"
    assert rows["c3"][-1] == "surely left"
    assert tables["findings-search"].notes == ["c3: +7.0 in search, where it was selected."]
    assert tables["findings-battery"].notes == ["neutral-low: 2 draws, measured together."]
    assert [row[0] for row in tables_of(made)["results"].rows] == ["released", "neutral-low", "c1", "c2", "c3", "g1"]


def test_an_end_of_a_share_that_was_not_looked_for_is_not_shown_as_one() -> None:
    def share(low: float, value: float, high: float) -> dict[str, Any]:
        return {**estimate(value), "low": low, "high": high}

    assert share_with_ends(share(0.2, 0.4, 0.6)) == "40 % (20 to 60 %)"
    assert share_with_ends(share(2.7, 3.8, 3.8)) == "380 % (at least 270 %)"
    assert share_with_ends(share(-1.1, -1.1, -0.4)) == "-110 % (at most -40 %)"
    assert share_with_ends(share(0.7, 1.3, 2.999)) == "130 % (at least 70 %)"
    assert share_with_ends(share(-1.0, 0.5, 3.0)) == "50 % (nothing is sure)"
    assert share_with_ends(None) == "–"


def test_what_could_show_nothing_is_apart_in_words_and_in_no_figure(tmp_path: Path) -> None:
    silent = finding("neutral-high", 0.1, source="battery", no_room=FLOOR)
    made = reported(audited("supported", [LOW, silent]), tmp_path)
    tables = tables_of(made)
    assert [row[0] for row in tables["findings-battery"].rows] == ["neutral-low"]
    assert [row[0] for row in tables["results"].rows] == ["released", "neutral-low"]
    assert "neutral-high" not in drawing_of(made, "gains").description
    (row,) = tables["not-informative"].rows
    assert row[1] == "neutral-high"
    assert row[-1] == FLOOR


def test_the_batterys_aspects_are_told_with_what_it_leaves_as_it_is(tmp_path: Path) -> None:
    table = tables_of(reported(audited("supported", [LOW]), tmp_path))["coverage"]
    assert table.rows == [
        ["made alike in all documents", "folder depths, file formats"],
        ["drawn anew", "file names"],
        ["not tested", "restyle"],
        ["left out: the firewall refuses it", "titles (answers)"],
    ]
    assert len(table.data) == sum(map(len, BATTERY.values()))


def evidence(tmp_path: Path, **other: Any) -> dict[str, str]:
    made = reported(audited("supported", [LOW], **other), tmp_path)
    return {row[0]: row[1] for row in tables_of(made)["evidence"].rows}


def test_what_the_tasks_could_show_is_told(tmp_path: Path) -> None:
    said = evidence(tmp_path)
    assert said["Confirmation tasks"] == "400; fresh"
    assert said["Clusters"] == "none known: each task counts by itself"
    assert said["Smallest gain"] == "5.0 points"
    assert said["Smallest gain destruction"] == "8.0 points"
    assert said["Shown so small"] == "in 80 % of audits, with a baseline that solves 50 %"
    assert "Searched on" not in said


def test_few_tasks_clusters_and_their_earlier_uses_are_told(tmp_path: Path) -> None:
    nothing = {"gain": None, "destruction": None, "tasks": 48, "clusters": 12, "power": 0.8, "base_rate": 0.5}
    said = evidence(
        tmp_path, confirm_tasks=100, clusters=12, search_tasks=64, detectable={**nothing, "in_words": "48 tasks"},
        exposure={"text": "seen once by audit-2 of this harness", "tasks": 100, "seen": 100, "by": []}, level=0.9,
    )  # fmt: skip
    assert said["Confirmation tasks"] == "100 of 400, enough to settle it; seen once by audit-2 of this harness"
    assert said["Clusters"] == "12 clusters of tasks"
    assert said["Smallest gain"] == said["Smallest gain destruction"] == "none, however large"
    assert said["Searched on"] == "64 other tasks"
    assert said["Statements hold together at"] == "90 %"


def test_intervals_are_called_by_the_level_of_the_audit(tmp_path: Path) -> None:
    made = reported(audited("supported", [LOW], level=0.9), tmp_path)
    page = html(made)
    assert "with 90 % intervals" in page
    assert "Bounds hold together at 90 %." in page
    assert not re.search(r"95\s?%", page)


def test_what_settles_an_open_verdict_is_told(tmp_path: Path) -> None:
    made = reported(audited("inconclusive", [LOW], tasks_needed=900), tmp_path)
    assert "About 900 confirmation tasks would settle it; there were 400." in texts(made)
