"""The table of what each edit contributes, and the sentence below it."""

from __future__ import annotations

from typing import Any

import pytest

from chase.cli.attribution import print_attribution


def estimate(value: float) -> dict[str, Any]:
    return {"value": value, "se": 0.01, "n": 24, "low": value - 0.02, "high": value + 0.02, "level": 0.95}


def part(name: str, label: str, released: float | None, left: float | None = None, **more: Any) -> dict[str, Any]:
    under = {} if left is None else {"neutral-low": {"gain": estimate(left)}}
    contribution = None if released is None else estimate(released)
    about = {"name": name, "label": label, "problem": None, "rests_on": []}
    return {**about, "contribution": contribution, "under": under, **more}


def printed(capsys: pytest.CaptureFixture[str], *parts: dict[str, Any], **more: Any) -> str:
    print_attribution({"parts": parts, "probes": ["neutral-low"], "level": 0.95, "grouped_by": None, **more})
    return capsys.readouterr().out


def row_of(out: str, name: str) -> list[str]:
    (row,) = [line for line in out.splitlines() if f"│ {name} " in line]
    return [cell.strip() for cell in row.strip("│").split("│")]


def test_the_table_ends_with_what_to_take_out_and_what_to_keep(capsys: pytest.CaptureFixture[str]) -> None:
    shortcut = part("a [b]", "shortcut", 0.3, 0.0, rests_on=["folder depths", "titles"])
    out = printed(capsys, shortcut, part("h", "honest", 0.1, 0.12), part("o", "open", 0.0))
    assert "contribution of each edit, in points; all intervals hold together at 95 %" in out
    assert row_of(out, "a [b]") == [
        "a [b]", "+30.0 (+28.0 to +32.0)", "+0.0 (-2.0 to +2.0)", "24", "shortcut: folder depths and titles"
    ]  # fmt: skip
    assert row_of(out, "h") == ["h", "+10.0 (+8.0 to +12.0)", "+12.0 (+10.0 to +14.0)", "24", "honest"]
    assert row_of(out, "o") == ["o", "+0.0 (-2.0 to +2.0)", "not measured", "24", "open"]
    assert out.splitlines()[-1] == "Take out: a [b]; keep: h; open: o"


def test_of_a_single_edit_it_is_said_what_it_rests_on(capsys: pytest.CaptureFixture[str]) -> None:
    only = part("only", "shortcut", 0.3, 0.0, rests_on=["folder depths"])
    assert printed(capsys, only) == "the gain rests on folder depths\n"
    assert printed(capsys, part("only", "open", 0.3, 0.0)) == ""


def test_what_was_not_measured_or_taken_together_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    parts = part("a", "open", None, problem="they do not go together."), part("b", "open", 0.0)
    out = printed(capsys, *parts, grouped_by="component")
    assert "There are many edits: those of a component are taken together." in out
    assert "not measured in full: a: they do not go together." in out
    assert row_of(out, "a") == ["a", "not measured", "not measured", "", "open"]
    assert out.splitlines()[-1] == "Open: a, b"
