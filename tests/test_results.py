"""docs/results.md says what the committed results say."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies.report import TABLES

PAGE = (Path(__file__).parents[1] / "docs" / "results.md").read_text()


@pytest.mark.parametrize("name", TABLES)
def test_every_line_of_a_study_stands_on_the_page(name: str) -> None:
    lines = list(TABLES[name]())
    assert len(lines) > 3
    assert [line for line in lines if line not in PAGE.splitlines()] == []
