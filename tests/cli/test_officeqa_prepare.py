"""`chase officeqa prepare`: output, JSON, exit codes, and that it says how far it is."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from chase.cli.main import main
from tests.benchmarks.officeqa.data_folder import TRANSFORMED, make_data

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "chase.officeqa.prepare.json"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return make_data(tmp_path / "data")


def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[Any, ...]:
    monkeypatch.setattr(sys, "argv", ["chase", "officeqa", "prepare", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    return (ended.value.code, *capfd.readouterr())


def payload(out: str) -> Any:
    found = json.loads(out)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()), cls=jsonschema.Draft202012Validator)
    return found


def test_a_sample_is_made_ready(data: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(monkeypatch, capfd, "--data", data)
    assert code == 0
    assert out.splitlines()[0].startswith(
        "full    3 questions, 2 source files, 2 components; 3 documents, 300 lines, 9 passages; content "
    )
    assert out.splitlines()[-1] == f"{data} is ready: a synthetic sample, as its manifest says"
    assert err.startswith("preparing: full: reading documents 1/3")


def test_json_says_what_there_is(
    data: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(monkeypatch, capfd, "--data", data, "--json")
    found = payload(out)
    assert code == 0
    assert found["prepared"]
    assert [release["release"] for release in found["releases"]] == ["full", "pro-v2"]
    assert found["releases"][0]["passages"] == 9


def test_data_that_differ_are_told_in_json_and_in_a_sentence(
    data: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (data / TRANSFORMED / "treasury_bulletin_1939_03.txt").unlink()
    code, out, err = run(monkeypatch, capfd, "--data", data, "--json")
    found = payload(out)
    assert code == 6
    assert not found["prepared"]
    assert found["releases"][0]["differences"] == ["2 documents instead of 3"]
    assert err == (
        f"chase: {data} is not as it was released: full: 2 documents instead of 3. "
        "Get what differs again, as it was released.\n"
    )
