"""`chase scan` on the example: the planted folder is found and taken away, though contents go with evidence too."""

from __future__ import annotations

from pathlib import Path

import pytest

import chase
from chase.benchmarks.documents.splits import ROLES
from chase.cli.scan import _print
from tests.benchmarks.documents.examples import example


@pytest.mark.slow
def test_the_planted_folder_is_a_finding_with_a_removal_and_the_contents_are_one_without(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = chase.scan(benchmark=example().fewer(dict.fromkeys(ROLES, 5)), progress=False)
    of = {name: finding for finding in found.findings for name in finding["observables"]}
    folder = of["folder-initial"]
    assert set(folder["observables"]) == {"folder-initial", "folder-length"}
    assert folder["removal"]["symbols"].startswith("place-documents")
    assert folder["removal"]["file"] == f"{folder['name']}.json"
    assert found.transformations[folder["name"]]["operators"][0]["name"] == "place-documents"
    contents = of["title-length"]
    assert contents["removal"] is None
    assert "folder-initial" in contents["beside"]
    assert "title-length" in folder["beside"]
    _print(found, [Path("found") / "all.json"], False, " --data mine")
    said = capsys.readouterr().out
    assert f"  goes together with {contents['name']}, " in said
    assert "  taken away by: documents lie in other folders" in said
    assert "Next: chase bench export documents --data mine --variant found/all.json --out DIR" in said
    assert "chase audit --benchmark documents --data mine --transformations found/all.json" in said
