"""What a certification is committed to: a new method leaves old runs as they are, another analysis does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import chase
from chase.methods.certification import analysis_digest, analysis_hash


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package's source that may be changed."""
    copy = tmp_path / "chase"
    shutil.copytree(Path(chase.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def test_the_hash_is_of_the_source(package: Path) -> None:
    assert analysis_digest(package) == analysis_hash()


@pytest.mark.parametrize("name", ["methods/harness_compass.py", "methods/chase.py", "cli/narration.py"])
def test_another_method_is_no_other_analysis(package: Path, name: str) -> None:
    with (package / name).open("a", encoding="utf-8") as file:
        file.write("# other\n")
    assert analysis_digest(package) == analysis_hash()


@pytest.mark.parametrize(
    "name", ["stats/destruction.py", "stats/estimates.py", "stats/new.py", "methods/certification.py"]
)
def test_other_statistics_are_another_analysis(package: Path, name: str) -> None:
    with (package / name).open("a", encoding="utf-8") as file:
        file.write("# other\n")
    assert analysis_digest(package) != analysis_hash()


def test_a_renamed_module_is_another_analysis(package: Path) -> None:
    (package / "stats" / "estimates.py").rename(package / "stats" / "other.py")
    assert analysis_digest(package) != analysis_hash()
