"""The lines that an audit and an analysis print of a verdict: it never says more than what was tested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chase.cli.audit import print_audit
from chase.cli.verdicts import print_verdict
from chase.runs.results import AuditResult

BATTERY: dict[str, Any] = {
    "equal": ["folder depths", "titles"],
    "redrawn": ["file names"],
    "untested": ["tool schemas"],
    "invalid": {},
}


def estimate(value: float, radius: float = 0.02) -> dict[str, Any]:
    return {"value": value, "se": radius / 2, "n": 48, "low": value - radius, "high": value + radius, "level": 0.95}


def finding(name: str, what: str, status: str = "not confirmed", **more: Any) -> dict[str, Any]:
    of_search = {"source": "search", "symbols": "", "suspected": [], "touched": {}, "transformation": {"operators": []}}
    measured = {
        "share_destroyed": None, "gain": estimate(0.1), "expected_share": 1.0, "no_room": None,
        "scores": {"baseline": estimate(0.5), "harness": estimate(0.6)},
    }  # fmt: skip
    destroyed = estimate(more.pop("destruction", 0.01))
    return {"name": name, "what": what, "status": status, **of_search, **measured, "destruction": destroyed, **more}


LOW, HIGH = (
    finding(f"neutral-{level}", f"everything neutral at once ({level})", source="battery") for level in ("low", "high")
)


def payload(word: str, *findings: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a terminal reads of an audit's result."""
    judged = {
        "verdict": word, "reason": "as it was judged", "tasks_needed": None, "headline": None, "stopped": None,
        "against": [found["name"] for found in findings if found["no_room"] is None],
        "confirmed": [found for found in findings if found["status"] == "confirmed"],
        "not_confirmed": [found for found in findings if found["status"] != "confirmed"],
        "g_rel": estimate(0.12), "gamma": 0.0, "g_min": 0.12, "battery": BATTERY, "attribution": None,
        "scores": {"baseline": estimate(0.5), "harness": estimate(0.62)},
        "confirm_tasks": 48, "fresh_tasks": 48, "search_tasks": 0, "clusters": 48, "level": 0.95,
        "tried": [], "warnings": [], "agents": None, "exposure": {"text": "fresh"},
    }  # fmt: skip
    return {**judged, **more}


def first_line(capsys: pytest.CaptureFixture[str], found: dict[str, Any]) -> str:
    print_verdict(found, 48, "confirmation tasks")
    return capsys.readouterr().out.splitlines()[0]


def report(capsys: pytest.CaptureFixture[str], found: dict[str, Any]) -> list[str]:
    print_audit(AuditResult(payload=found, folder=Path(), benchmark=None))
    return capsys.readouterr().out.splitlines()


RENAMED = {"operators": [{"name": "tool schemas"}]}
ALL = "changes of folder depths, titles and file names, all at once"


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (payload("supported", LOW, HIGH), f"SUPPORTED against {ALL}; not tested: tool schemas."),
        (
            payload("supported", LOW, HIGH, finding("c1", "records shuffled"), finding("c2", "records shuffled")),
            f"SUPPORTED against {ALL}, and against records shuffled; not tested: tool schemas.",
        ),
        (
            payload("supported", LOW, {**HIGH, "status": "not informative", "no_room": "a floor"}),
            f"SUPPORTED against {ALL} in 1 of 2 ways; not tested: tool schemas.",
        ),
        (
            payload("supported", LOW, finding("c1", "tools renamed", transformation=RENAMED)),
            f"SUPPORTED against {ALL}, and against tools renamed.",
        ),
        (
            payload("partly supported", finding("c1", "records shuffled"), battery=None),
            "PARTLY SUPPORTED against records shuffled; the battery was left out.",
        ),
        (
            payload("supported", LOW, battery={**BATTERY, "untested": [], "invalid": {"titles": ["replay"]}}),
            f"SUPPORTED against {ALL}; not tested: titles.",
        ),
    ],
)
def test_a_favourable_verdict_names_its_coverage_on_its_line(
    capsys: pytest.CaptureFixture[str], found: dict[str, Any], line: str
) -> None:
    assert first_line(capsys, found) == f"Verdict: the gain is {line}"


def test_an_analysis_names_the_variants(capsys: pytest.CaptureFixture[str]) -> None:
    variants = [{**finding(name, "", source="given")} for name in ("names", "order")]
    for variant in variants:
        del variant["what"]
    found = payload("supported", *variants)
    del found["battery"]
    assert first_line(capsys, found) == "Verdict: the gain is SUPPORTED against names, order."


@pytest.mark.parametrize("word", ["not supported", "in doubt", "inconclusive"])
def test_another_verdict_has_its_coverage_below(capsys: pytest.CaptureFixture[str], word: str) -> None:
    lines = report(capsys, payload(word, LOW, HIGH))
    assert lines[0] == f"Verdict: the gain is {word.upper()}."
    assert f"tested against {ALL}; not tested: tool schemas" in lines


def test_where_nothing_could_show_anything_nothing_was_tested_or_survives(capsys: pytest.CaptureFixture[str]) -> None:
    floors = [{**probe, "status": "not informative", "no_room": "a floor"} for probe in (LOW, HIGH)]
    lines = report(capsys, payload("untested", *floors))
    assert lines[0] == "Verdict: UNTESTED: nothing could be shown."
    assert "not tested: folder depths, titles, file names, tool schemas" in lines
    assert not any("tested against" in line or "surviving" in line for line in lines)


def test_an_audit_that_stopped_says_why_and_claims_no_test(capsys: pytest.CaptureFixture[str]) -> None:
    lines = report(capsys, payload("inconclusive", battery=None, stopped="Nothing was tested, because."))
    assert "Nothing was tested, because." in lines
    assert not any("tested against" in line or "left out" in line for line in lines)


def test_what_is_not_confirmed_is_a_line_each_and_draws_of_one_change_share_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    draws = [finding(f"c{n}", "records shuffled", destruction=n / 100) for n in (1, 2, 3)]
    lines = report(capsys, payload("supported", LOW, HIGH, *draws))
    told = [line for line in lines if line.startswith("not confirmed: ")]
    assert told == [
        "not confirmed: everything neutral at once (low), +1.0 points (-1.0 to +3.0)",
        "not confirmed: everything neutral at once (high), +1.0 points (-1.0 to +3.0)",
        "not confirmed: records shuffled, +1.0 points (-1.0 to +3.0); +2.0 points (+0.0 to +4.0); "
        "+3.0 points (+1.0 to +5.0)",
    ]
    assert sum("gain destruction" in line for line in lines) == 0
