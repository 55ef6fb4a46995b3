"""`chase scan` on the example: the planted folder is found and taken away, though contents go with evidence too."""

from __future__ import annotations

import pytest

import chase
from chase.benchmarks.documents.splits import ROLES
from tests.benchmarks.documents.examples import example


@pytest.mark.slow
def test_the_planted_folder_is_a_finding_with_a_removal_and_the_contents_are_one_without() -> None:
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
