"""The page on benchmarks of one's own says of its two harnesses what was measured, and a run makes it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from studies.documents_example import LINES, audited

ROOT = Path(__file__).parents[1]
RESULT = json.loads((ROOT / "studies" / "results" / "documents_example.json").read_text())
PAGE = (ROOT / "docs" / "bring-your-own-benchmark.md").read_text(encoding="utf-8")


def test_the_page_has_both_audits_as_they_were_measured() -> None:
    assert [row["harness"] for row in RESULT["audits"]] == list(LINES)
    for row in RESULT["audits"]:
        gain = row["g_rel"]
        shown = f"{100 * gain['value']:+.1f} ({100 * gain['low']:+.1f} to {100 * gain['high']:+.1f})"
        (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| `{row['line']}` |"))
        figures = f"| {shown} | {100 * row['gamma']:+.1f} | {100 * row['g_min']:+.1f} |"
        assert figures in line
        assert line.endswith(f"| {row['verdict']} |")
        confirmed = ", ".join(one["what"] for one in row["confirmed"]) or "none"
        (edit,) = row["edits"]
        called = ", rests on ".join([edit["label"], *edit["rests_on"]])
        assert f"| {confirmed} | {called} |" in line


def test_the_page_says_how_many_tasks_and_clusters_were_fresh() -> None:
    for row in RESULT["audits"]:
        assert f"on {row['tasks']} fresh tasks in {row['clusters']} clusters" in PAGE


def test_a_shortcut_and_an_honest_edit_are_told_apart() -> None:
    """The example is made for that: other sizes or contents must not leave either audit open."""
    cheat, honest = RESULT["audits"]
    assert (cheat["verdict"], cheat["edits"][0]["rests_on"]) == ("not supported", ["folders"])
    assert (honest["verdict"], honest["edits"][0]["label"]) == ("supported", "honest")


def test_the_commands_of_the_page_use_the_lines_that_were_audited() -> None:
    assert f"echo '{LINES['folder']}' >> H1/prompt.md" in PAGE
    assert f"echo '{LINES['conditions']}' >> H2/prompt.md" in PAGE


@pytest.mark.slow
def test_the_committed_audit_is_what_the_code_makes() -> None:
    (row,) = audited({"harness": "folder"})
    assert json.loads(json.dumps(row)) == RESULT["audits"][0]
