"""Which tests run a line: a plug-in of pytest that tells coverage which test is at work, and how long each took.

A fixture that several tests share counts for all tests of their file: `FILE::*`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import coverage
import pytest

SECONDS = "MUTATION_SECONDS"
"""Names the file for the tests' times."""
_seconds: dict[str, float] = {}
_failed: set[str] = set()


def _at_work(context: str) -> None:
    measured = coverage.Coverage.current()
    if measured is not None:
        measured.switch_context(context)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    _at_work(item.nodeid)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
    item = getattr(request, "_pyfuncitem")  # noqa: B009
    if fixturedef.scope == "function":
        return (yield)
    _at_work(f"{item.nodeid.partition('::')[0]}::*")
    try:
        return (yield)
    finally:
        _at_work(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish() -> None:
    """A test that fails without any mutant shows nothing: it is left out."""
    passed = {name: seconds for name, seconds in _seconds.items() if name not in _failed}
    Path(os.environ[SECONDS]).write_text(json.dumps(passed))
