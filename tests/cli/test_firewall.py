"""`chase firewall` and `chase archive` as a user meets them."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from chase.benchmarks.syn_ledger.benchmark import SynLedger
from chase.protocol.archive import Archive, views_digest
from chase.protocol.example import example_of
from chase.protocol.firewall import run_checks
from chase.testing.ledger import parse_ledger, parse_world
from tests.cli.commands import Commands, checked
from tests.conftest import open_once

SHIFT = {"benchmark": "syn-ledger", "operators": [{"name": "shift", "arguments": {"by": 3}}]}


@cache
def few_once(name: str, *_: object, **__: object) -> SynLedger:
    """A benchmark with eight check tasks: what these tests look at is the command."""
    return open_once(name).fewer({"evo": 4, "disc": 4})


@pytest.fixture(scope="module")
def ledger() -> SynLedger:
    return few_once("syn-ledger@7")


@pytest.fixture
def chase(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    commands = Commands(monkeypatch, capsys)
    monkeypatch.setattr("chase.benchmarks.registry.open_benchmark", few_once)
    return commands


def written(path: Path, form: Any) -> Path:
    path.write_text(form if isinstance(form, str) else json.dumps(form))
    return path


def test_a_valid_transformation_passes_all_seven_checks(chase: Commands, tmp_path: Path) -> None:
    payload = chase.json("firewall", "check", written(tmp_path / "t.json", SHIFT), "--benchmark", "syn-ledger@7")
    assert payload["valid"] is True
    assert payload["excluded"] is None
    assert all(check["passed"] for check in payload["checks"])
    text = chase("firewall", "check", tmp_path / "t.json", "--benchmark", "syn-ledger@7")
    assert "shift (by 3)" in text.out
    assert "valid, 8 tasks" in text.out


def test_an_example_of_what_an_agent_sees_is_printed_on_demand_and_always_in_json(
    chase: Commands, ledger: SynLedger, tmp_path: Path
) -> None:
    command = ("firewall", "check", written(tmp_path / "t.json", SHIFT), "--benchmark", "syn-ledger@7")
    example = example_of(ledger, parse_ledger(SHIFT).transformation)
    assert chase.json(*command)["example"] == json.loads(json.dumps(asdict(example)))
    assert "example" not in chase(*command).out
    text = chase(*command, "--example").out
    assert f"example task {example.task}, - before, + after:\n  open_file file" in text


def test_an_undeclared_change_ends_with_code_6_and_the_checks_name(chase: Commands, tmp_path: Path) -> None:
    file = written(tmp_path / "t.json", {**SHIFT, "declared": ["rank"]})
    finished = chase("firewall", "check", file, "--benchmark", "syn-ledger@7", "--json")
    assert finished.code == 6
    assert "failed declared-changes" in finished.sentence
    assert checked(finished.out)["valid"] is False


def test_an_inactive_transformation_is_valid_and_said_to_be_inactive(chase: Commands, tmp_path: Path) -> None:
    file = written(tmp_path / "t.json", {"benchmark": "syn-ledger", "operators": []})
    assert chase.json("firewall", "check", file, "--benchmark", "syn-ledger@7")["excluded"] == "inactive"


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ("{", "not valid JSON"),
        ({"benchmark": "syn-ledger", "operators": [{"name": "eval"}]}, "unknown operator 'eval'"),
        ({"benchmark": "officeqa", "operators": []}, "for benchmark 'officeqa'"),
    ],
)
def test_what_cannot_be_parsed_ends_with_code_2_and_one_sentence(
    form: Any, sentence: str, chase: Commands, tmp_path: Path
) -> None:
    finished = chase("firewall", "check", written(tmp_path / "t.json", form), "--benchmark", "syn-ledger@7")
    assert finished.code == 2
    assert sentence in finished.sentence
    assert finished.out == ""


def test_a_missing_file_ends_with_code_2(chase: Commands, tmp_path: Path) -> None:
    finished = chase("firewall", "check", tmp_path / "none.json", "--benchmark", "syn-ledger@7")
    assert finished.code == 2
    assert "cannot be read" in finished.sentence


def test_operators_are_listed_with_their_arguments(chase: Commands) -> None:
    payload = chase.json("firewall", "operators")
    assert {"permute", "reverse", "equalise", "re-encode", "re-layout", "re-order", "shift"} <= {
        operator["name"] for operator in payload["operators"]
    }
    assert "aspect: name" in chase("firewall", "operators").out


def test_the_self_test_reports_every_control(chase: Commands) -> None:
    payload = chase.json("firewall", "selftest", "syn-ledger@7")
    assert payload["passed"] is True
    assert len(payload["controls"]) > 40


def test_an_archive_is_shown_and_replayed(chase: Commands, ledger: SynLedger, tmp_path: Path) -> None:
    subject = ledger.subject
    proposal = parse_world(SHIFT)
    archive = Archive(benchmark=ledger.name, content_hash=ledger.content_hash).with_entry(
        proposal,
        round=1,
        views=views_digest(proposal, subject),
        firewall=run_checks(proposal, subject),
        discovery={"value": 0.125, "se": 0.05, "n": 32, "low": 0.01, "high": 0.25, "level": 0.95},
        confirmation={},
    )
    file = written(tmp_path / "archive.json", archive.to_json())
    assert [e["name"] for e in chase.json("archive", "show", file)["entries"]] == ["b1"]
    shown = chase("archive", "show", file).out
    assert "b1  round 1  records moved on by 3 within each file  [shift (by 3)]" in shown
    assert "      discovery    +12.5 ± 5.0 (+1.0 to +25.0), 32 tasks\n      confirmation not recorded\n" in shown
    assert chase.json("archive", "replay", file)["passed"] is True
    example = example_of(ledger, parse_ledger(SHIFT).transformation)
    assert chase.json("archive", "show", file, "--example")["examples"] == {
        "b1": json.loads(json.dumps(asdict(example)))
    }
    assert f"    example task {example.task}, - before, + after:" in chase("archive", "show", file, "--example").out
    damaged = written(tmp_path / "damaged.json", archive.to_json().replace('"by": 3', '"by": 2'))
    finished = chase("archive", "replay", damaged)
    assert finished.code == 6
    assert "changed" in finished.sentence
