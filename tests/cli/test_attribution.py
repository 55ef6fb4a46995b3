"""The table of what each edit carries, and the sentence below it."""

from __future__ import annotations

from typing import Any

import pytest

from chase.cli.attribution import print_attribution


def estimate(value: float) -> dict[str, Any]:
    return {"value": value, "se": 0.01, "n": 24, "low": value - 0.02, "high": value + 0.02, "level": 0.95}


def contrasts(left_out: float | None, added: float | None) -> dict[str, Any]:
    both = {"leave_one_out": left_out, "add_one_in": added}
    return {name: None if value is None else estimate(value) for name, value in both.items()}


def part(name: str, label: str, left_out: float | None, lost: float, problem: str | None = None) -> dict[str, Any]:
    gain, destroyed = contrasts(left_out, 0.05), {"c1": contrasts(lost, lost)}
    return {"name": name, "label": label, "problem": problem, "gain": gain, "destruction": destroyed}


def printed(capsys: pytest.CaptureFixture[str], *parts: dict[str, Any], **more: Any) -> str:
    print_attribution(
        {"parts": parts, "variants": ["c1"], "level": 0.95, "grouped_by": None, **more}, {"c1": "reverse (aspect name)"}
    )
    return capsys.readouterr().out


def test_the_table_ends_with_what_to_take_out_and_what_to_keep(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(
        capsys, part("a [b]", "shortcut", 0.3, 0.25), part("h", "honest", 0.1, 0.0), part("u", "unclear", 0.0, 0.0)
    )
    (row,) = [line for line in out.splitlines() if "a [b]" in line and "shortcut" in line]
    assert "+30.0 (+28.0 to +32.0)" in row
    assert "+5.0 (+3.0 to +7.0)" in row
    assert "+25.0 (+23.0 to +27.0)" in row
    assert "destruction (c1) that goes with it" in out
    assert "\nc1: reverse (aspect name)\n" in out
    assert out.splitlines()[-1] == "Take out: a [b]; keep: h; unclear: u"


def test_one_edit_carries_everything(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, part("only", "shortcut", 0.3, 0.25))
    assert out == "\nThere is one edit, and it carries everything: only\n"


def test_what_was_not_measured_or_taken_together_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    parts = part("a", "unclear", None, 0.0, "they do not go together."), part("b", "unclear", 0.0, 0.0)
    out = printed(capsys, *parts, grouped_by="component", variants=[])
    assert "those of a component are taken together" in out
    assert "not measured in full: a: they do not go together." in out
    assert "there is no destruction to attribute" in out
    assert out.splitlines()[-1].startswith("No edit shows a gain or a destruction of its own")
